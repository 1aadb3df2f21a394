"""Make one venv by running ``venv`` and ``pip`` in it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from mosaic.errors import WorkerBroken
from mosaic.installer.interpreters import Version, choose_interpreter, installed_interpreters
from mosaic.installer.recipes import Recipe

_KEPT_LINES = 400
_NOT_SOURCE = shutil.ignore_patterns(
    "build", "dist", "*.egg-info", "__pycache__", ".*", "node_modules", "runs", "wandb"
)
_PIP = ("-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-color")
#: torch is published twice under one version: for CUDA on PyPI, and much smaller, for CPUs only, here.
_TORCH_FOR_CPUS = "https://download.pytorch.org/whl/cpu"
_NVIDIA_DRIVER = Path("/proc/driver/nvidia")


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
    with tempfile.TemporaryDirectory(prefix="mosaic-install-") as scratch:
        source = ["-e", recipe.source] if recipe.editable else [_apart(recipe.source, Path(scratch) / "worker")]
        ours = [_apart(one, Path(scratch) / Path(one).name) for one in recipe.ours]
        sources = [*ours, *source]
        if recipe.lock is not None:
            _install_locked(recipe, recipe.lock, [python, *_PIP], Path(scratch), progress)
            _step(recipe, [python, *_PIP, "--no-deps", *sources], progress)
        else:
            _step(recipe, [python, *_PIP, *sources], progress)
    return interpreter.version


def for_cpus(lock: str) -> str:
    """Return *lock* with the build of torch that needs no CUDA; its hashes are those of both builds."""
    return re.sub(r"^(torch==[^\s;+]+)", r"\1+cpu", lock, flags=re.MULTILINE)


def _install_locked(recipe: Recipe, lock: Path, pip: list[str], scratch: Path, progress: Callable[[str], None]) -> None:
    # A lock is whole and tested: what a library says of itself, also of Python, is not asked again.
    options = [*pip, "--no-deps", "--ignore-requires-python", "-r"]
    text = lock.read_text(encoding="utf-8")
    libraries_of_cuda = lock.parents[1] / "base" / "cuda.lock"
    if for_cpus(text) == text or sys.platform != "linux":
        _step(recipe, [*options, str(lock)], progress)
    elif _NVIDIA_DRIVER.exists() and libraries_of_cuda.is_file():
        _step(recipe, [*options, str(lock), "-r", str(libraries_of_cuda)], progress)
    else:
        chosen = scratch / "requirements.lock"
        chosen.write_text(for_cpus(text), encoding="utf-8")
        try:
            # A build at hand comes first: the index need not be within reach then.
            _step(recipe, [*options, str(chosen)], progress)
        except WorkerBroken:
            _step(recipe, [*options, str(chosen), "--extra-index-url", _TORCH_FOR_CPUS], progress)


def _apart(source: str, place: Path) -> str:
    """Return a copy of a project directory, since building in place litters it and picks up stale files."""
    if not Path(source).is_absolute() or Path(source).is_file():
        return source
    shutil.copytree(source, place, ignore=_NOT_SOURCE)
    return str(place)


def _step(recipe: Recipe, command: Sequence[str], progress: Callable[[str], None]) -> None:
    said: deque[str] = deque(maxlen=_KEPT_LINES)
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line.rstrip())
            # Pip warns of every package that one of several indexes does not have: not what anybody waits for.
            if not line.startswith("WARNING: "):
                progress(line.rstrip())
    if process.returncode != 0:
        raise WorkerBroken(recipe.name, f"its environment could not be made: {_complaint(list(said))}")


def _complaint(lines: list[str]) -> str:
    errors = [line for line in lines if re.match(r"\s*(error|.*Error\b)", line, re.IGNORECASE)]
    return "; ".join(dict.fromkeys(line.strip() for line in (errors or lines)[-3:])) or "no message"
