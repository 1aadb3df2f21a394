"""The platform over gRPC, by the client that everybody uses."""

from __future__ import annotations

from mosaic.client import Curve, Mosaic, messages
from mosaic.model.run import Run, RunFilter
from mosaic.wire.codec import from_wire, to_wire
from mosaic.wire.v1 import scheduler_pb2, telemetry_pb2
from mosaic_console.ports import RunPage


class GrpcPlatform(Mosaic):
    """The client, with pages of runs and stretches of curves, which the services have and it does not."""

    def page(self, wanted: RunFilter, *, after: str = "", size: int = 100) -> RunPage:
        """Return at most *size* runs, newest first, that were submitted before run *after*."""
        fitting = RunFilter(
            frozenset(wanted.states), wanted.team, wanted.user, wanted.worker, wanted.name, wanted.labels
        )
        request = to_wire(fitting, scheduler_pb2.ListRunsRequest)
        request.page_size, request.page_token = size, after
        answer = self._ask(self._scheduler.ListRuns, request)
        return RunPage(tuple(from_wire(run, Run) for run in answer.runs), answer.next_page_token or None)

    def curve(
        self,
        run_id: str,
        name: str,
        *,
        agent: str = "",
        attempt: int = 0,
        resolution: int = 1000,
        from_step: float | None = None,
        to_step: float | None = None,
        x: str = "step",
        log_x: bool = False,
        smoothing: float = 0.0,
    ) -> Curve:
        """Return a curve, or a stretch of it, in at most *resolution* buckets."""
        request = telemetry_pb2.ReadSeriesRequest(
            run_id=run_id,
            key=telemetry_pb2.SeriesKey(name=name, agent=agent),
            resolution=resolution,
            attempt=attempt,
            from_step=from_step,
            to_step=to_step,
            x=x,
            log_x=log_x,
            smoothing=smoothing,
        )
        return messages.curve(name, agent, self._ask(self._telemetry.ReadSeries, request, "telemetry"))
