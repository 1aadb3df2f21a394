"""Everything that can be wrong with what an agent says when it presents itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from mosaic.errors import BadInput
from mosaic.ids import is_id
from mosaic.model.fleet import Announcement, Node, Worker
from mosaic_registry.domain.catalog import RESUME_GRADES

_ID_RULE = "letters, digits and . _ @ -, at most 128"
#: As many bytes as AMQP has for the name of a queue.
_QUEUE_BYTES = 255
#: Capabilities that others calculate with, and those they look into.
_NUMBERS = ("max_agents", "gpu_memory_mb", "cpu_cores", "estimated_memory_mb")
_LISTS = ("supported_paradigms", "env_families", "action_spaces", "observation_spaces")
_MOST = 10**9
#: What others look into of a schema, and what it may be.
_SCHEMA: Mapping[str, tuple[type, ...]] = {
    "properties": (dict,),
    "x-missing-environments": (list, dict),
    "x-environment-variables": (list,),
}


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
    elif len(announcement.queue.encode()) > _QUEUE_BYTES:
        yield f"queue has {len(announcement.queue.encode())} bytes; a broker takes at most {_QUEUE_BYTES}"
    for field, text, most in _texts(announcement):
        if len(text) > most or not text.isprintable():
            yield f"{field} {text[:100]!a} is not readable text of at most {most} characters"
    yield from _node_faults(announcement.node)
    yield from _worker_faults(announcement.worker)


def _texts(announcement: Announcement) -> Iterator[tuple[str, str, int]]:
    """Yield the texts that people are shown and tables have room for."""
    yield "node.hostname", announcement.node.hostname, 256
    yield "worker.version", announcement.worker.version, 128
    yield "worker.description", announcement.worker.description.replace("\n", " "), 4000
    for gpu in announcement.node.gpus:
        yield "gpu_id", gpu.gpu_id, 128
        yield "the model of a GPU", gpu.model, 128


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
    yield from _capability_faults(worker.capabilities)
    for name, kinds in _SCHEMA.items():
        if not isinstance(worker.config_schema.get(name, kinds[0]()), kinds):
            wanted = " or ".join("an object" if kind is dict else "a list" for kind in kinds)
            yield f"worker.config_schema.{name} is not {wanted}"


def _capability_faults(capabilities: Mapping[str, Any]) -> Iterator[str]:
    for name in _NUMBERS:
        value = capabilities.get(name)
        if value is not None and not (type(value) in (int, float) and 0 <= value <= _MOST):
            yield f"worker.capabilities.{name} is {str(value)[:100]!r}; it is a number from 0 to {_MOST}"
    for name in _LISTS:
        value = capabilities.get(name, [])
        if not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            yield f"worker.capabilities.{name} is {str(value)[:100]!r}; it is a list of words"
