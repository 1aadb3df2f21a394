"""Runs of a study, as the real telemetry service and a scheduler that only lists them tell of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc

from mosaic.client import Login
from mosaic.errors import BadInput, RunNotFound
from mosaic.hosting.access import needs
from mosaic.hosting.grpc_server import GrpcServer, Registration
from mosaic.ids import RunId
from mosaic.lifecycle import RunState
from mosaic.model.identity import Permission
from mosaic.model.run import Run, RunSpec
from mosaic.testing.certificates import certificates
from mosaic.wire.codec import to_wire
from mosaic.wire.v1 import scheduler_pb2 as wire
from mosaic.wire.v1.scheduler_pb2_grpc import SchedulerServicer, add_SchedulerServicer_to_server
from mosaic_telemetry.entrypoints.service import build
from mosaic_telemetry.settings import Settings
from tests.fakes.front_door import front_door
from tests.fakes.telemetry import EVENT_KEY, a_finished_run, encoded, episode, line

_SUBMITTED = datetime(2026, 11, 16, tzinfo=UTC)


class ListedRuns(SchedulerServicer):
    """A scheduler that knows what it was told, and finds it by id, name and labels."""

    def __init__(self) -> None:
        self.runs: list[wire.Run] = []

    @needs(Permission.RUNS_READ)
    def GetRun(self, request: wire.GetRunRequest, context: grpc.ServicerContext) -> wire.RunDetail:
        found = [run for run in self.runs if request.run_id in (run.run_id, run.spec.name)]
        if not found:
            raise RunNotFound(request.run_id)
        if len(found) > 1:
            raise BadInput("run", [f"several runs are called {request.run_id!r}"])
        return wire.RunDetail(run=found[0])

    @needs(Permission.RUNS_READ)
    def ListRuns(self, request: wire.ListRunsRequest, context: grpc.ServicerContext) -> wire.ListRunsResponse:
        found = [
            run
            for run in reversed(self.runs)
            if request.name in ("", run.spec.name) and dict(request.labels).items() <= dict(run.spec.labels).items()
        ]
        return wire.ListRunsResponse(runs=found)


class Study:
    """A platform with the runs that were added to it."""

    def __init__(self, folder: Path) -> None:
        database = f"sqlite:///{folder}/events.db"
        chosen = Settings(database_url=database, manifest_root=str(folder / "manifests"), event_key=EVENT_KEY)
        self._telemetry = build(chosen)
        self._scheduler = ListedRuns()
        listing = Registration("mosaic.wire.v1.Scheduler", self._scheduler, add_SchedulerServicer_to_server)
        self._server = GrpcServer([*self._telemetry.registrations(), listing], "127.0.0.1:0", certificates().every())
        self._server.start()
        self._telemetry.start()
        self._closing = ExitStack()
        self.login: Login = self._closing.enter_context(front_door(*[self._server.address] * 3))

    def stop(self) -> None:
        """End the services."""
        self._closing.close()
        self._server.stop(0)
        self._telemetry.stop()

    def add(
        self,
        run_id: str,
        seed: int | None,
        returns: Sequence[float] = (),
        config: dict[str, Any] | None = None,
        *,
        state: RunState = RunState.SUCCEEDED,
        ran_with: dict[str, Any] | None = None,
        more: Iterable[bytes] = (),
        has_steps: bool = True,
        agents: Sequence[str] = (),
        reason: str = "",
        **told: Any,
    ) -> str:
        """Add a run whose episode N ends at step 10 (N + 1) with the Nth of *returns*; *told* goes into its spec."""
        config = {"env_id": "CartPole-v1", **(config or {})}
        spec = RunSpec(**{"worker": "reference", "config": config, "seed": seed, **told})
        run = Run(RunId(run_id), spec, state, _SUBMITTED, _SUBMITTED, attempt=1, reason=reason)
        self._scheduler.runs.append(to_wire(run, wire.Run))
        self._tell(run_id, [*_lines(returns, has_steps, agents), *more], ran_with or {}, state)
        return run_id

    def _tell(self, run_id: str, lines: list[bytes], ran_with: dict[str, Any], state: RunState) -> None:
        if ran_with:
            settings = {name: {"value": value, "origin": "default"} for name, value in ran_with.items()}
            lines = [line("run_started", settings=settings), *lines]
        if lines:
            self._telemetry.ingest.send([encoded(lines, run_id=run_id)])
        if lines and state in (RunState.SUCCEEDED, RunState.FAILED):
            self._telemetry.run_finished(a_finished_run(len(lines) - 1, run_id=run_id, outcome=state.value))


def _lines(returns: Sequence[float], has_steps: bool, agents: Sequence[str]) -> list[bytes]:
    lines = []
    for number, value in enumerate(returns):
        step = 10.0 * (number + 1) if has_steps else None
        for agent in agents or [""]:
            lines.append(episode(number, value, step=step, **({"agent_id": agent} if agent else {})))
    return lines
