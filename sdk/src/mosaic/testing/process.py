"""Start a worker as the fleet would, watch what it prints, and end it for certain."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from mosaic.testing.transcript import Line, Transcript

_POLL_S = 0.02


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
    #: Processes of its group that were still alive when it had ended.
    survivors: tuple[int, ...]

    def files(self) -> list[str]:
        """Return what lies in the run directory now, as sorted relative paths."""
        return sorted(str(path.relative_to(self.run_dir)) for path in self.run_dir.rglob("*") if path.is_file())

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
        self._lines: list[Line] = []
        self._errors: list[bytes] = []
        self._process = subprocess.Popen(
            list(command),
            cwd=run_dir,
            env={**env, "MOSAIC_RUN_DIR": str(run_dir), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._pipes: tuple[IO[bytes], IO[bytes]] = (self._process.stdout, self._process.stderr)
        self._readers = [
            threading.Thread(target=self._read_lines, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._read_errors, args=(self._process.stderr,), daemon=True),
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
        self._kill_group()
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
        if self.is_alive:
            self._process.send_signal(signal_number)

    def finish(self, timeout_s: float) -> Finished:
        """Wait for the end, killing the process group when *timeout_s* is over."""
        waited_from = time.monotonic()
        try:
            self._process.wait(timeout=timeout_s)
            was_killed = False
        except subprocess.TimeoutExpired:
            was_killed = True
        survivors = () if was_killed else alive_in_group(self._process.pid)
        seconds = time.monotonic() - waited_from
        self.__exit__(None, None, None)
        stderr = b"".join(self._errors).decode("utf-8", errors="replace")
        transcript = Transcript(self._lines)
        return Finished(self._process.returncode, transcript, stderr, seconds, self._run_dir, was_killed, survivors)

    def _read_lines(self, pipe: IO[bytes]) -> None:
        for raw in pipe:
            text = raw.decode("utf-8", errors="replace")
            at_s = time.monotonic() - self._started
            self._lines.append(Line(text.rstrip("\r\n"), at_s, text.endswith("\n")))

    def _read_errors(self, pipe: IO[bytes]) -> None:
        for raw in pipe:
            self._errors.append(raw)

    def _kill_group(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return

    def _drain(self) -> None:
        for reader in self._readers:
            reader.join(timeout=5)
        for pipe in self._pipes:
            pipe.close()


def alive_in_group(group: int) -> tuple[int, ...]:
    """Return the processes of *group* that are alive; empty where there is no ``/proc``."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _parent, its_group = stat.read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(its_group) == group and state not in "ZX":
            found.append(int(stat.parent.name))
    return tuple(found)
