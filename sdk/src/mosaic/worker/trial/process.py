"""Start a worker as the fleet would, watch what it prints, and end it for certain."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from mosaic.processes import living_processes, new_mark
from mosaic.worker.session import EXIT_BAD_INPUT
from mosaic.worker.trial.transcript import Line, Transcript

#: Carries the mark by which everything a worker starts is found again.
MARK_VARIABLE = "MOSAIC_CHECK_MARK"

_POLL_S = 0.02
#: How long a process may take to follow the worker that started it.
_FOLLOW_S = 2.0
#: How long a pipe is read after the end, when somebody who cannot be found holds it open.
_LISTEN_S = 1.0
_CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True)
class Finished:
    """A worker process that has ended, and everything it left behind."""

    exit_code: int
    stdout: Transcript
    stderr: str
    seconds: float
    run_dir: Path
    #: The process had to be killed because it did not end in time.
    was_killed: bool
    #: Processes it had started, wherever they went, that were still alive soon after it had ended.
    survivors: tuple[int, ...]
    #: When the first signal was sent to it, in seconds since its start.
    signalled_at_s: float | None = None

    def files(self) -> list[str]:
        """Return what lies in the run directory now, as sorted relative paths."""
        return sorted(str(path.relative_to(self.run_dir)) for path in self.run_dir.rglob("*") if path.is_file())

    def refused_option(self, option: str) -> bool:
        """Tell whether it ended because its command line knows no *option*."""
        return self.exit_code == EXIT_BAD_INPUT and option in self.stderr

    def last_words(self) -> str:
        """Return the last line of stderr that says something."""
        said = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        return said[-1] if said else "(nothing on stderr)"


class WorkerProcess:
    """A running worker in a process group of its own; leaving the ``with`` block kills what is left."""

    def __init__(self, command: Sequence[str], run_dir: Path, env: Mapping[str, str]) -> None:
        run_dir.mkdir(parents=True, exist_ok=True)
        self._run_dir = run_dir
        self._started = time.monotonic()
        self._signalled_at_s: float | None = None
        self._listens_until = float("inf")
        self._lines: list[Line] = []
        self._errors: list[bytes] = []
        self._mark = new_mark()
        self._process = subprocess.Popen(
            list(command),
            cwd=run_dir,
            env={**env, "MOSAIC_RUN_DIR": str(run_dir), "PYTHONUNBUFFERED": "1", MARK_VARIABLE: self._mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._pipes = (self._process.stdout, self._process.stderr)
        self._readers = [
            threading.Thread(target=self._read_lines, args=(self._process.stdout.fileno(),), daemon=True),
            threading.Thread(target=self._read_errors, args=(self._process.stderr.fileno(),), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._listens_until == float("inf"):
            self._kill_all()
            self._process.wait()
            self._drain()

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended yet."""
        return self._process.poll() is None

    def saw(self, kind: str) -> bool:
        """Tell whether an event called *kind* has been printed so far."""
        return any(line.event is not None and line.event["event"] == kind for line in list(self._lines))

    def wait_until(self, happened: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until *happened*, the process ends, or the time is over; return whether it happened."""
        deadline = time.monotonic() + timeout_s
        while not happened():
            if time.monotonic() > deadline or not self.is_alive:
                return happened()
            time.sleep(_POLL_S)
        return True

    def send(self, signal_number: signal.Signals) -> None:
        """Send a signal to the worker itself; one that has ended does not mind."""
        if self._signalled_at_s is None:
            self._signalled_at_s = time.monotonic() - self._started
        if self.is_alive:
            self._process.send_signal(signal_number)

    def finish(self, timeout_s: float) -> Finished:
        """Wait for the end, killing the worker and all it started when *timeout_s* is over."""
        waited_from = time.monotonic()
        try:
            self._process.wait(timeout=timeout_s)
            was_killed = False
        except subprocess.TimeoutExpired:
            was_killed = True
        seconds = time.monotonic() - waited_from
        survivors = () if was_killed else self._survivors()
        self.__exit__(None, None, None)
        return Finished(
            self._process.returncode,
            Transcript(self._lines),
            b"".join(self._errors).decode("utf-8", errors="replace"),
            seconds,
            self._run_dir,
            was_killed,
            survivors,
            self._signalled_at_s,
        )

    def _read_lines(self, descriptor: int) -> None:
        rest = b""
        for chunk in self._chunks(descriptor):
            *whole, rest = (rest + chunk).split(b"\n")
            for raw in whole:
                self._add_line(raw, is_complete=True)
        if rest:
            self._add_line(rest, is_complete=False)

    def _add_line(self, raw: bytes, *, is_complete: bool) -> None:
        text = raw.decode("utf-8", errors="replace").rstrip("\r")
        self._lines.append(Line(text, time.monotonic() - self._started, is_complete))

    def _read_errors(self, descriptor: int) -> None:
        self._errors.extend(self._chunks(descriptor))

    def _chunks(self, descriptor: int) -> Iterator[bytes]:
        """Read until the pipe ends, or until nobody who should speak is left."""
        poll = select.poll()
        poll.register(descriptor, select.POLLIN | select.POLLHUP)
        while time.monotonic() < self._listens_until:
            if poll.poll(1000 * _POLL_S):
                chunk = os.read(descriptor, _CHUNK_BYTES)
                if not chunk:
                    return
                yield chunk

    def _survivors(self) -> tuple[int, ...]:
        """Return who is left of what the worker started, after a moment in which to follow it."""
        deadline = time.monotonic() + _FOLLOW_S
        while (left := self._living()) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        return left

    def _living(self) -> tuple[int, ...]:
        # Without /proc only the group can be ended, and nobody can say who left it.
        has_proc = Path("/proc/self/environ").exists()
        return tuple(living_processes(self._mark, session=self._process.pid)) if has_proc else ()

    def _kill_all(self) -> None:
        """Kill the worker and all it started; return when they are gone, or cannot be killed."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        deadline = time.monotonic() + _FOLLOW_S
        while (left := self._living()) and time.monotonic() < deadline:
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_POLL_S)

    def _drain(self) -> None:
        self._listens_until = time.monotonic() + _LISTEN_S
        for reader in self._readers:
            reader.join()
        for pipe in self._pipes:
            pipe.close()
