"""``mosaic up`` as a person starts it, and the other verbs typed beside it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.agent.execution.child import death_wrapper
from mosaic.client import Login, Mosaic
from mosaic.testing.ports import free_port
from tests.stack.environment import install_drill
from tests.stack.process import Part

_MOSAIC = (sys.executable, "-m", "mosaic.cli")
_TIMEOUT_S = 120


@dataclass(frozen=True)
class Typed:
    """What became of a command line."""

    exit_code: int
    output: str
    errors: str

    @property
    def document(self) -> Any:
        """What it printed, read as JSON."""
        return json.loads(self.output)


def finish(typed: subprocess.Popen[str]) -> Typed:
    """Wait for a command line that was begun; one that does not end is killed, and that is a fault."""
    try:
        output, errors = typed.communicate(timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        typed.kill()
        output, errors = typed.communicate()
        raise AssertionError(f"{typed.args} did not end:\n{output}\n{errors}") from None
    return Typed(typed.returncode, output, errors)


def next_line(typed: subprocess.Popen[str]) -> str:
    """Return the next line that a command prints, and leave the rest to be read by whoever finishes it."""
    assert typed.stdout is not None
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(typed.stdout.fileno(), 1)):
        line += byte
    return line.decode()


class Machine:
    """One person's machine: a state directory with the drill installed, and a platform that may run in it."""

    def __init__(self, folder: Path, *more: str, variables: Mapping[str, str] | None = None) -> None:
        """Make it; *more* is typed after ``mosaic up``, *variables* are in its environment."""
        self.home = folder / "home"
        install_drill(self.home)
        health = f"127.0.0.1:{free_port()}"
        command = [*_MOSAIC, "up", "--home", str(self.home), "--health", health, "--slots", "4", *more]
        self.platform = Part("up", command, variables or {}, folder=folder, health=health)

    @property
    def runs_root(self) -> Path:
        """Where run directories are."""
        return self.home / "runs"

    def up(self) -> None:
        """Start the platform and wait until it can be used."""
        self.platform.start()
        self.platform.wait_until_ready()

    def interrupt(self) -> None:
        """Press Ctrl-C and wait for the platform to end."""
        os.kill(self.platform.pid, signal.SIGINT)
        self.platform.wait()

    def connect(self) -> Mosaic:
        """Return a client of the platform that runs now."""
        return Mosaic(Login.running(self.home))

    def type(self, *words: str, stdin: str = "") -> Typed:
        """Run ``mosaic WORDS``, feed it *stdin*, and return what became of it."""
        begun = self.begin(*words, reads=bool(stdin))
        if begun.stdin:
            begun.stdin.write(stdin)
        return finish(begun)

    def begin(self, *words: str, terminal: int = subprocess.PIPE, reads: bool = False) -> subprocess.Popen[str]:
        """Start ``mosaic WORDS`` and return while it runs; what it prints goes to *terminal*, if one is given."""
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            # Tests that a shell started in the background hand on that Ctrl-C is ignored; a terminal does not.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        environment = {**os.environ, "MOSAIC_HOME": str(self.home), "COLUMNS": "200", "NO_COLOR": "1", "TERM": "xterm"}
        return subprocess.Popen(
            [*death_wrapper(), *_MOSAIC, *words],
            env=environment,
            stdin=subprocess.PIPE if reads else None,
            stdout=terminal,
            stderr=terminal,
            text=True,
        )

    def last_words(self) -> str:
        """Return the end of what the platform printed and logged."""
        journal = self.home / "platform.log"
        return self.platform.last_words() + (journal.read_text()[-6000:] if journal.exists() else "")
