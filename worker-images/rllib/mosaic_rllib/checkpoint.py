"""Checkpoints: RLlib's own directory and a run's counters in one archive, written whole or not at all."""

from __future__ import annotations

import io
import json
import os
import tarfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mosaic.errors import BadInput
from mosaic.worker.checkpoints import digest_of, mismatches

#: The folder of the archive that RLlib wrote, and the file beside it that this worker wrote.
ALGORITHM = "algorithm"
_PROGRESS = "progress.json"
#: Policies that follow from the environment.
UNDECIDED = "auto"


@dataclass(frozen=True)
class Progress:
    """Where a run stands between two iterations; everything else is in RLlib's own state."""

    algo: str
    env_id: str
    policies: str  #: `UNDECIDED` until the environment has been seen
    seed: int
    step: int = 0
    episode: int = 0
    iteration: int = 0
    checkpoint_at: int = 0
    #: Lengths of all finished episodes together.
    steps_of_episodes: int = 0
    total_reward: float = 0.0
    #: Of the newest episodes, for the running mean.
    recent_returns: tuple[float, ...] = ()


def pack(directory: Path, progress: Progress, path: Path) -> str:
    """Write what RLlib saved in *directory*, and *progress*, to the archive *path*; return its SHA-256.

    A reader sees the whole file or none, whenever the process or the machine dies.

    Raises:
        OSError: it cannot be written; nothing is left behind.

    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    try:
        with unfinished.open("wb") as file:
            with tarfile.open(fileobj=file, mode="w") as archive:
                archive.addfile(*_member(json.dumps(asdict(progress)).encode()))
                archive.add(directory, ALGORITHM)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    return digest_of(path)


def unpack(path: Path, scratch: Path) -> tuple[Path, Progress]:
    """Unfold the archive *path* into *scratch*; return RLlib's directory and the counters.

    Raises:
        BadInput: the file is not a whole checkpoint of this worker.

    """
    try:
        with tarfile.open(path, "r:") as archive:
            archive.extractall(scratch, filter="data")
        told: dict[str, Any] = json.loads((scratch / _PROGRESS).read_text(encoding="utf-8"))
        progress = Progress(**{**told, "recent_returns": tuple(told["recent_returns"])})
    except (OSError, ValueError, KeyError, TypeError, EOFError, tarfile.TarError) as error:
        raise BadInput(str(path), [f"is not a checkpoint of the RLlib worker: {error}"]) from error
    return scratch / ALGORITHM, progress


def mismatch(ours: Progress, theirs: Progress) -> list[str]:
    """Say in which ways a checkpoint is of another kind of run."""
    compared = [(what, getattr(theirs, what), getattr(ours, what)) for what in ("env_id", "algo", "policies")]
    return mismatches(*(one for one in compared if one[2] != UNDECIDED))


def _member(content: bytes) -> tuple[tarfile.TarInfo, io.BytesIO]:
    entry = tarfile.TarInfo(_PROGRESS)
    entry.size = len(content)
    return entry, io.BytesIO(content)
