"""A Ray instance that belongs to one run: nothing of it is shared, nothing of it stays."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
import signal
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from mosaic_rllib.interruption import Wishes
from mosaic_rllib.plan import Plan
from mosaic_rllib.processes import processes_of

#: Memory for what the processes of the run hand to each other; taken only as far as it is used.
_OBJECT_STORE_BYTES = 400 * 1024**2
_PREFIX = "mosaic-ray-"
#: The variable that names a file for the last words of a process that plays: RLlib does not pass them on.
LAST_WORDS = "MOSAIC_RLLIB_LAST_WORDS"
#: How long Ray may take to end by itself, and that when the run was asked to stop.
_FAREWELL_S = 5.0
_HASTY_FAREWELL_S = 0.5


def prepare_environment() -> None:
    """Set what Ray reads when it is imported, and what the processes it starts inherit."""
    os.environ |= {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DEDUP_LOGS": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_TRAIN_ENABLE_V2_MIGRATION_WARNINGS": "0",
        # Whoever else is on this machine has no business in the run.
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        # Every process that plays gets one thread; the one that learns is told its number itself.
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
        "SDL_VIDEODRIVER": os.environ.get("SDL_VIDEODRIVER", "dummy"),
        "MUJOCO_GL": os.environ.get("MUJOCO_GL", "egl"),
    }
    warnings.simplefilter("ignore")
    for name in ("ray", "ray.rllib", "ray.tune"):
        logging.getLogger(name).setLevel(logging.ERROR)


@contextlib.contextmanager
def ray_instance(plan: Plan, wishes: Wishes) -> Iterator[None]:
    """Run Ray for *plan*, without dashboard and reachable only from here; end all of it whatever happens.

    Its processes die with this one, also when it is killed.

    Raises:
        GivenUp: while it was starting, somebody wished it to stop.

    """
    import ray

    # Ray's sockets lie below its directory and their paths may not be long, so it cannot be the run's.
    directory = _own_directory()
    os.environ[LAST_WORDS] = str(directory / "last-words")
    try:
        with wishes.nothing_to_lose(), _own_signals():
            ray.init(
                address="local",
                num_cpus=plan.ray_cpus,
                include_dashboard=False,
                log_to_driver=False,
                configure_logging=False,
                object_store_memory=_OBJECT_STORE_BYTES,
                _temp_dir=str(directory),
                _node_ip_address="127.0.0.1",
            )
        yield
    finally:
        _end(ray.shutdown, directory, within_s=_HASTY_FAREWELL_S if wishes.stop else _FAREWELL_S)
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Keep Ray from taking SIGTERM for itself: it would exit, and the run wants to leave a checkpoint first."""
    ours = signal.getsignal(signal.SIGTERM)
    try:
        yield
    except SystemExit:
        # What Ray makes of the signal while it starts.
        signal.signal(signal.SIGTERM, ours)
        signal.raise_signal(signal.SIGTERM)
        raise
    finally:
        signal.signal(signal.SIGTERM, ours)


def _end(shutdown: Callable[[], None], directory: Path, *, within_s: float) -> None:
    """Let Ray say goodbye, but not for long: it would wait for each of its processes in turn."""
    processes = processes_of(directory)
    farewell = threading.Thread(target=shutdown, name="ray-farewell", daemon=True)
    farewell.start()
    farewell.join(within_s)
    for process in processes:
        process.kill()
    farewell.join(within_s)


def _own_directory() -> Path:
    """Make a short-named directory, and clear away those of runs that were killed."""
    root = Path(tempfile.gettempdir())
    for old in root.glob(f"{_PREFIX}*"):
        owner = old.name.removeprefix(_PREFIX)
        if owner.isdigit() and not Path("/proc", owner).exists():
            shutil.rmtree(old, ignore_errors=True)
    directory = root / f"{_PREFIX}{os.getpid()}"
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory
