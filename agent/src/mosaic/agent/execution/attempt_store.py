"""What an agent must remember across its own death: one directory per attempt.

::

    <root>/<run_id>.<attempt>/
        attempt.json        the launch without its secrets, and the mark of its processes (mode 0600)
        process.json        the child, once it was started
        checkpoint.json     the newest checkpoint it saved
        spool/              its lines, until they are confirmed
        report.json         its terminal report, until it is acknowledged
        acknowledged.json   the same report afterwards; the directory goes when the spool is empty too
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from mosaic.agent.execution.child import Trace
from mosaic.model.attempt import Launch, Report
from mosaic.model.codec import from_json, to_json
from mosaic.processes import Birth


@dataclass(frozen=True)
class Entry:
    """An attempt as it stands on disk."""

    launch: Launch
    mark: str
    #: The child, None when it was never started or could not be written down.
    child: Birth | None = None

    @property
    def trace(self) -> Trace:
        """How what is left of it is found."""
        return Trace(self.mark, self.child.session if self.child else None)


@dataclass(frozen=True)
class Checkpoint:
    """A state that the next attempt can continue from."""

    #: Relative to the run directory.
    path: str
    saved_at: datetime


@dataclass(frozen=True)
class FinalReport:
    """A terminal report together with the lines that close the stream.

    It is saved before the lines are appended: whatever dies in between, both can be finished.
    """

    report: Report
    closing: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class AttemptHome:
    """The directory of one attempt."""

    path: Path

    @property
    def spool(self) -> Path:
        """Where its lines wait."""
        return self.path / "spool"

    def save_entry(self, launch: Launch, mark: str) -> None:
        """Remember what is about to be started; secrets are left out."""
        self.path.mkdir(parents=True, exist_ok=True)
        _write(self.path / "attempt.json", {"launch": to_json(replace(launch, secrets={})), "mark": mark})

    def save_process(self, child: Birth) -> None:
        """Remember the child that was started."""
        _write(self.path / "process.json", asdict(child))

    def entry(self) -> Entry | None:
        """Return what was saved, None when it cannot be read: nothing was started then."""
        saved = _read(self.path / "attempt.json")
        if saved is None:
            return None
        return Entry(_launch(saved["launch"]), saved["mark"], _birth(_read(self.path / "process.json")))

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Remember the newest checkpoint."""
        saved = {"path": checkpoint.path, "saved_at": checkpoint.saved_at.isoformat()}
        _write(self.path / "checkpoint.json", saved)

    def checkpoint(self) -> Checkpoint | None:
        """Return the newest checkpoint, None when there is none."""
        saved = _read(self.path / "checkpoint.json")
        return Checkpoint(saved["path"], datetime.fromisoformat(saved["saved_at"])) if saved else None

    def save_final_report(self, final_report: FinalReport) -> None:
        """Remember how the attempt ended until the scheduler knows."""
        closing = [line.decode("utf-8", "surrogateescape") for line in final_report.closing]
        _write(self.path / "report.json", {"report": to_json(final_report.report), "closing": closing})

    def final_report(self) -> FinalReport | None:
        """Return how the attempt ended, None when it had not."""
        saved = _read(self.path / "report.json") or _read(self.path / "acknowledged.json")
        if saved is None:
            return None
        closing = tuple(line.encode("utf-8", "surrogateescape") for line in saved["closing"])
        return FinalReport(_report(saved["report"]), closing)

    @property
    def is_acknowledged(self) -> bool:
        """Whether the scheduler knows how the attempt ended."""
        return (self.path / "acknowledged.json").exists()

    def acknowledge(self) -> None:
        """Note that the scheduler knows, or does not care."""
        if (self.path / "report.json").exists():
            os.replace(self.path / "report.json", self.path / "acknowledged.json")
        elif self.path.exists():
            _write(self.path / "acknowledged.json", {})

    def remove(self) -> None:
        """Forget the attempt."""
        shutil.rmtree(self.path, ignore_errors=True)


class AttemptStore:
    """All attempts this agent has not finished with."""

    def __init__(self, root: Path) -> None:
        self._root = root
        root.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(PermissionError):
            root.chmod(0o700)

    def home(self, run_id: str, attempt: int) -> AttemptHome:
        """Return where the attempt is remembered, whether it is or not."""
        return AttemptHome(self._root / f"{run_id}.{attempt}")

    def homes(self) -> Iterator[AttemptHome]:
        """Yield every attempt that is remembered."""
        for path in sorted(self._root.iterdir()):
            if path.is_dir():
                yield AttemptHome(path)


def _birth(saved: Mapping[str, Any] | None) -> Birth | None:
    # Older agents wrote down no more than a number, which proves nothing.
    return Birth(**saved) if saved and "boot_id" in saved else None


def _launch(saved: Mapping[str, Any]) -> Launch:
    if "spec" not in saved:
        # Written by an agent of protocol 1; the attempt is over, and no more of it is needed to say so.
        saved = {**saved, "spec": {"worker": saved["worker"]}, "lease": {"cpus": 0, "memory_mb": 0}}
    return from_json(Launch, saved)


def _report(saved: Mapping[str, Any]) -> Report:
    moment = saved.get("checkpoint_at")
    if isinstance(moment, str):  # as agents of protocol 1 wrote it
        saved = {**saved, "checkpoint_at": datetime.fromisoformat(moment).timestamp()}
    return from_json(Report, saved)


def _write(path: Path, content: Mapping[str, Any]) -> None:
    draft = path.with_suffix(".draft")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
        json.dump(content, file)
    os.replace(draft, path)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8", errors="surrogateescape"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None
