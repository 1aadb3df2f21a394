"""The fleet as the registry streams it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection

import grpc
import structlog

from mosaic.ids import AgentId, GpuId, NodeId, WorkerName
from mosaic.wire.channel import open_channel
from mosaic.wire.status import error_from
from mosaic.wire.tls import TlsFiles
from mosaic.wire.v1 import registry_pb2, registry_pb2_grpc
from mosaic_scheduler.domain.run import ResumeGrade
from mosaic_scheduler.domain.snapshot import Agent, Gpu, Node
from mosaic_scheduler.ports import FleetView, WorkerFacts

log = structlog.get_logger(__name__)

_RETRY_S = 0.5
_ASK_WITHIN_S = 5.0


class RegistryFleet:
    """Follows ``WatchFleet`` in a thread; the newest view is always at hand.

    While the registry is away the last view stands: agents that are alive go on, and the leases
    say who is not.
    """

    def __init__(
        self, address: str, tls: TlsFiles, *, on_change: Callable[[], None], variables: Collection[str] = ()
    ) -> None:
        """Follow the registry at *address* and call *on_change* after each new view.

        *variables* are what submissions may set for any worker, beside what is allowed anyway.
        """
        self._address = address
        self._variables = frozenset(variables)
        self._on_change = on_change
        self._channel = open_channel(address, "registry", tls)
        self._stub = registry_pb2_grpc.RegistryStub(self._channel)
        self._view = FleetView()
        self._taking = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="fleet", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Stop following."""
        self._stopping.set()
        self._channel.close()
        self._thread.join(timeout=5)

    def view(self) -> FleetView:
        """Return the newest view."""
        return self._view

    def refresh(self) -> FleetView:
        """Ask the registry now.

        Raises:
            ServiceUnavailable: it does not answer.
        """
        try:
            (fleet,) = self._stub.WatchFleet(registry_pb2.WatchFleetRequest(once=True), timeout=_ASK_WITHIN_S)
        except grpc.RpcError as error:
            raise error_from(error, service="registry", address=self._address) from error
        self._take(to_view(fleet, self._variables))
        return self._view

    def is_connected(self) -> bool:
        """Tell whether a view has ever arrived."""
        return self._view.revision >= 0

    def _follow(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow_stream()
            except grpc.RpcError:
                self._stopping.wait(_RETRY_S)
            except Exception:
                # A channel that is closed under us is how we are stopped.
                if not self._stopping.wait(_RETRY_S):
                    log.exception("the fleet cannot be read; the last view stands until it can")

    def _follow_stream(self) -> None:
        stream = self._stub.WatchFleet(registry_pb2.WatchFleetRequest())
        try:
            for index, fleet in enumerate(stream):
                # A registry that lost its database counts from the start again: the first word of a stream stands.
                self._take(to_view(fleet, self._variables), even_if_older=index == 0)
        finally:
            stream.cancel()

    def _take(self, view: FleetView, *, even_if_older: bool = False) -> None:
        with self._taking:
            if view.revision < self._view.revision and not even_if_older:
                return
            self._view = view
        self._on_change()


def to_view(fleet: registry_pb2.Fleet, variables: frozenset[str] = frozenset()) -> FleetView:
    """Return *fleet* in the scheduler's words; *variables* may be set for every worker."""
    return FleetView(
        nodes={node.node_id: _node(node) for node in fleet.nodes},
        agents={AgentId(agent.agent_id): _agent(agent) for agent in fleet.agents},
        queues={AgentId(agent.agent_id): agent.queue for agent in fleet.agents},
        sessions={AgentId(agent.agent_id): agent.session_digest for agent in fleet.agents},
        workers={WorkerName(worker.name): _worker(worker, variables) for worker in fleet.workers},
        denied=frozenset(fleet.denied_serials),
        revision=fleet.revision,
    )


def _node(node: registry_pb2.Node) -> Node:
    gpus = tuple(Gpu(GpuId(gpu.gpu_id), gpu.memory_mb, gpu.healthy) for gpu in node.gpus)
    return Node(NodeId(node.node_id), node.cpus, node.memory_mb, gpus, node.alive, node.draining)


def _agent(agent: registry_pb2.Agent) -> Agent:
    return Agent(
        agent_id=AgentId(agent.agent_id),
        node_id=NodeId(agent.node_id),
        worker=WorkerName(agent.worker),
        slots=agent.slots,
        healthy=agent.alive,
        draining=agent.draining,
    )


def _worker(worker: registry_pb2.Worker, variables: frozenset[str]) -> WorkerFacts:
    schema = json.loads(worker.config_schema_json or "{}")
    declared = schema.get("x-environment-variables")
    return WorkerFacts(
        name=WorkerName(worker.name),
        version=worker.version,
        config_schema=schema,
        capabilities=json.loads(worker.capabilities_json or "{}"),
        variables=variables.union(filter(_is_text, declared if isinstance(declared, list) else ())),
        resume_grade=ResumeGrade(worker.resume_grade) if worker.resume_grade else None,
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)
