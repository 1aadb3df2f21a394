"""What an agent says when it presents itself, and everything that can be wrong with it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from mosaic.errors import BadInput
from mosaic.ids import AgentId, is_id
from mosaic_registry.domain.catalog import RESUME_GRADES, Worker
from mosaic_registry.domain.fleet import Node

_ID_RULE = "letters, digits and . _ @ -, at most 128"


@dataclass(frozen=True, slots=True)
class Announcement:
    """An agent, its node and its worker."""

    agent_id: AgentId
    node: Node
    worker: Worker
    slots: int
    queue: str
    #: Newest first.
    protocol_versions: tuple[str, ...]


def check(announcement: Announcement) -> None:
    """Accept what can be used.

    Raises:
        BadInput: lists every fault.

    """
    faults = list(_faults(announcement))
    if faults:
        raise BadInput(f"announcement of agent {announcement.agent_id!r}", faults)


def _faults(announcement: Announcement) -> Iterator[str]:
    names = {
        "agent_id": announcement.agent_id,
        "node.node_id": announcement.node.node_id,
        "worker.name": announcement.worker.name,
    }
    for field, name in names.items():
        if not is_id(name):
            yield f"{field} {name!r} is not an id ({_ID_RULE})"
    if announcement.slots < 1:
        yield f"slots is {announcement.slots}; an agent has at least one"
    if not announcement.queue:
        yield "queue is empty; name the queue on which the agent listens"
    yield from _node_faults(announcement.node)
    yield from _worker_faults(announcement.worker)


def _node_faults(node: Node) -> Iterator[str]:
    if node.cpus < 1:
        yield f"node.cpus is {node.cpus}; a node has at least one"
    if node.memory_mb < 1:
        yield f"node.memory_mb is {node.memory_mb}; a node has some memory"
    for gpu_id, count in Counter(gpu.gpu_id for gpu in node.gpus).items():
        if not gpu_id:
            yield "a GPU has no gpu_id"
        elif count > 1:
            yield f"GPU {gpu_id} is listed {count} times"


def _worker_faults(worker: Worker) -> Iterator[str]:
    if not worker.version:
        yield "worker.version is empty"
    if not worker.launch:
        yield "worker.launch is empty; say what follows the interpreter, for example -m mosaic_reference"
    if worker.resume_grade not in RESUME_GRADES:
        yield f"worker.resume_grade is {worker.resume_grade!r}; it is A, B, C or empty"
    for field in ("metadata_json", "capabilities_json", "config_schema_json"):
        if not _is_json_object(getattr(worker, field)):
            yield f"worker.{field} is not a JSON object"


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
