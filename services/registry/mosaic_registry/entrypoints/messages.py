"""Between the wire's messages and the registry's values."""

from __future__ import annotations

from collections.abc import Iterable

from mosaic.ids import AgentId, GpuId, NodeId, WorkerName
from mosaic.wire.convert import to_timestamp
from mosaic.wire.v1 import registry_pb2 as pb
from mosaic_registry.domain.announcement import Announcement
from mosaic_registry.domain.catalog import Worker
from mosaic_registry.domain.fleet import Agent, Gpu, Node
from mosaic_registry.ports import Fleet


def announcement_from(request: pb.RegisterWorkerRequest) -> Announcement:
    """Read what an agent says of itself."""
    return Announcement(
        agent_id=AgentId(request.agent_id),
        node=_node_from(request.node),
        worker=_worker_from(request.worker),
        slots=request.slots,
        queue=request.queue,
        protocol_versions=tuple(request.protocol_versions),
    )


def gpus_from(messages: Iterable[pb.Gpu]) -> tuple[Gpu, ...]:
    """Read a list of cards."""
    return tuple(Gpu(GpuId(gpu.gpu_id), gpu.model, gpu.memory_mb, gpu.healthy, gpu.index) for gpu in messages)


def fleet_to(fleet: Fleet) -> pb.Fleet:
    """Write the whole fleet."""
    inhabited = {agent.node_id for agent in fleet.agents if agent.alive}
    return pb.Fleet(
        nodes=[_node_to(node, alive=node.node_id in inhabited) for node in fleet.nodes],
        agents=[_agent_to(agent) for agent in fleet.agents],
        workers=[worker_to(worker) for worker in fleet.workers],
        revision=fleet.revision,
    )


def worker_to(worker: Worker) -> pb.Worker:
    """Write one worker."""
    return pb.Worker(
        name=worker.name,
        version=worker.version,
        description=worker.description,
        upstream_library=worker.upstream_library,
        upstream_version=worker.upstream_version,
        metadata_json=worker.metadata_json,
        capabilities_json=worker.capabilities_json,
        config_schema_json=worker.config_schema_json,
        image=worker.image,
        versions=worker.versions,
        resume_grade=worker.resume_grade,
        updated_at=to_timestamp(worker.updated_at),
        launch=worker.launch,
    )


def _worker_from(message: pb.Worker) -> Worker:
    return Worker(
        name=WorkerName(message.name),
        version=message.version,
        description=message.description,
        upstream_library=message.upstream_library,
        upstream_version=message.upstream_version,
        metadata_json=message.metadata_json or "{}",
        capabilities_json=message.capabilities_json or "{}",
        config_schema_json=message.config_schema_json or "{}",
        image=message.image,
        versions=dict(message.versions),
        resume_grade=message.resume_grade,
        launch=tuple(message.launch),
    )


def _node_from(message: pb.Node) -> Node:
    return Node(NodeId(message.node_id), message.hostname, message.cpus, message.memory_mb, gpus_from(message.gpus))


def _node_to(node: Node, *, alive: bool) -> pb.Node:
    return pb.Node(
        node_id=node.node_id,
        hostname=node.hostname,
        cpus=node.cpus,
        memory_mb=node.memory_mb,
        gpus=[
            pb.Gpu(
                gpu_id=gpu.gpu_id,
                model=gpu.model,
                memory_mb=gpu.memory_mb,
                healthy=gpu.healthy,
                index=gpu.index,
            )
            for gpu in node.gpus
        ],
        draining=node.draining,
        alive=alive,
    )


def _agent_to(agent: Agent) -> pb.Agent:
    return pb.Agent(
        agent_id=agent.agent_id,
        node_id=agent.node_id,
        worker=agent.worker,
        worker_version=agent.worker_version,
        slots=agent.slots,
        queue=agent.queue,
        draining=agent.draining,
        alive=agent.alive,
        last_heartbeat=to_timestamp(agent.last_heartbeat),
        session_digest=agent.session_digest,
        protocol_version=agent.protocol_version,
    )
