"""Checkpoints: one file that holds all of a run, written whole or not at all.

The file is a pickle, as CleanRL's own models are: load only what your own runs have saved.
"""

from __future__ import annotations

import hashlib
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
    #: Not in checkpoints of older releases.
    updates_logged: int = 0


class _HashedFile:
    """A file to write once, from beginning to end.

    A disk that does not take it is told of by `close`: torch's writer does not survive an error within `write`.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._sha256 = hashlib.sha256()
        self._fault: OSError | None = None

    def write(self, content: bytes) -> int:
        """Take *content*, and drop it after a fault."""
        self._sha256.update(content)
        if self._fault is None:
            try:
                self._file.write(content)
            except OSError as error:
                self._fault = error
        return len(content)

    def flush(self) -> None:
        """Do nothing yet: all of it is flushed by `close`."""

    def close(self) -> str:
        """Wait until the disk has all of it and return its SHA-256."""
        with self._file as file:
            if self._fault is not None:
                raise self._fault
            file.flush()
            os.fsync(file.fileno())
        return self._sha256.hexdigest()


def save(checkpoint: Checkpoint, path: Path) -> str:
    """Write *checkpoint* to *path* and return its SHA-256.

    A reader sees the whole file or none, whenever the process or the machine dies.

    Raises:
        OSError: the disk does not take it; nothing is left of the attempt.

    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    try:
        file = _HashedFile(unfinished)
        torch.save({name: getattr(checkpoint, name) for name in Checkpoint.__dataclass_fields__}, file)
        digest = file.close()
        os.replace(unfinished, path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    return digest


def load(path: Path) -> Checkpoint:
    """Read what `save` wrote.

    Raises:
        BadInput: the file is not a whole checkpoint of this worker.

    """
    try:
        return Checkpoint(**torch.load(path, map_location="cpu", weights_only=False))
    except Exception as error:
        raise BadInput(str(path), [f"is not a checkpoint of the CleanRL worker: {error}"]) from error
