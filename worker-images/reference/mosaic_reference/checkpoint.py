"""Checkpoints: one file that holds all of a run as of the end of an episode, written whole or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mosaic.errors import BadInput
from mosaic.worker.library.passport import Passport
from mosaic_reference import __version__


@dataclass(frozen=True)
class Progress:
    """Where a run stands between two episodes; everything but the weights and the generator."""

    env_id: str
    algo: str
    seed: int
    step: int = 0
    episode: int = 0
    total_reward: float = 0.0
    #: Of the newest episodes, for the running mean.
    recent_returns: tuple[float, ...] = ()
    metrics_at: int = 0
    checkpoint_at: int = 0
    #: Of the last evaluation during training.
    evaluated_at: int = 0


@dataclass(frozen=True)
class Checkpoint:
    """A run to go on from, bit by bit as if it had never stopped."""

    progress: Progress
    weights: NDArray[np.float64]
    generator: dict[str, Any]
    passport: Passport


def passport_of(progress: Progress, *, version: str = __version__, settings_digest: str = "") -> Passport:
    """Return the passport of a checkpoint at *progress* that this worker saves, in *version* if not in this one."""
    return Passport(
        worker="reference",
        library="mosaic-reference",
        library_version=version,
        algo=progress.algo,
        env_id=progress.env_id,
        step=progress.step,
        seed=progress.seed,
        settings_digest=settings_digest,
    )


def save(checkpoint: Checkpoint, path: Path) -> str:
    """Write *checkpoint* to *path* and return its SHA-256.

    A reader sees the whole file or none, whenever the process or the machine dies.
    """
    told = {"progress": asdict(checkpoint.progress), "passport": checkpoint.passport.to_dict()}
    document = json.dumps({**told, "generator": checkpoint.generator})
    buffer = io.BytesIO()
    np.savez_compressed(buffer, weights=checkpoint.weights, document=np.array(document))
    content = buffer.getvalue()
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)
    return hashlib.sha256(content).hexdigest()


def load(path: Path) -> Checkpoint:
    """Read what `save` wrote.

    Raises:
        BadInput: the file is not a whole checkpoint of this worker.

    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            weights = arrays["weights"]
            document = json.loads(str(arrays["document"]))
        told = document["progress"]
        progress = Progress(**{**told, "recent_returns": tuple(told["recent_returns"])})
        # Releases before had none in the file.
        known = document.get("passport")
        passport = Passport.from_dict(known) if known else passport_of(progress, version="")
        return Checkpoint(progress, weights, document["generator"], passport)
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise BadInput(str(path), [f"is not a checkpoint of the reference worker: {error}"]) from error
