"""What the console needs from the world: the platform behind it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from mosaic.client import (
    Curve,
    Episodes,
    EventLine,
    Explanation,
    LogLine,
    Manifest,
    Run,
    RunDetail,
    RunSpec,
    SeriesInfo,
    Summary,
    Team,
)
from mosaic.model.fleet import Fleet, Worker
from mosaic.model.run import RunFilter


@dataclass(frozen=True, slots=True)
class RunPage:
    """Some runs, newest first, and where the next page begins."""

    runs: tuple[Run, ...]
    #: To be given as ``after``; None on the last page.
    next: str | None


class Platform(Protocol):
    """The services. Every method raises a `mosaic.errors.MosaicError` that says what to do."""

    def page(self, wanted: RunFilter, *, after: str = "", size: int = 100) -> RunPage:
        """Return at most *size* runs, newest first, that were submitted before run *after*."""

    def run(self, run_id: str) -> RunDetail:
        """Return the run whose id is, starts with or ends with *run_id*, or which bears it as a name."""

    def submit(self, asked: RunSpec, *, seeds: Sequence[int] = (), idempotency_key: str = "") -> list[Run]:
        """Submit and return the runs, one for each seed."""

    def predict(self, asked: RunSpec, *, seeds: Sequence[int] = ()) -> list[str]:
        """Return what a submit would lead to, without submitting."""

    def cancel(self, run_id: str, *, actor: str = "", reason: str = "") -> Run:
        """End a run; an ended run stays as it is."""

    def pause(self, run_id: str, *, actor: str = "") -> Run:
        """Stop a running run in place."""

    def resume(self, run_id: str, *, actor: str = "") -> Run:
        """Let a paused run go on."""

    def retry(self, run_id: str, *, actor: str = "") -> Run:
        """Submit an ended run again."""

    def explain(self, run_id: str) -> Explanation:
        """Say why a run waits and when it may start."""

    def events(
        self,
        run_id: str,
        *,
        attempt: int = 0,
        from_seq: int | None = None,
        kinds: Collection[str] = (),
        limit: int = 0,
    ) -> Iterator[EventLine]:
        """Yield the stored events of a run in order."""

    def logs(self, run_id: str, *, attempt: int = 0, tail: int = 0) -> Iterator[LogLine]:
        """Yield the newest *tail* log lines."""

    def series(self, run_id: str, *, attempt: int = 0) -> list[SeriesInfo]:
        """Return the curves that can be read."""

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
        """Return a curve, or a stretch of it, in at most *resolution* buckets whose borders stand still.

        *x* is ``step``, ``time`` (unix seconds) or ``relative`` (seconds since the run was first heard of); *log_x*
        makes buckets of equal ratio; *smoothing* is the weight of the past in a moving average over every point.
        """

    def episodes(
        self, run_id: str, *, kind: str = "training", attempt: int = 0, include_lost: bool = False, last: int = 0
    ) -> Episodes:
        """Return episodes in order."""

    def summaries(self, run_ids: Collection[str]) -> dict[str, Summary]:
        """Return the newest numbers of each run that has sent anything."""

    def telemetry_fault(self) -> str:
        """Return why telemetry can store nothing new at the moment; nothing when it can."""

    def manifest(self, run_id: str, *, within_s: float = 30.0) -> Manifest:
        """Return the manifest of an ended run."""

    def fleet(self) -> Fleet:
        """Return machines, agents and workers as they stand."""

    def worker(self, name: str) -> Worker:
        """Return what the registry knows of a worker."""

    def teams(self) -> list[Team]:
        """Return every team that was set up."""

    def drain(self, *, node_id: str = "", agent_id: str = "", draining: bool = True) -> None:
        """Take a node or an agent out of planning, or back in."""

    def close(self) -> None:
        """Let go of the services."""
