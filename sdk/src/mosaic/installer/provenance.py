"""Of what the attempts of an agent are made: packages, lock, and the commits of worker and platform.

Asked once, when an agent starts: nothing of it changes while it runs, except a source that is edited meanwhile.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mosaic.worker.installed import origin_of
from mosaic.worker.probe import ProbedWorker, ProbeReport

#: In the root of a worker's environment: how it was made. Installer and images write it last.
RECORD = "mosaic-environment.json"

_PATIENCE_S = 10.0
_DIRTY = "-dirty"


@dataclass(frozen=True)
class Commit:
    """At which commit a source is, and whether it differs from it; both None where nobody knows."""

    commit: str | None = None
    dirty: bool | None = None


@dataclass(frozen=True)
class Revisions:
    """What an image was told when it was built: ``git describe --always --dirty`` of worker and platform."""

    worker: str = ""
    platform: str = ""


def environment_of(worker: ProbedWorker, report: ProbeReport, revisions: Revisions) -> dict[str, Any]:
    """Return what runs of *worker* are made of, for ``attempt_started``."""
    record = read_record(report.python)
    # A source that is imported where it lies may have changed since anybody wrote its commit down.
    here = _commit_of(worker.source, worker.commit)
    recorded = Commit(record.get("commit"), record.get("dirty"))
    sdk = origin_of("mosaic-sdk")
    platform = _commit_of(sdk.directory if sdk.is_editable else "", sdk.commit)
    return {
        "packages": dict(report.packages),
        "lock_digest": record.get("lock_digest"),
        "worker": {
            "version": worker.metadata.get("version"),
            **asdict(_known(here, recorded, read_revision(revisions.worker))),
        },
        "platform": {
            "version": version("mosaic-sdk"),
            **asdict(_known(platform, read_revision(revisions.platform))),
        },
    }


def commit_of(directory: str | Path) -> Commit:
    """Return at which commit *directory* is; a file in it that is new or changed since makes it dirty."""
    commit = _git(directory, "rev-parse", "HEAD")
    changes = _git(directory, "status", "--porcelain", "--", ".") if commit else None
    return Commit(commit, None if changes is None else bool(changes)) if commit else Commit()


def read_revision(text: str) -> Commit:
    """Return which commit a revision as in `Revisions` names."""
    if text in ("", "unknown"):
        return Commit()
    return Commit(text.removesuffix(_DIRTY), text.endswith(_DIRTY))


def read_record(python: str) -> Mapping[str, Any]:
    """Return how the environment of the interpreter *python* was made; nothing if nobody wrote it down."""
    try:
        record = json.loads((Path(python).parent.parent / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def digest_of_lock(lock: Path) -> str:
    """Return the digest by which a lock is told."""
    return f"sha256:{hashlib.sha256(lock.read_bytes()).hexdigest()}"


def _commit_of(source: str, commit: str) -> Commit:
    if source:
        return commit_of(source)
    return Commit(commit, dirty=False) if commit else Commit()


def _known(*commits: Commit) -> Commit:
    return next((one for one in commits if one.commit), Commit())


def _git(directory: str | Path, *arguments: str) -> str | None:
    """Return what git says, None when it is not here or does not know the directory."""
    # Variables of a hook or of a shell in another repository would point it there.
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        answer = subprocess.run(
            ["git", "-C", str(directory), *arguments],
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
            env={**env, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
