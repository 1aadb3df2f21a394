"""Checkpoints: one file that holds all of a run, written whole or not at all.

The file is a pickle, as CleanRL's own models are: load only what your own runs have saved.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from mosaic.errors import BadInput


@dataclass(frozen=True)
class Checkpoint:
    """A run to go on from."""

    script: str
    env_id: str
    seed: int
    step: int
    #: The number that the main loop's variable has next.
    next_turn: int
    #: Since the script's first line, over all attempts.
    elapsed_s: float
    episodes: int
    total_reward: float
    recent_returns: tuple[float, ...]
    #: Every argument of the script, also those it chose itself.
    arguments: Mapping[str, Any]
    #: See `mosaic_cleanrl.state`.
    state: Mapping[str, Any]


def save(checkpoint: Checkpoint, path: Path) -> str:
    """Write *checkpoint* to *path* and return its SHA-256.

    A reader sees the whole file or none, whenever the process or the machine dies.

    Raises:
        OSError: the disk does not take it; nothing is left of the attempt.

    """
    buffer = io.BytesIO()
    torch.save({name: getattr(checkpoint, name) for name in Checkpoint.__dataclass_fields__}, buffer)
    content = buffer.getbuffer()
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    return hashlib.sha256(content).hexdigest()


def load(path: Path) -> Checkpoint:
    """Read what `save` wrote.

    Raises:
        BadInput: the file is not a whole checkpoint of this worker.

    """
    try:
        return Checkpoint(**torch.load(path, map_location="cpu", weights_only=False))
    except Exception as error:
        raise BadInput(str(path), [f"is not a checkpoint of the CleanRL worker: {error}"]) from error


def faults_of(checkpoint: Checkpoint, *, script: str, env_id: str) -> list[str]:
    """Return what keeps a run of *script* on *env_id* from going on from *checkpoint*."""
    pairs = (("algorithm", checkpoint.script, script), ("environment", checkpoint.env_id, env_id))
    return [f"is of {what} {theirs!r}, this run is of {ours!r}" for what, theirs, ours in pairs if theirs != ours]
