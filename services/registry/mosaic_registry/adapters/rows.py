"""Between the domain's values and rows of the registry's tables."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from mosaic.ids import AgentId, GpuId, NodeId, WorkerName
from mosaic_registry.domain.catalog import Worker
from mosaic_registry.domain.fleet import Agent, Gpu, Node

#: Fields of a worker that have a column of their own.
_WORKER_COLUMNS = ("name", "version", "resume_grade", "updated_at")


def seconds(moment: datetime) -> float:
    """Return *moment* as it is stored."""
    return moment.timestamp()


def moment(stored: float) -> datetime:
    """Return the aware time that was stored."""
    return datetime.fromtimestamp(stored, timezone.utc)


def worker_row(worker: Worker) -> dict[str, Any]:
    """Return the row of *worker*."""
    values = asdict(worker)
    row = {name: values.pop(name) for name in _WORKER_COLUMNS}
    return row | {"updated_at": seconds(row["updated_at"]), "description": values}


def worker_from(row: Any) -> Worker:
    """Return the worker of *row*."""
    rest = dict(row.description)
    return Worker(
        name=WorkerName(row.name),
        version=row.version,
        resume_grade=row.resume_grade,
        updated_at=moment(row.updated_at),
        launch=tuple(rest.pop("launch")),
        **rest,
    )


def node_row(node: Node) -> dict[str, Any]:
    """Return the row of *node*."""
    return asdict(node)


def node_from(row: Any) -> Node:
    """Return the node of *row*."""
    gpus = tuple(Gpu(**{**gpu, "gpu_id": GpuId(gpu["gpu_id"])}) for gpu in row.gpus)
    return Node(NodeId(row.node_id), row.hostname, row.cpus, row.memory_mb, gpus, row.draining)


def agent_row(agent: Agent) -> dict[str, Any]:
    """Return the row of *agent*."""
    return asdict(agent) | {"last_heartbeat": seconds(agent.last_heartbeat)}


def agent_from(row: Any) -> Agent:
    """Return the agent of *row*."""
    values = row._asdict()
    return Agent(
        **values
        | {
            "agent_id": AgentId(row.agent_id),
            "node_id": NodeId(row.node_id),
            "worker": WorkerName(row.worker),
            "last_heartbeat": moment(row.last_heartbeat),
        }
    )
