"""Going on in the background, as ``mosaic up -d`` does."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import typer

_READY = b"r"


def go_on_in_background(log: Path) -> Callable[[], None]:
    """Return in a new process, which has a session of its own; what it returns is called when that is ready.

    The process that called ends with exit code 0 once the new one is ready, or with its exit code if it ends before.
    Until then the new one prints to the same terminal, so that people see what goes wrong; afterwards to *log*.
    Call it before there are threads.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    hearing, telling = os.pipe()
    child = os.fork()
    if child:
        os.close(telling)
        raise typer.Exit(_exit_code(child, hearing))
    os.close(hearing)
    os.setsid()
    return partial(_detach, log, telling)


def _exit_code(child: int, hearing: int) -> int:
    try:
        if os.read(hearing, 1) == _READY:
            return 0
    except KeyboardInterrupt:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
        raise
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status if status > 0 else 1


def _detach(log: Path, telling: int) -> None:
    # What a reader who left did not take goes to the log.
    with suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.stderr.flush()
    nothing = os.open(os.devnull, os.O_RDONLY)
    written = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for standard, file in enumerate((nothing, written, written)):
        os.dup2(file, standard)
    os.close(nothing)
    os.close(written)
    os.write(telling, _READY)
    os.close(telling)
