"""A part of the platform as a process of its own, which tests may kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from mosaic.agent.execution.child import death_wrapper
from tests.stack.waiting import until

_KEPT_VARIABLES = ("PATH", "HOME", "LANG", "TMPDIR")
_STOP_S = 30.0
_LOG_TAIL = 6000


class Part:
    """One process: started, killed and started again with the same command and settings.

    Start it from a thread that lives as long as it should: it dies with that thread.
    """

    def __init__(
        self, name: str, command: Sequence[str], settings: Mapping[str, str], *, folder: Path, health: str
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._command = [*death_wrapper(), *command]
        kept = {key: os.environ[key] for key in _KEPT_VARIABLES if key in os.environ}
        # What is aborted says first where each of its threads is.
        self._environment = {**kept, "PYTHONFAULTHANDLER": "1", **settings}
        self.health = health
        self._ready_url = f"http://{health}/readyz"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process is not None, f"{self.name} does not run"
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Tell whether it runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def exit_status(self) -> int | None:
        """How it ended, None while it runs."""
        return self._process.poll() if self._process is not None else None

    def metrics(self) -> str:
        """Return what it tells Prometheus."""
        with urllib.request.urlopen(self._ready_url.replace("/readyz", "/metrics"), timeout=5) as answer:
            return str(answer.read(), "utf-8")

    def faults(self) -> dict[str, str]:
        """Return what it says it is not ready for, by part."""
        try:
            urllib.request.urlopen(self._ready_url, timeout=5).close()
        except urllib.error.HTTPError as error:
            with error:
                return dict(json.load(error)["faults"])
        return {}

    def start(self) -> None:
        """Start it; do not wait."""
        assert not self.is_alive, f"{self.name} runs already"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def wait_until_ready(self, seconds: float = 60.0) -> None:
        """Wait until it says that everything it needs is reached."""
        until(self._is_ready, what=f"{self.name} to be ready", seconds=seconds)

    def kill(self) -> None:
        """End it with SIGKILL: no goodbye, no flush."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def freeze(self) -> None:
        """Stop it in place, as a machine that swaps itself to death does."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def ask_to_stop(self) -> None:
        """Send SIGTERM; do not wait."""
        if self._process is not None and self.is_alive:
            self._process.terminate()

    def stop(self) -> None:
        """End it as an operator would; what does not go in time is killed, and that is a fault."""
        self.ask_to_stop()
        self.wait()

    def wait(self) -> None:
        """Wait until it has ended; what does not go in time is killed, and that is a fault."""
        if self._process is None:
            return
        try:
            self._process.wait(timeout=_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGABRT)
            self._process.wait()
            raise AssertionError(f"{self.name} did not stop within {_STOP_S:g} s:\n{self.last_words()}") from None

    def last_words(self) -> str:
        """Return the end of what it printed."""
        return self.log.read_text(errors="replace")[-_LOG_TAIL:] if self.log.exists() else ""

    def _is_ready(self) -> bool:
        if not self.is_alive:
            raise AssertionError(f"{self.name} ended by itself:\n{self.last_words()}")
        try:
            with urllib.request.urlopen(self._ready_url, timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False
