"""Announcements for tests of the registry: say only what the test is about."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

from mosaic.ids import AgentId, GpuId, NodeId, WorkerName
from mosaic.model.fleet import Announcement, Gpu, Node, Worker
from mosaic_registry.domain.fleet import RegisteredAgent

NOON = datetime(2030, 1, 1, 12, 0, tzinfo=timezone.utc)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def a_gpu(gpu_id: str = "GPU-0", **more: Any) -> Gpu:
    return replace(Gpu(GpuId(gpu_id), "H100", 80_000), **more)


def a_host(node_id: str = "n1", *, gpus: tuple[Gpu, ...] = (), **more: Any) -> Node:
    return replace(Node(NodeId(node_id), f"{node_id}.example", cpus=16, memory_mb=64_000, gpus=gpus), **more)


def a_worker(name: str = "cleanrl", *, version: str = "1.0.0", **more: Any) -> Worker:
    fields: dict[str, Any] = {"launch": ("-m", f"mosaic_{name}"), "updated_at": NOON} | more
    return Worker(WorkerName(name), version, **fields)


def a_member(agent_id: str = "a1", *, node_id: str = "n1", **more: Any) -> RegisteredAgent:
    agent = RegisteredAgent(
        agent_id=AgentId(agent_id),
        node_id=NodeId(node_id),
        worker=WorkerName("cleanrl"),
        worker_version="1.0.0",
        slots=2,
        queue=f"runs.cleanrl.{agent_id}",
        session_digest="0" * 64,
        protocol_version="MOSAIC/2.0",
        last_heartbeat=NOON,
    )
    return replace(agent, **more)


def an_announcement(agent_id: str = "a1", **more: Any) -> Announcement:
    fields: dict[str, Any] = {
        "node": a_host(),
        "worker": a_worker(),
        "slots": 2,
        "queue": f"runs.cleanrl.{agent_id}",
        "protocol_versions": ("MOSAIC/2.0",),
    } | more
    return Announcement(agent_id=AgentId(agent_id), **fields)
