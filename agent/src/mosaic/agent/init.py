"""The first process of a worker image: starts the agent, passes signals on, and buries orphans.

A process whose parent died becomes a child of the container's first process, which must wait for it, or it
stays in the process table for ever. The agent cannot do that itself without taking away the exit
status of its own children, so a process of its own does it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

_AGENT = (sys.executable, "-m", "mosaic.agent")
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
#: Python ignores these in itself; what it starts should not inherit that.
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
_PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 4, 36
#: How a shell reports an end by a signal, and containers with it.
_BY_SIGNAL = 128


def run(command: Sequence[str] = _AGENT) -> int:
    """Run *command* to its end and return its exit status; orphans left to us are buried meanwhile.

    Raises:
        OSError: it could not be started.
    """
    _adopt_orphans()
    _hide_environment()
    # Blocked until the child's number is known: a signal in between must not get lost.
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    child = os.posix_spawn(command[0], list(command), os.environ, setsigmask=[], setsigdef=_IGNORED_BY_PYTHON)
    for number in _PASSED_ON:
        signal.signal(number, lambda number, _frame: _pass_on(child, number, _frame))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
    return _bury_all_until(child)


def _bury_all_until(child: int) -> int:
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else _BY_SIGNAL - code


def _pass_on(child: int, number: int, _frame: FrameType | None) -> None:
    os.kill(child, number)


def _adopt_orphans() -> None:
    # Process 1 inherits orphans anyway; elsewhere (a shared PID namespace, a test) it must be asked for.
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _hide_environment() -> None:
    # It names the broker and where the secrets are; workers run under the same user.
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:] or _AGENT))
