"""Wishes of others and work that can be given up: it runs beside the main thread, which stays free to hear signals."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: How long an iteration under way may go on after the wish to stop; the grace of a run is several times that.
_PATIENCE_S = 2.0
#: How often it is looked whether the time is up; the end of the work is noticed at once.
_LOOK_S = 0.1
#: How long work that was given up may take to come to its end.
_FAREWELL_S = 0.5


class GivenUp(BaseException):
    """The work took too long; not an Exception, so that no library swallows it."""


class Wishes:
    """What was asked of the run from outside, by signals."""

    def __init__(self) -> None:
        self.stop = False
        self.paused = False
        self._give_up_at = float("inf")
        self._nothing_to_lose = False

    def ask_to_stop(self) -> None:
        """Note the wish, or act on it where nothing would be lost.

        Raises:
            GivenUp: there is `nothing_to_lose`.

        """
        self.stop = True
        self._give_up_at = min(self._give_up_at, time.monotonic() + _PATIENCE_S)
        if self._nothing_to_lose:
            raise GivenUp

    def is_time_up(self) -> bool:
        """Tell whether work under way has to be given up."""
        return time.monotonic() > self._give_up_at

    def is_overdue(self) -> bool:
        """Tell whether even the state after finished work can no longer be waited for."""
        return time.monotonic() > self._give_up_at + _PATIENCE_S

    @contextmanager
    def excusing(self) -> Iterator[None]:
        """Take what fails after the wish to stop for a part of it: whoever stops a run may stop its processes too.

        Raises:
            GivenUp: something failed after the wish.

        """
        try:
            yield
        except Exception as error:
            if self.stop:
                raise GivenUp from error
            raise

    @contextmanager
    def nothing_to_lose(self) -> Iterator[None]:
        """Let a wish to stop end what is done within at once.

        Raises:
            GivenUp: the wish is there, or comes meanwhile.

        """
        if self.stop:
            raise GivenUp
        self._nothing_to_lose = True
        try:
            yield
        finally:
            self._nothing_to_lose = False


def run_until(work: Callable[[], Any], is_time_up: Callable[[], bool], release: Callable[[], None]) -> Any:
    """Return what *work* returns, or raise what it raises.

    Once *is_time_up*, the work is interrupted where it is in Python, and *release* should free it where it waits
    for others. What it has done by then is undefined.

    Raises:
        GivenUp: the time was up.

    """
    outcome = _Outcome(work)
    outcome.start()
    while outcome.is_alive():
        outcome.join(_LOOK_S)
        if outcome.is_alive() and is_time_up():
            outcome.interrupt()
            release()
            outcome.join(_FAREWELL_S)
            raise GivenUp
    if outcome.error is not None:
        raise outcome.error
    return outcome.result


class _Outcome(threading.Thread):
    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(name="rllib-iteration", daemon=True)
        self._work = work
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self._work()
        except BaseException as error:
            self.error = error

    def interrupt(self) -> None:
        """Raise `GivenUp` in the thread, at its next step in Python."""
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident or 0), ctypes.py_object(GivenUp))
