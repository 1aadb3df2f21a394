"""Between the fleet's values and rows of the registry's tables."""

from __future__ import annotations

from typing import Any

from mosaic.model.codec import from_json, to_json
from mosaic.model.fleet import Node, Worker
from mosaic_registry.domain.fleet import RegisteredAgent

#: Fields of a worker that have a column of their own; the others stand in ``description``.
_WORKER_COLUMNS = ("name", "version", "resume_grade", "updated_at")


def worker_row(worker: Worker) -> dict[str, Any]:
    """Return the row of *worker*."""
    values = to_json(worker)
    return {name: values.pop(name) for name in _WORKER_COLUMNS} | {"description": values}


def worker_from(row: Any) -> Worker:
    """Return the worker of *row*."""
    return from_json(Worker, {**row.description, **{name: getattr(row, name) for name in _WORKER_COLUMNS}})


def node_row(node: Node) -> dict[str, Any]:
    """Return the row of *node*; whether it is alive follows from its agents."""
    values = to_json(node)
    del values["alive"]
    return values


def node_from(row: Any) -> Node:
    """Return the node of *row*."""
    return from_json(Node, row._mapping)


def agent_row(agent: RegisteredAgent) -> dict[str, Any]:
    """Return the row of *agent*."""
    return to_json(agent)


def agent_from(row: Any) -> RegisteredAgent:
    """Return the agent of *row*."""
    return from_json(RegisteredAgent, row._mapping)
