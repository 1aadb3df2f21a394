"""What a run is asked for from outside while it trains: to stop, to hold, to go on."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: How long a run that should stop may go on to reach a boundary, where it can be saved exactly.
BOUNDARY_PATIENCE_S = 3.0
_PAUSE_LOOK_S = 0.05


class StopRequested(BaseException):
    """The run was asked to end; not an Exception, so that no library swallows it."""


class Control:
    """Takes requests in signal handlers, and gives them effect where the training can be left."""

    def __init__(self) -> None:
        #: Whether there is anything to do; a plain attribute, because it is looked at in every step.
        self.is_interrupted = False
        self._is_paused = False
        self._stop_within_turn_at = math.inf
        self._may_raise = False

    @property
    def is_stopping(self) -> bool:
        """Tell whether the run should end."""
        return self._stop_within_turn_at < math.inf

    def request_stop(self) -> None:
        """Note that the run should end; at once where nothing would be lost."""
        self._stop_within_turn_at = time.monotonic() + BOUNDARY_PATIENCE_S
        self.is_interrupted = True
        if self._may_raise:
            raise StopRequested

    def request_pause(self, paused: bool) -> None:
        """Note that the run should hold, or go on."""
        self._is_paused = paused
        self.is_interrupted = paused or self.is_stopping

    def obey(self) -> None:
        """Hold while paused; then end the run if that was asked.

        Raises:
            StopRequested: it should end here.

        """
        while self._is_paused and not self.is_stopping:
            time.sleep(_PAUSE_LOOK_S)
        if self.is_stopping:
            raise StopRequested

    def obey_soon(self) -> None:
        """Do as `obey` between two boundaries, but leave a stop a moment to reach the next one."""
        if self._is_paused or self.is_overdue():
            self.obey()

    def is_overdue(self, by_s: float = 0.0) -> bool:
        """Tell whether the moment that a stop leaves to reach a boundary is over, since *by_s* seconds."""
        return time.monotonic() > self._stop_within_turn_at + by_s

    @contextmanager
    def nothing_to_lose(self) -> Iterator[None]:
        """Let a stop take effect at any instruction meanwhile: nothing is being learned."""
        self._may_raise = True
        try:
            if self.is_stopping:
                raise StopRequested
            yield
        finally:
            self._may_raise = False

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Let a stop wait for the end of this, also where there is `nothing_to_lose`; who waits within looks for it.

        Raises:
            StopRequested: it came meanwhile.

        """
        may_raise, self._may_raise = self._may_raise, False
        try:
            yield
        finally:
            self._may_raise = may_raise
        if may_raise and self.is_stopping:
            raise StopRequested
