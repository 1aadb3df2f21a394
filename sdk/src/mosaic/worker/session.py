"""One run of one runtime, from its first line to its exit code.

A runtime may tell its own life cycle or leave it to us: whatever it does not say is said for it,
exactly once. See `mosaic.worker.command` for the exit codes.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from mosaic.errors import BadInput
from mosaic.worker.emitter import TelemetryEmitter
from mosaic.worker.library.config import AskedSettings
from mosaic.worker.library.settings import resolve_config
from mosaic.worker.lines import LineWriter, writer_for
from mosaic.worker.manifest import ArtifactsMetadata, CheckpointMetadata, WorkerAnalyticsManifest, read_wandb
from mosaic.worker.plain import plain
from mosaic.worker.protocol import Pausable, Resumable, Stoppable, WorkerConfig, WorkerRuntime

EXIT_OK = 0
EXIT_CRASHED = 1
EXIT_BAD_INPUT = 2
#: Added to the number of the signal that ended the run, as shells do.
EXIT_SIGNALLED = 128
#: How long a runtime may say nothing before its start is announced for it.
ANNOUNCE_AFTER_S = 1.0

_log = logging.getLogger(__name__)


class Stopped(BaseException):
    """A signal ended a run; not an Exception, so that no training loop swallows it."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)


