"""Misbehaviour on demand, for tests of the fleet around the worker.

``MOSAIC_REFERENCE_FAULT=KIND@STEP`` in the environment (not a setting: users have no need of it) makes the run
misbehave at that step; with ``#N`` at the end only in attempt N. Kinds: ``crash`` (an exception), ``exit`` (status
3 without a word), ``kill`` (SIGKILL to itself), ``stall`` (training stops, heartbeats go on), ``hang`` (not even
those, and deaf to every signal but SIGKILL).
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import threading
from collections.abc import Callable, Mapping

from mosaic.errors import BadInput

VARIABLE = "MOSAIC_REFERENCE_FAULT"

_FORM = re.compile(r"(?P<kind>crash|exit|kill|stall|hang)@(?P<step>\d+)(#(?P<attempt>\d+))?")


class FaultOnDemand(RuntimeError):
    """The crash that was asked for."""


def fault_from(environment: Mapping[str, str]) -> Callable[[int], None]:
    """Return what to call after each step; it does nothing unless *environment* asks for a fault.

    Raises:
        BadInput: the variable cannot be read.

    """
    asked = environment.get(VARIABLE)
    if not asked:
        return _behave
    form = _FORM.fullmatch(asked)
    if form is None:
        raise BadInput(VARIABLE, [f"must be crash, exit, kill, stall or hang, then @STEP, is {asked!r}"])
    if form["attempt"] and form["attempt"] != environment.get("MOSAIC_ATTEMPT", "1"):
        return _behave
    kind, at = _KINDS[form["kind"]], int(form["step"])
    return lambda step: kind(step) if step == at else None


def _behave(_step: int) -> None:
    """Go on."""


def _crash(step: int) -> None:
    raise FaultOnDemand(f"crash on demand at step {step}")


def _exit(_step: int) -> None:
    os._exit(3)


def _kill(_step: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _stall(_step: int) -> None:
    threading.Event().wait()


def _hang(_step: int) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    # PyDLL keeps the interpreter's lock: no thread of the process runs, as when a library hangs in C.
    ctypes.PyDLL(None).sleep(2**31 - 1)


_KINDS: Mapping[str, Callable[[int], None]] = {
    "crash": _crash,
    "exit": _exit,
    "kill": _kill,
    "stall": _stall,
    "hang": _hang,
}
