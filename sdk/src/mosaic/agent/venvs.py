"""Make one venv by running ``venv`` and ``pip`` in it."""

from __future__ import annotations

import re
import subprocess
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from mosaic.agent.interpreters import Version, choose_interpreter, installed_interpreters
from mosaic.agent.recipes import Recipe
from mosaic.errors import WorkerBroken

_KEPT_LINES = 400
_PIP = ("-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-color")


def build_venv(path: Path, recipe: Recipe, progress: Callable[[str], None]) -> Version:
    """Make the venv of *recipe* at *path* and return the version of its Python.

    With a lock, exactly what the lock names is installed, and nothing is resolved anew.

    Raises:
        PythonMissing: no Python here suits it.
        WorkerBroken: a step failed; the sentence holds what the step complained about.

    """
    interpreter = choose_interpreter(recipe.python, installed_interpreters())
    progress(f"Python {interpreter} from {interpreter.path}")
    _step(recipe, [str(interpreter.path), "-m", "venv", str(path)], progress)
    python = str(path / "bin" / "python")
    if recipe.lock is not None:
        _step(recipe, [python, *_PIP, "-r", str(recipe.lock)], progress)
        _step(recipe, [python, *_PIP, "--no-deps", recipe.sdk, recipe.source], progress)
    else:
        _step(recipe, [python, *_PIP, recipe.sdk, recipe.source], progress)
    return interpreter.version


def _step(recipe: Recipe, command: Sequence[str], progress: Callable[[str], None]) -> None:
    said: deque[str] = deque(maxlen=_KEPT_LINES)
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line.rstrip())
            progress(line.rstrip())
    if process.returncode != 0:
        raise WorkerBroken(recipe.name, f"its environment could not be made: {_complaint(list(said))}")


def _complaint(lines: list[str]) -> str:
    errors = [line for line in lines if re.match(r"\s*(error|.*Error\b)", line, re.IGNORECASE)]
    return "; ".join(dict.fromkeys(line.strip() for line in (errors or lines)[-3:])) or "no message"