class Session:
    """Runs one runtime and speaks where it is silent."""

    def __init__(
        self,
        config: WorkerConfig,
        worker_type: str,
        *,
        run_dir: Path,
        heartbeat_s: float,
        writes_manifest: bool = True,
        asked: Collection[str] = (),
    ) -> None:
        """Prepare a run in *run_dir* with a sign of life every *heartbeat_s* seconds, or none for 0.

        *asked* names the settings that whoever launched it has set.
        """
        self.config = config
        self.worker_type = worker_type
        self.run_dir = run_dir
        self.heartbeat_s = heartbeat_s
        self.writes_manifest = writes_manifest
        self.asked = asked
        self.emitter = TelemetryEmitter(config.run_id)
        self.summary: dict[str, Any] = {}
        self._writer: LineWriter = writer_for(sys.stdout)
        self._resumed_from: Path | None = None
        self._resume_facts: dict[str, Any] = {}
        self._signal: int | None = None
        self._runtime: WorkerRuntime | None = None

    def execute(self, make_runtime: Callable[[], WorkerRuntime], checkpoint: Path | None) -> int:
        """Build the runtime, resume it from *checkpoint* if it can, run it, and return the exit code."""
        with _Signals(self._note_signal, self._say_pause) as signals:
            try:
                manifest_before = _fingerprint(self._manifest_path)
                runtime = make_runtime()
                self._resume(runtime, checkpoint)
                self._runtime = runtime
                self._writer.prologue = self
                signals.attend(runtime)
                with _Heartbeat(self):
                    self.summary = _as_summary(runtime.run())
                signals.dismiss()
            except BaseException as error:
                signals.dismiss()
                return self._finish_raised(error)
            if self.writes_manifest and _fingerprint(self._manifest_path) == manifest_before:
                self._write_manifest()
            return self._finish_returned()

    def announce(self) -> None:
        """Say that the run has started, on behalf of a runtime that has not."""
        told, config = plain(self._told()), self._effective
        start = {"worker_type": self.worker_type, "seed": config.seed, "config": told}
        if isinstance(told, dict):
            # A runtime that knows what its library makes of them tells of all settings later.
            start["settings"] = resolve_config(told, config.asked if isinstance(config, AskedSettings) else self.asked)
        self.emitter.run_started(start)
        self.follow()

    def follow(self) -> None:
        """Say what the run went on from, unless the runtime has."""
        if self._resumed_from is not None and not self._has_said("checkpoint_loaded"):
            self.emitter.checkpoint_loaded({"checkpoint_path": str(self._resumed_from), **self._resume_facts})

    @property
    def _effective(self) -> WorkerConfig:
        """The config as the runtime has it, which may know more than was asked for: a drawn seed, a resolved null."""
        found = getattr(self._runtime, "config", None)
        return found if isinstance(found, type(self.config)) else self.config

    def _told(self) -> Any:
        """Return the config as it tells itself; one that fails to must not end the training."""
        try:
            return self._effective.to_dict()
        except Exception as error:
            _log.warning("to_dict() of the config failed, its fields are told as they are: %s", error)
            return self.config

    @property
    def _manifest_path(self) -> Path:
        return self.run_dir / "analytics.json"

    def _has_said(self, *events: str) -> bool:
        return any((self.config.run_id, event) in self._writer.seen for event in events)

    def _note_signal(self, number: int) -> None:
        self._signal = number

    def _say_pause(self, paused: bool) -> None:
        # Whoever asked for it waits for this before resorting to SIGSTOP.
        self.emitter.heartbeat({"paused": paused})

    def _resume(self, runtime: WorkerRuntime, checkpoint: Path | None) -> None:
        if checkpoint is None:
            return
        if isinstance(runtime, Resumable):
            self._resume_facts = _as_summary(runtime.resume_from(checkpoint))
            self._resumed_from = checkpoint
        else:
            _log.warning("this worker cannot resume; %s is left aside and the run starts anew", checkpoint)

    def _finish_returned(self) -> int:
        status = str(self.summary.get("status", "completed"))
        if self._has_said("run_failed"):
            return EXIT_CRASHED
        if self._has_said("run_completed"):
            return EXIT_OK
        if status in ("cancelled", "canceled") or self._signal is not None or self._has_said("run_cancelled"):
            return self._finish_cancelled({"reason": self._why_cancelled(), **self.summary})
        if status == "failed":
            self._begin()
            self.emitter.run_failed(self.summary)
            return EXIT_CRASHED
        self._begin()
        self.emitter.run_completed(self.summary)
        return EXIT_OK

    def _finish_cancelled(self, payload: dict[str, Any]) -> int:
        self._begin()
        if not self._has_said("run_cancelled"):
            self.emitter.run_cancelled(payload)
        return EXIT_OK if self._signal is None else EXIT_SIGNALLED + self._signal

    def _finish_raised(self, error: BaseException) -> int:
        if isinstance(error, Stopped):
            self._signal = error.number
            return self._finish_cancelled({"reason": self._why_cancelled()})
        if isinstance(error, SystemExit):
            return self._finish_exit(error.code)
        return self._finish_failed(error)

    def _finish_failed(self, error: BaseException) -> int:
        is_bad_input = isinstance(error, BadInput)
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        sys.stderr.write(f"{error}\n" if is_bad_input else text)
        self._begin()
        if not self._has_said("run_failed"):
            self.emitter.run_failed({"error": str(error), "error_type": type(error).__name__, "traceback": text})
        return EXIT_BAD_INPUT if is_bad_input else EXIT_CRASHED

    def _finish_exit(self, code: Any) -> int:
        """Take ``sys.exit`` inside the runtime for what the caller of a command would."""
        if code is None or code == 0:
            return self._finish_returned()
        self._begin()
        if not self._has_said("run_failed", "run_cancelled"):
            self.emitter.run_failed({"error": f"the worker left with {code!r}", "error_type": "SystemExit"})
        return code if isinstance(code, int) else EXIT_CRASHED

    def _why_cancelled(self) -> str:
        return f"ended by {signal.Signals(self._signal).name}" if self._signal is not None else "ended early"

    def _begin(self) -> None:
        """Start the stream if nothing has, even for a run that ended before it began."""
        self._writer.prologue = None
        if not self._has_said("run_started"):
            self.announce()

    def _wandb_told(self) -> dict[str, Any] | None:
        told = self.summary.get("wandb")
        name = getattr(self.config, "wandb_run_name", None) or self.config.run_id
        return {"run_name": name, **told} if isinstance(told, dict) and told else None

    def _about(self) -> dict[str, Any]:
        """Return what upstream's manifests tell of a run, as far as its settings say it, and the ids of its form."""
        settings = _as_summary(self._effective.to_dict())
        extras = settings.get("extras")
        told = {**(extras if isinstance(extras, dict) else {}), **settings}
        return {name: told[name] for name in _TOLD if told.get(name)}

    def _write_manifest(self) -> None:
        """Write what the run left behind; the training is done, so a failure here is only logged."""
        try:
            WorkerAnalyticsManifest(
                run_id=self.config.run_id,
                worker_type=self.worker_type,
                artifacts=_artifacts_in(self.run_dir, wandb=self._wandb_told()),
                metadata={"seed": self._effective.seed, "summary": self.summary, **self._about()},
            ).save(self._manifest_path)
        except Exception as error:
            _log.warning("the manifest cannot be written to %s: %s", self._manifest_path, error)


