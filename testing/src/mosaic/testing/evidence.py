"""The runs that checks judge: each is made once, when the first check asks for it."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mosaic.errors import WorkerBroken
from mosaic.testing.subject import Subject
from mosaic.worker.emitter import TERMINAL_EVENTS
from mosaic.worker.trial.process import Finished, WorkerProcess
from mosaic.worker.trial.short_config import long_config, nested, with_seed
from mosaic.worker.trial.transcript import payload_of


@dataclass(frozen=True)
class Patience:
    """How long the checks wait."""

    run_s: float = 120.0
    #: The pause between heartbeats that the worker is asked for.
    heartbeat_s: float = 0.5
    #: The longest pause that may come of a loaded machine and not of the worker.
    heartbeat_late_s: float = 3.5
    #: For how long a run is watched for heartbeats after it has started.
    watch_s: float = 5.0
    #: How long a worker may take to end after SIGTERM.
    grace_s: float = 10.0


@dataclass(frozen=True)
class MidpointCheckpoint:
    """A checkpoint that was written while the run still had something to do."""

    path: Path
    #: How many learning values had been printed when it was saved.
    points_before: int


class Evidence:
    """Every run of one worker, lazily."""

    def __init__(self, subject: Subject, scratch: Path, patience: Patience) -> None:
        self.subject = subject
        self.patience = patience
        self._scratch = scratch

    @property
    def config(self) -> Mapping[str, Any]:
        """The config whose run ends soon.

        Raises:
            WorkerBroken: there is none.

        """
        if self.subject.config is None:
            why = self.subject.config_fault or "it has no config schema"
            raise WorkerBroken(self.subject.name, f"no short config is known ({why}); offer get_check_config()")
        return self.subject.config

    @cached_property
    def short_run(self) -> Finished:
        """A whole run, its config in the direct form, which is the one the fleet hands over."""
        return self._run("short", self.config)

    @cached_property
    def nested_run(self) -> Finished:
        """The same run, its config inside a whole run request."""
        return self._run("nested", nested(self.config))

    @cached_property
    def repeated_run(self) -> Finished:
        """The same run once more: the nested one, unless the worker does not know that form."""
        return self.nested_run if self.nested_run.exit_code == 0 else self._run("repeated", self.config)

    @cached_property
    def other_seed_run(self) -> Finished:
        """The same run with another seed."""
        return self._run("other-seed", with_seed(self.config, int(self.config["seed"]) + 1))

    @cached_property
    def dry_run(self) -> Finished:
        """A run that was asked only to check its config."""
        return self._run("dry", self.config, "--dry-run")

    @cached_property
    def stopped_run(self) -> tuple[Finished, bool]:
        """A run that was watched for a while and then sent SIGTERM; and whether it was at work then."""
        with self._start("stopped", self._long_config) as process:
            was_at_work = self._is_at_work_after(process, self.patience.watch_s)
            process.send(signal.SIGTERM)
            return process.finish(self.patience.grace_s), was_at_work

    @cached_property
    def faulted_run(self) -> tuple[Finished, bool]:
        """A run in whose middle a fault was raised; and whether it was at work then."""
        with self._start("faulted", self._long_config, can_fail=True) as process:
            was_at_work = self._is_at_work_after(process, 0.5)
            # Python drops an exception that is raised inside a finalizer, so it is raised again.
            for _attempt in range(3):
                process.send(signal.SIGUSR1)
                process.wait_until(lambda: False, 0.3)
            return process.finish(self.patience.grace_s), was_at_work

    @cached_property
    def midpoint(self) -> MidpointCheckpoint | None:
        """The first checkpoint of the short run after which it still printed values."""
        seen = 0
        run = self.short_run
        total = len(run.stdout.points())
        for index, event in enumerate(run.stdout.events):
            if event["event"] != "checkpoint_saved":
                continue
            seen = len(type(run.stdout)(run.stdout.lines[: self._line_of(index)]).points())
            path = _checkpoint_path(payload_of(event), run.run_dir)
            if path is not None and 0 < seen < total:
                return MidpointCheckpoint(path, seen)
        return None

    @cached_property
    def resumed_run(self) -> Finished:
        """The short run again, continued from its own midpoint in a new directory."""
        midpoint = self.midpoint
        assert midpoint is not None
        copied = self._scratch / "handed-over" / midpoint.path.name
        copied.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if midpoint.path.is_dir() else shutil.copy2)(midpoint.path, copied)
        return self._run("resumed", self.config, env={"MOSAIC_RESUME_FROM": str(copied)})

    def run_with_file(self, label: str, content: str | None) -> Finished:
        """Run with a config file that holds *content*; None leaves the file out."""
        path = self._scratch / f"{label}.json"
        if content is not None:
            path.write_text(content, encoding="utf-8")
        return self._finish(self._command_run(label, path))

    @cached_property
    def _long_config(self) -> dict[str, Any]:
        return long_config(self.config, self.subject.schema)

    def _is_at_work_after(self, process: WorkerProcess, seconds: float) -> bool:
        """Let a run go on for *seconds* after its start and tell whether it is still training."""
        process.wait_until(lambda: process.saw("run_started"), self.patience.run_s)
        process.wait_until(lambda: False, seconds)
        return process.is_alive and not any(process.saw(end) for end in TERMINAL_EVENTS)

    def _line_of(self, event_index: int) -> int:
        """Return the position of the event in the lines it was read from."""
        seen = -1
        for position, line in enumerate(self.short_run.stdout.lines):
            seen += line.event is not None
            if seen == event_index:
                return position
        return len(self.short_run.stdout.lines)

    def _run(
        self, label: str, document: Mapping[str, Any], *arguments: str, env: Mapping[str, str] | None = None
    ) -> Finished:
        return self._finish(self._start(label, document, *arguments, env=env))

    def _start(
        self,
        label: str,
        document: Mapping[str, Any],
        *arguments: str,
        can_fail: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> WorkerProcess:
        path = self._scratch / f"{label}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return self._command_run(label, path, *arguments, can_fail=can_fail, env=env)

    def _command_run(
        self,
        label: str,
        path: Path,
        *arguments: str,
        can_fail: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> WorkerProcess:
        command = self.subject.command("--config", str(path), *arguments, can_fail=can_fail)
        asked = {"MOSAIC_HEARTBEAT_S": str(self.patience.heartbeat_s)}
        return WorkerProcess(command, self._scratch / label, {**self.subject.env, **asked, **(env or {})})

    def _finish(self, process: WorkerProcess) -> Finished:
        with process:
            return process.finish(self.patience.run_s)


def _checkpoint_path(payload: Mapping[str, Any], run_dir: Path) -> Path | None:
    for key in ("checkpoint_path", "path", "checkpoint"):
        if isinstance(payload.get(key), str):
            path = run_dir / payload[key]
            return path if path.exists() else None
    return None
