"""Run a worker that can be made to fail: ``python -m mosaic.worker.trial.fault MODULE [ARGUMENTS]``.

SIGUSR1 raises `InjectedFault` in the main thread, wherever it is, as a failing library would.
"""

from __future__ import annotations

import runpy
import signal
import sys
from types import FrameType


class InjectedFault(RuntimeError):
    """The failure that a conformance check asked for."""


def main() -> None:
    """Run the module named on the command line as ``__main__``, ready to fail."""
    signal.signal(signal.SIGUSR1, _raise_fault)
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def _raise_fault(_signal_number: int, _frame: FrameType | None) -> None:
    raise InjectedFault("a fault injected by the conformance check")


if __name__ == "__main__":
    main()
