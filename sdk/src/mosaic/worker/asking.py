"""Ask another interpreter a question, and come back with or without an answer.

Importing a worker may hang, crash, print, or start processes that hold on to whatever they inherit.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """What a command said until it ended or its time was over."""

    #: None when the time was over.
    exit_code: int | None
    output: bytes
    errors: bytes


def ask(command: Sequence[str], timeout_s: float, env: Mapping[str, str] | None = None) -> Answer:
    """Run *command* in a session of its own until it ends, at most for *timeout_s*.

    What it started neither delays the answer nor stays behind, unless it went into a session of its own.

    Raises:
        OSError: it cannot be started.

    """
    # Files and not pipes: a pipe ends only when the last process that inherited it does.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=env, start_new_session=True
        ) as child:
            try:
                exit_code: int | None = child.wait(timeout_s)
            except subprocess.TimeoutExpired:
                exit_code = None
            finally:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(child.pid, signal.SIGKILL)
        output.seek(0)
        errors.seek(0)
        return Answer(exit_code, output.read(), errors.read())
