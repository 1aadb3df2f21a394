"""A Ray instance that belongs to one run: nothing of it is shared, nothing of it stays."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from mosaic.worker.library.control import StopRequested
from mosaic_rllib.processes import end_processes_of, processes_of

#: Memory for what the processes of the run hand to each other; taken only as far as it is used.
_OBJECT_STORE_BYTES = 400 * 1024**2
_PREFIX = "mosaic-ray-"
#: The variable that names a file for the last words of a process that plays: RLlib does not pass them on.
LAST_WORDS = "MOSAIC_RLLIB_LAST_WORDS"
#: How long it may take to leave Ray, and that when the run was asked to stop.
_FAREWELL_S = 5.0
_HASTY_FAREWELL_S = 2.0
#: How often it is looked, while Ray starts, whether the run was asked to stop.
_LOOK_S = 0.1
#: The Ray of this process; there is one at most.
_running: list[_Keeper] = []
#: The directories of instances that were still starting or leaving when their run was over.
_left_alone: list[Path] = []


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
        "PYTHONWARNINGS": "ignore",
        "SDL_VIDEODRIVER": os.environ.get("SDL_VIDEODRIVER", "dummy"),
    }
    warnings.simplefilter("ignore")
    for name in ("ray", "ray.rllib", "ray.tune"):
        logging.getLogger(name).setLevel(logging.ERROR)


def start_ray(cpus: int, is_stopping: Callable[[], bool]) -> Path:
    """Start Ray, without dashboard and reachable only from here; return a directory that goes with it.

    Its processes die with this one, also when it is killed. Whoever starts it calls `leave_ray`, whatever happens.

    Raises:
        StopRequested: while it was starting, the run was asked to stop.

    """
    # Ray's sockets lie below its directory and their paths may not be long, so it cannot be the run's.
    directory = _own_directory()
    os.environ |= {
        LAST_WORDS: str(directory / "last-words"),
        # Every process that plays gets one thread; the one that learns was told its number before.
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
    keeper = _Keeper(cpus, directory)
    _running.append(keeper)
    keeper.start()
    keeper.wait_for_ray(is_stopping)
    return directory


def leave_ray(*, is_hasty: bool) -> None:
    """End all of Ray, if it was started."""
    while _running:
        keeper = _running.pop()
        if keeper.end(within_s=_HASTY_FAREWELL_S if is_hasty else _FAREWELL_S):
            shutil.rmtree(keeper.directory, ignore_errors=True)
        else:
            _left_alone.append(keeper.directory)


def end_what_was_left() -> None:
    """End the processes of a Ray that was left alone; the caller leaves before Ray's native code notices."""
    for directory in _left_alone:
        end_processes_of(directory)


class _Keeper(threading.Thread):
    """Starts Ray, stays while it runs, since its processes die with the thread that started them, and ends it.

    Not the main thread: what a signal raises there in the midst of Ray's start can leave a lock held for ever.
    """

    def __init__(self, cpus: int, directory: Path) -> None:
        super().__init__(name="ray-keeper", daemon=True)
        self.directory = directory
        self._cpus = cpus
        self._is_over = threading.Event()
        self._has_started = threading.Event()
        self._error: Exception | None = None

    def run(self) -> None:
        import ray

        # Who stops a run tells all its processes. Ray's inherit this and go on: if they were gone before we have saved
        # and left, Ray's native code would end this process, too, without a word.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            ray.init(
                address="local",
                num_cpus=self._cpus,
                include_dashboard=False,
                log_to_driver=False,
                configure_logging=False,
                object_store_memory=_OBJECT_STORE_BYTES,
                _temp_dir=str(self.directory),
                _node_ip_address="127.0.0.1",
            )
        except Exception as error:
            self._error = error
        self._has_started.set()
        self._is_over.wait()
        ray.shutdown()

    def wait_for_ray(self, is_stopping: Callable[[], bool]) -> None:
        """Return when Ray runs; raise what kept it from starting, or `StopRequested` when asked to stop."""
        ours = signal.getsignal(signal.SIGTERM)
        has_started = False
        while not has_started:
            has_started = self._has_started.wait(_LOOK_S)
            # Ray's native code takes the signal from whatever thread it is started, and would abort.
            signal.signal(signal.SIGTERM, ours)
            if is_stopping():
                raise StopRequested
        if self._error is not None:
            raise self._error

    def end(self, *, within_s: float) -> bool:
        """Leave Ray, then end its processes: it would ask each in turn, which does not hear it.

        Returns whether it has ended. A Ray that is still starting, or leaving, by then is left alone with its
        directory: its native code would end this process, before it has said how it went, as soon as it found
        either gone.
        """
        processes = processes_of(self.directory)
        self._is_over.set()
        give_up_at = time.monotonic() + within_s
        while self.is_alive() and self._uses_ray() and time.monotonic() < give_up_at:
            self.join(_LOOK_S)
        if self.is_alive() and self._uses_ray():
            return False
        for process in processes:
            process.kill()
        end_processes_of(self.directory)
        self.join(within_s)
        return True

    def _uses_ray(self) -> bool:
        """Tell whether Ray's native code in this process still talks to its other processes, or is about to."""
        module = sys.modules.get("ray._private.worker")
        return not self._has_started.is_set() or hasattr(getattr(module, "global_worker", None), "core_worker")


def _own_directory() -> Path:
    """Make a short-named directory that nobody else can have made, and clear away those of runs that were killed."""
    for old in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = old.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and old.stat().st_uid == os.getuid() and not Path("/proc", owner).exists():
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
