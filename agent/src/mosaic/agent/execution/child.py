"""One child process and everything it starts: in its own session, ended as a whole, provably.

The child dies with the agent (PDEATHSIG). What it started may outlive both; such processes are found
again by the session they are in and by a mark in their environment, which children inherit.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mosaic.processes import living_processes, newest_pid, read_birth

#: The variable that carries the mark.
MARK_VARIABLE = "MOSAIC_AGENT_MARK"

#: A big pipe lets the agent read seldom and the worker never wait for it.
_PIPE_BYTES = 1024 * 1024


def death_wrapper() -> tuple[str, ...]:
    """Return the command that makes what follows it die with the thread that started it, or nothing.

    The alternative, a ``preexec_fn``, may deadlock in a process that has threads.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return ()
    wrapper = (setpriv, "--pdeathsig", "KILL", "--")
    works = subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode == 0
    return wrapper if works else ()


@dataclass(frozen=True)
class Trace:
    """How the processes of a child are found again."""

    mark: str
    #: The session they began in; None when the mark must do.
    session: int | None = None


@dataclass(frozen=True)
class Command:
    """What to start."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    mark: str


class Child:
    """A started child. Its pipes do not block; its exit makes `exit_descriptor` readable."""

    def __init__(self, process: subprocess.Popen[bytes], mark: str) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.pid = process.pid
        self.birth = read_birth(process.pid)
        self.stdout = process.stdout.fileno()
        self.stderr = process.stderr.fileno()
        #: Whether stdout takes so much that the agent may let it fill for some milliseconds.
        self.has_roomy_pipe = _make_roomy(self.stdout)
        self.exit_descriptor = os.pidfd_open(process.pid)
        self._process = process
        self._mark = mark
        self._born = time.monotonic()
        os.set_blocking(self.stdout, False)
        os.set_blocking(self.stderr, False)

    def exit_code(self) -> int | None:
        """Return how it ended (negative: by that signal), None while it lives."""
        return self._process.poll()

    def signal_group(self, number: signal.Signals) -> None:
        """Send *number* to the whole group; a group that is gone does not mind."""
        # Once the leader is reaped its number may belong to somebody else.
        if self._process.returncode is None:
            _signal_group(self.pid, number)
        else:
            self.signal_survivors(number)

    def signal_leader(self, number: signal.Signals) -> None:
        """Send *number* to the child alone, unless it is gone."""
        self._process.send_signal(number)

    def signal_survivors(self, number: signal.Signals | None) -> int:
        """Send *number*, if any, to every process that still lives; return how many there are."""
        survivors = self.survivors()
        if number is not None:
            for pid in survivors:
                _signal(pid, number)
        return len(survivors)

    def kill(self) -> None:
        """SIGKILL to the group and to whatever left the group."""
        if self._process.returncode is None:
            _signal_group(self.pid, signal.SIGKILL)
        self.signal_survivors(signal.SIGKILL)

    def survivors(self) -> list[int]:
        """Return every process of this child that still lives, wherever it went."""
        # Descendants are younger than the child, and a young child's descendants have higher numbers.
        is_young = time.monotonic() - self._born < 30 and newest_pid() >= self.pid
        _reap_group(self.pid, leader_is_reaped=self._process.returncode is not None)
        return living_processes(self._mark, session=self.pid, newer_than=self.pid if is_young else 0)

    def close(self) -> None:
        """Close the pipes and the exit descriptor. The child is not touched."""
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        os.close(self.exit_descriptor)


def spawn(command: Command, wrapper: Sequence[str] = ()) -> Child:
    """Start *command* as the leader of a new session.

    Call it from a thread that lives as long as the agent: with a wrapper, the child dies with that thread.

    Raises:
        OSError: it could not be started.

    """
    process = subprocess.Popen(
        [*wrapper, *command.argv],
        env={**command.environment, MARK_VARIABLE: command.mark},
        cwd=command.directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
    return Child(process, command.mark)


def end_processes(traces: Sequence[Trace], *, grace_s: float, poll_s: float = 0.02) -> int:
    """End every process that left one of *traces*, all at once: SIGTERM, *grace_s*, SIGKILL.

    Returns how many there were, and only when they are gone.
    """
    doomed = _living(traces)
    deadline = time.monotonic() + grace_s
    found = len(doomed)
    for pid in doomed:
        _signal(pid, signal.SIGTERM)
        _signal(pid, signal.SIGCONT)
    while doomed := _living(traces):
        if time.monotonic() >= deadline:
            for pid in doomed:
                _signal(pid, signal.SIGKILL)
        time.sleep(poll_s)
    return found


def _living(traces: Sequence[Trace]) -> set[int]:
    return {pid for trace in traces for pid in living_processes(trace.mark, session=trace.session)}


def _reap_group(group: int, *, leader_is_reaped: bool) -> None:
    """Bury what was left to us as the init of a container; the leader is its owner's to bury."""
    if leader_is_reaped:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-group, os.WNOHANG)[0]:
                pass


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _make_roomy(descriptor: int) -> bool:
    try:
        return fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES) >= _PIPE_BYTES
    except OSError:
        # The user's allowance for big pipes is spent; the usual 64 KiB work too.
        return False
