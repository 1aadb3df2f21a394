"""The scheduler as a running thing: API, planning loop and probes."""

from __future__ import annotations

from collections.abc import Sequence

from celery import Celery
from prometheus_client import CollectorRegistry

from mosaic.hosting.access import Peer
from mosaic.hosting.changes import ChangeSignal
from mosaic.hosting.grpc_server import Registration
from mosaic.hosting.health import Probe
from mosaic.wire.v1 import audit_pb2_grpc, scheduler_pb2, scheduler_pb2_grpc
from mosaic_scheduler import bootstrap
from mosaic_scheduler.entrypoints.audit_api import AUDIT, AuditApi
from mosaic_scheduler.entrypoints.fitting_gauge import FittingGauge
from mosaic_scheduler.entrypoints.grpc_api import SchedulerApi
from mosaic_scheduler.entrypoints.loop import PlanningLoop
from mosaic_scheduler.handlers.scaling import FittingRuns
from mosaic_scheduler.ports import Telemetry
from mosaic_scheduler.settings import Settings


class SchedulerService:
    """Everything of the scheduler except the ports it listens on."""

    def __init__(
        self,
        settings: Settings,
        *,
        metrics: CollectorRegistry,
        celery: Celery | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        """Build from *settings*; *celery* and *telemetry* are for agents and telemetry in the same process."""
        self._changes = ChangeSignal()
        self._parts = bootstrap.build(settings, on_change=self._look_again, celery=celery, telemetry=telemetry)
        self._fitting = FittingRuns(
            store=self._parts.store,
            fleet=self._parts.fleet,
            clock=self._parts.clock,
            policy=self._parts.round_settings.policy,
        )
        FittingGauge(self._fitting.count, metrics)
        self._loop = PlanningLoop(self._parts.rounds, self._parts.leadership, metrics)
        self._api = SchedulerApi(
            store=self._parts.store,
            fleet=self._parts.fleet,
            secret_values=self._parts.secrets,
            vault=self._parts.vault,
            event_key=self._parts.event_key,
            clock=self._parts.clock,
            rounds=self._parts.round_settings,
            changes=self._changes,
            changed=self._look_again,
        )

    def registrations(self) -> Sequence[Registration]:
        """Return the gRPC services for a server."""
        name = scheduler_pb2.DESCRIPTOR.services_by_name["Scheduler"].full_name
        return [
            Registration(
                name,
                self._api,
                scheduler_pb2_grpc.add_SchedulerServicer_to_server,
                self._is_denied,
                self._parts.store.note,
            ),
            Registration(AUDIT, AuditApi(self._parts.store), audit_pb2_grpc.add_AuditServicer_to_server),
        ]

    def probes(self) -> dict[str, Probe]:
        """Return what readiness depends on."""
        return {"database": self._database_fault, "planning": self._loop.fault, "registry": self._registry_fault}

    def start(self) -> None:
        """Follow the fleet and begin to plan."""
        self._parts.fleet.start()
        if self._parts.notifications:
            self._parts.notifications.start()
        self._loop.start()

    def stop(self) -> None:
        """End in good order; what the outbox holds is sent by the next start."""
        self._api.end_streams()
        self._loop.stop()
        if self._parts.notifications:
            self._parts.notifications.stop()
        self._parts.fleet.stop()
        self._parts.leadership.release()
        if self._parts.publisher:
            self._parts.publisher.close()
        self._parts.engine.dispose()

    def _look_again(self) -> None:
        # During construction the fleet may call before the loop exists.
        loop = getattr(self, "_loop", None)
        if loop is not None:
            self._fitting.look_at_machines()
            loop.wake()
        self._changes.notify()

    def _is_denied(self, peer: Peer) -> bool:
        return peer.serial in self._parts.fleet.view().denied

    def _database_fault(self) -> str | None:
        self._parts.store.ping()
        return None

    def _registry_fault(self) -> str | None:
        return None if self._parts.fleet.is_connected() else "the registry has not answered yet"