#: Settings that upstream's manifests tell.
_TOLD = ("algo", "algorithm", "method", "env_id", "total_steps", "notes", "agent_id", "worker_id")


class _Signals:
    """Turns SIGTERM and SIGINT into a request to stop, and SIGTSTP and SIGCONT into one to pause.

    Before there is a runtime, for one that cannot be asked, and when asked twice, they end the run by
    `Stopped`. Once the run is over they change nothing any more.
    """

    def __init__(self, note: Callable[[int], None], say_pause: Callable[[bool], None]) -> None:
        self._note = note
        self._say_pause = say_pause
        self._runtime: object = None
        self._was_asked = False
        self._is_over = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> _Signals:
        self._install(signal.SIGTERM, self._stop)
        self._install(signal.SIGINT, self._stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def attend(self, runtime: object) -> None:
        """Let *runtime* know of signals from now on."""
        self._runtime = runtime
        if isinstance(runtime, Pausable):
            self._install(signal.SIGTSTP, self._pause)
            self._install(signal.SIGCONT, self._pause)

    def dismiss(self) -> None:
        """Pass over signals from now on: what remains is short and should be done whole."""
        self._is_over = True

    def _install(self, number: int, handler: Callable[[int, FrameType | None], None]) -> None:
        if threading.current_thread() is threading.main_thread():
            self._previous[number] = signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self._is_over:
            return
        if self._was_asked or not isinstance(self._runtime, Stoppable):
            raise Stopped(number)
        self._was_asked = True
        self._note(number)
        self._runtime.request_stop()

    def _pause(self, number: int, frame: FrameType | None) -> None:
        if isinstance(self._runtime, Pausable) and not self._is_over:
            paused = number == signal.SIGTSTP
            self._runtime.request_pause(paused)
            self._say_pause(paused)


class _Heartbeat:
    """Says at intervals that the process lives, and for how long the runtime has said nothing.

    The second is what tells a long step from a hang: the thread goes on in both.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="mosaic-heartbeat", daemon=True)

    def __enter__(self) -> None:
        if self._session.heartbeat_s <= 0:
            return
        try:
            self._thread.start()
        except RuntimeError as error:
            _log.warning("no heartbeat will be sent, the run goes on without: %s", error)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _beat(self) -> None:
        writer = self._session._writer
        started = quiet_since = time.monotonic()
        if not self._ended.wait(min(ANNOUNCE_AFTER_S, self._session.heartbeat_s)):
            writer.open()
        accepted = writer.accepted
        while not self._ended.wait(self._session.heartbeat_s):
            now = time.monotonic()
            if writer.accepted != accepted:
                accepted, quiet_since = writer.accepted, now
            payload = {"uptime_s": round(now - started, 3), "quiet_s": round(now - quiet_since, 3)}
            self._session.emitter.heartbeat(payload | _memory())


def _as_summary(returned: object) -> dict[str, Any]:
    """Take whatever ``run`` returned, also a dataclass or nothing, as a dict."""
    value = plain(returned)
    if isinstance(value, dict):
        return value
    return {} if value is None else {"result": value}


def _fingerprint(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_ino, status.st_mtime_ns)


def _artifacts_in(run_dir: Path, *, wandb: dict[str, Any] | None) -> ArtifactsMetadata:
    """Name the usual directories of a run that hold files."""
    checkpoints = run_dir / "checkpoints"
    files = sorted(path.name for path in checkpoints.iterdir()) if checkpoints.is_dir() else []
    return ArtifactsMetadata(
        tensorboard=_holding(run_dir, "tensorboard", "events.out.tfevents*"),  # type: ignore[arg-type]
        wandb=read_wandb(wandb),
        checkpoints=CheckpointMetadata("checkpoints", "unknown", files) if files else None,
        logs_dir=_holding(run_dir, "logs"),
        videos_dir=_holding(run_dir, "videos"),
    )


def _holding(run_dir: Path, folder: str, pattern: str = "*") -> str | None:
    """Return *folder* if there is a file of that *pattern* somewhere in it: the agent makes all folders beforehand."""
    return folder if any(path.is_file() for path in (run_dir / folder).rglob(pattern)) else None


def _memory() -> dict[str, float]:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return {}
    return {"memory_mb": round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)}
