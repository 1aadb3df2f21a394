"""A run on a stack, as a test looks at it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from mosaic.client import Manifest, Mosaic, Run, RunDetail
from mosaic.errors import MosaicError, RunUnfinished, Unavailable
from mosaic.lifecycle import RunState

#: Containers share the machine with whatever else it tests; a deadline only bounds how long a failure takes.
PATIENCE_S = 300.0

_PAUSE_S = 0.1


@dataclass(frozen=True)
class StackRun:
    """A submitted run. Waiting goes on while a service is away, since tests take services away."""

    mosaic: Mosaic
    run_id: str

    def look(self) -> RunDetail:
        """Return the run as it stands, with its attempts and its history."""
        return self.mosaic.run(self.run_id)

    def wait(self, within_s: float = PATIENCE_S) -> Run:
        """Return the run once it has ended, however it ended.

        Raises:
            RunUnfinished: it has not in time; says where it stands and why.
        """
        return self._wait_until(lambda run: run.has_ended, within_s)

    def wait_for(self, state: RunState, within_s: float = PATIENCE_S) -> Run:
        """Return the run once it is in *state*, or has ended in another.

        Raises:
            RunUnfinished: neither has come true in time.
        """
        return self._wait_until(lambda run: run.state is state or run.has_ended, within_s)

    def manifest(self, within_s: float = 60.0) -> Manifest:
        """Return the manifest of the ended run, waiting until it is written.

        Raises:
            NotFound: it was not written in time.
        """
        return self.mosaic.manifest(self.run_id, within_s=within_s)

    def cancel(self) -> Run:
        """End the run: SIGTERM, its grace, SIGKILL."""
        return self.mosaic.cancel(self.run_id)

    def _wait_until(self, happened: Callable[[Run], bool], within_s: float) -> Run:
        deadline = time.monotonic() + within_s
        state = "unknown"
        while True:
            try:
                run = self.look().run
                state = run.state.value
                if happened(run):
                    return run
            except Unavailable as error:
                state = f"unknown ({error})"
            if time.monotonic() > deadline:
                raise RunUnfinished(self.run_id, within_s, state, self._why())
            time.sleep(_PAUSE_S)

    def _why(self) -> str:
        try:
            return "; ".join(self.mosaic.explain(self.run_id).sentences) or "nobody says why"
        except MosaicError as error:
            return str(error)
