"""Work that can be given up: it runs beside the main thread, which stays free to hear signals."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from mosaic.worker.library.control import StopRequested

#: How often it is looked whether the work has to be given up; its end is noticed at once.
_LOOK_S = 0.1
#: How long work that was given up may take to come to its end.
_FAREWELL_S = 0.5


def run_until(
    work: Callable[[], Any], is_time_up: Callable[[], bool], release: Callable[[], None] = lambda: None
) -> Any:
    """Return what *work* returns, or raise what it raises.

    Once *is_time_up*, the work is interrupted where it is in Python, and *release* should free it where it waits
    for others. What it has done by then is undefined.

    Raises:
        StopRequested: the time was up.

    """
    outcome = _Outcome(work)
    outcome.start()
    while outcome.is_alive():
        outcome.join(_LOOK_S)
        if outcome.is_alive() and is_time_up():
            outcome.interrupt()
            release()
            outcome.join(_FAREWELL_S)
            raise StopRequested
    if outcome.error is not None:
        raise outcome.error
    return outcome.result


class _Outcome(threading.Thread):
    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(name="rllib-work", daemon=True)
        self._work = work
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self._work()
        except BaseException as error:
            self.error = error

    def interrupt(self) -> None:
        """Raise `StopRequested` in the thread, at its next step in Python."""
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident or 0), ctypes.py_object(StopRequested))
