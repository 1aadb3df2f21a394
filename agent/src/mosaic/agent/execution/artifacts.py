"""What a run left in its directory: files, their kinds, sizes and hashes."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

#: Hashing stops after so long: a lease is worth more than the hash of the thousandth checkpoint.
HASHING_BUDGET_S = 10.0
MOST_FILES = 2000

_BLOCK = 1024 * 1024
_LARGEST_DOCUMENT = 64 * 1024
_VIDEOS = {".mp4", ".gif", ".webm", ".mkv", ".avi"}
_CHECKPOINTS = {".ckpt", ".pt", ".pth", ".cleanrl_model"}


@dataclass(frozen=True)
class Artifact:
    """One file of a run."""

    #: Relative to the run directory, with forward slashes.
    path: str
    kind: str
    size_bytes: int
    #: None when there was no time to hash it.
    sha256: str | None
    #: What a worker's own manifest says, so that the run's manifest can say it too; None for other files.
    content: Mapping[str, Any] | None = None


def kind_of(path: str) -> str:
    """Return what a file is, judged by where it lies and what it is called."""
    pure = PurePosixPath(path)
    if pure.name.startswith("events.out.tfevents"):
        return "tensorboard"
    # The guides have a worker write `<run_id>_analytics.json` into its working directory.
    if pure.name == "analytics.json" or (len(pure.parts) == 1 and pure.name.endswith("_analytics.json")):
        return "analytics"
    if pure.suffix in _VIDEOS:
        return "video"
    by_folder = {"checkpoints": "checkpoint", "wandb": "wandb", "videos": "video", "config": "config"}
    kind = by_folder.get(pure.parts[0])
    if kind is None:
        kind = "checkpoint" if pure.suffix in _CHECKPOINTS else "file"
    return "log" if kind == "file" and (pure.parts[0] == "logs" or pure.suffix == ".log") else kind


def find_artifacts(directory: Path, *, budget_s: float = HASHING_BUDGET_S, most: int = MOST_FILES) -> list[Artifact]:
    """Return the files below *directory*, newest first hashed, sorted by path.

    A file that vanishes or cannot be read meanwhile is left out. Links are not followed.
    """
    deadline = time.monotonic() + budget_s
    newest = sorted(_files(directory), key=lambda file: file[1].st_mtime, reverse=True)[:most]
    found = []
    for path, stat in newest:
        name = path.relative_to(directory).as_posix()
        try:
            kind = kind_of(name)
            content = _document(path) if kind == "analytics" else None
            found.append(Artifact(name, kind, stat.st_size, _hash(path, deadline), content))
        except OSError:
            continue
    return sorted(found, key=lambda artifact: artifact.path)


def _files(directory: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder, name)
            try:
                stat = path.lstat()
            except OSError:
                continue
            if not path.is_symlink() and path.is_file():
                yield path, stat


def _document(path: Path) -> Mapping[str, Any] | None:
    """Return a small JSON object, or None for anything else."""
    try:
        if path.stat().st_size > _LARGEST_DOCUMENT:
            return None
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _hash(path: Path, deadline: float) -> str | None:
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            if time.monotonic() > deadline:
                return None
            digest.update(block)
    return digest.hexdigest()
