"""Exchanges, queues and routing keys, as data. Who reads a queue declares it, and nobody else may."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

EVENTS = "mosaic.events"
DEAD_EVENTS = "mosaic.events.dead"
#: Exchange and queue of dispatches that an agent refused.
DEAD_DISPATCHES = "dispatch.dead"

#: Agents and the telemetry service must agree on it: the queue of a run is chosen by it.
DEFAULT_SHARDS = 4


@dataclass(frozen=True)
class ExchangeSpec:
    """An exchange that outlives the broker's restart."""

    name: str
    kind: str = "topic"


@dataclass(frozen=True)
class QueueSpec:
    """A durable queue, where it is bound, and what happens to what it cannot deliver."""

    name: str
    exchange: str
    routing_key: str
    arguments: Mapping[str, str | int | bool] = field(default_factory=lambda: MappingProxyType({}))
    #: Exchange for messages that nobody can use.
    dead_exchange: str = ""
    #: A message whose handler fails this often is the message's fault.
    max_deliveries: int = 5


@dataclass(frozen=True)
class Topology:
    """What must exist before a message can be published or consumed."""

    exchanges: tuple[ExchangeSpec, ...]
    queues: tuple[QueueSpec, ...]


def event_topology(shards: int = DEFAULT_SHARDS, *, max_shard_bytes: int = 2**30) -> Topology:
    """Return the topology of the events: one queue per shard and one for the dead.

    A full shard refuses publishers instead of dropping what it holds, so that a slow telemetry
    service makes spools grow and never blocks the broker for everybody else.
    """
    dead = QueueSpec(DEAD_EVENTS, DEAD_EVENTS, "#", MappingProxyType({"x-queue-type": "quorum"}))
    queues = tuple(_shard_queue(shard, max_shard_bytes) for shard in range(shards))
    return Topology((ExchangeSpec(EVENTS), ExchangeSpec(DEAD_EVENTS)), (*queues, dead))


def event_queue(topology: Topology, shard: int) -> QueueSpec:
    """Return the queue of *shard*."""
    return next(queue for queue in topology.queues if queue.routing_key == f"shard.{shard}")


def event_routing_key(run_id: str, shards: int) -> str:
    """Return the routing key of a run: one run, one shard, so its events keep their order."""
    return f"shard.{zlib.crc32(run_id.encode()) % shards}"


def _shard_queue(shard: int, max_bytes: int) -> QueueSpec:
    arguments: dict[str, str | int | bool] = {
        "x-queue-type": "quorum",
        # Replicas of the service stand by; two at once would interleave the events of a run.
        "x-single-active-consumer": True,
        "x-max-length-bytes": max_bytes,
        "x-overflow": "reject-publish",
        "x-dead-letter-exchange": DEAD_EVENTS,
        # Every crash of a consumer counts as a delivery of all it had prefetched, so a small limit
        # would bury good messages; this one only ends a message that kills its consumer for ever.
        "x-delivery-limit": 200,
    }
    key = f"shard.{shard}"
    return QueueSpec(f"{EVENTS}.{shard}", EVENTS, key, MappingProxyType(arguments), DEAD_EVENTS)
