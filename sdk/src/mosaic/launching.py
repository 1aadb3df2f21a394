"""Where a worker works: its run directory, its config file and its environment."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Callable, Mapping
from ctypes.util import find_library
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mosaic.errors import BadInput
from mosaic.model.attempt import Launch
from mosaic.model.variables import unsafe_faults

#: What a child may inherit from the agent. Everything else, tokens above all, stays here.
INHERITED = frozenset(
    {
        *("PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "REQUESTS_CA_BUNDLE", "VIRTUAL_ENV", "LD_LIBRARY_PATH"),
        *("MUJOCO_GL", "SDL_VIDEODRIVER"),
    }
)
INHERITED_PREFIXES = ("LC_", "SSL_CERT_", "NVIDIA_")
#: What stands behind this in the agent's environment is what the machine's operator sets for every worker.
OPERATOR_PREFIX = "MOSAIC_WORKER_ENV_"

#: Libraries that would otherwise start one thread per core of the machine, whatever the lease says.
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TORCH_NUM_THREADS")

_FOLDERS = ("config", "checkpoints", "tensorboard", "logs", "videos")


@dataclass(frozen=True)
class RunDirectory:
    """The directory that all attempts of a run share."""

    path: Path

    @property
    def checkpoints(self) -> Path:
        """Where checkpoints go."""
        return self.path / "checkpoints"

    def holds(self, path: str) -> bool:
        """Tell whether *path*, relative to this directory or absolute, exists."""
        return self.find(path).exists()

    def find(self, path: str) -> Path:
        """Return where *path* is: also one in the directory of another run, when this one is not made yet."""
        return Path(os.path.normpath(self.path / path))

    def relative(self, path: str) -> str:
        """Return *path* relative to this directory; a path outside stays as it is."""
        whole = self.path / path
        return str(whole.relative_to(self.path)) if whole.is_relative_to(self.path) else path


def prepare(runs_root: Path, launch: Launch) -> tuple[RunDirectory, Path]:
    """Make the run directory and write the config file of this attempt; return both.

    The file is the worker's config as a flat object with ``run_id`` and ``seed`` in it: the one form that
    every worker reads.

    Raises:
        OSError: the directory cannot be made or written.

    """
    directory = RunDirectory(runs_root / launch.run_id)
    runs_root.mkdir(parents=True, exist_ok=True)
    directory.path.mkdir(exist_ok=True)
    with contextlib.suppress(PermissionError):  # it is somebody else's, who shares the place
        directory.path.chmod(0o700)
    for name in _FOLDERS:
        (directory.path / name).mkdir(exist_ok=True)
    path = directory.path / "config" / f"attempt-{launch.attempt}.json"
    _write_anew(path, json.dumps(_config(launch), indent=2))
    return directory, path


def child_environment(
    inherited: Mapping[str, str], launch: Launch, directory: RunDirectory, *, heartbeat_s: float
) -> dict[str, str]:
    """Return the whole environment of a child: an allow-list of ours and what the run asks for.

    Its secrets are handed over otherwise: what stands here, others on the machine may be able to read.

    Raises:
        BadInput: the run asks for variables that decide which code runs, or that cannot be.

    """
    faults = list(unsafe_faults(launch.spec.environment, launch.secrets))
    if faults:
        raise BadInput(f"run {launch.run_id}", faults)
    threads = str(max(1, math.floor(launch.lease.cpus)))
    environment = screenless_drawing() | {name: value for name, value in inherited.items() if _may_inherit(name)}
    environment |= dict.fromkeys(_THREAD_VARIABLES, threads)
    environment |= _of_operator(inherited)
    environment |= launch.spec.environment
    environment |= {
        "PYTHONUNBUFFERED": "1",
        "CUDA_VISIBLE_DEVICES": ",".join(launch.lease.gpu_ids),
        "MOSAIC_RUN_ID": launch.run_id,
        "MOSAIC_WORKER": launch.spec.worker,
        "MOSAIC_TEAM": launch.spec.team,
        "MOSAIC_USER": launch.spec.user,
        "MOSAIC_ATTEMPT": str(launch.attempt),
        "MOSAIC_RUN_DIR": str(directory.path),
        "MOSAIC_CHECKPOINT_DIR": str(directory.checkpoints),
        "MOSAIC_HEARTBEAT_S": f"{heartbeat_s:g}",
    }
    if launch.resume_from:
        environment["MOSAIC_RESUME_FROM"] = str(directory.find(launch.resume_from))
    return environment


def screenless_drawing() -> dict[str, str]:
    """Return the variables with which libraries draw pictures on a machine without a screen."""
    backend = _backend_here()
    return {"SDL_VIDEODRIVER": "dummy"} | ({"MUJOCO_GL": backend} if backend else {})


def mujoco_backend(find: Callable[[str], str | None]) -> str | None:
    """Return with what MuJoCo can draw, of the libraries that *find* finds; None to leave the choice to it.

    Told to use a library that is not there it cannot even be imported; told nothing it trains, and fails to draw.
    """
    # Without GL itself, EGL is imported and then of no use.
    if find("EGL") and find("GL"):
        return "egl"
    return "osmesa" if find("OSMesa") else None


def _write_anew(path: Path, text: str) -> None:
    # An earlier attempt may have left a link here, or put one in the place of the folder.
    if path.parent.is_symlink():
        raise NotADirectoryError(f"{path.parent} is a link")
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def _config(launch: Launch) -> dict[str, object]:
    seed = {} if launch.spec.seed is None else {"seed": launch.spec.seed}
    return {**launch.spec.config, "run_id": launch.run_id, **seed}


def _may_inherit(name: str) -> bool:
    return name in INHERITED or name.startswith(INHERITED_PREFIXES)


def _of_operator(inherited: Mapping[str, str]) -> dict[str, str]:
    names = (name for name in inherited if name.startswith(OPERATOR_PREFIX))
    return {name.removeprefix(OPERATOR_PREFIX): inherited[name] for name in names}


@cache
def _backend_here() -> str | None:
    return mujoco_backend(find_library)
