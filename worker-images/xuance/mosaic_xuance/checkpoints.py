"""Checkpoints: XuanCe's own model file, and beside it all that an exact continuation needs.

A checkpoint is a directory: ``model.pth`` (and ``obs_rms.npy``) as XuanCe saves them and reads them anywhere,
``about.json`` for people, and ``state.pt`` with the agent itself, its environments and the random generators.
It appears whole or not at all.
"""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mosaic.errors import BadInput
from mosaic_xuance.freezing import FREEZING

MODEL = "model.pth"
_STATE = "state.pt"
_ABOUT = "about.json"
_CANNOT_BE_PICKLED = (TypeError, AttributeError, pickle.PicklingError, NotImplementedError)


@dataclass(frozen=True)
class About:
    """What a checkpoint is of."""

    algo: str
    env_id: str
    seed: int
    step: int
    episodes: int
    xuance: str
    #: Parts of the agent that could not be kept and start anew on resume.
    missing: tuple[str, ...] = ()


def save(path: Path, agent: Any, about: About, extra: Mapping[str, Any], *, replay_limit_mb: int) -> About:
    """Write a checkpoint of *agent* to *path*; return what it is of, with what had to be left out.

    Raises:
        OSError, RuntimeError: it could not be written; nothing is left behind.

    """
    unfinished = path.with_name(f".{path.name}.part")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        agent.save_model(MODEL, model_path=str(unfinished))
        missing = _save_state(unfinished / _STATE, agent, extra, replay_limit_mb)
        about = About(**{**asdict(about), "missing": missing})
        (unfinished / _ABOUT).write_text(json.dumps(asdict(about), indent=1), encoding="utf-8")
        shutil.rmtree(path, ignore_errors=True)
        os.replace(unfinished, path)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return about


def read_about(path: Path) -> About:
    """Return what the checkpoint at *path* is of.

    Raises:
        BadInput: it is not a checkpoint of this worker.

    """
    try:
        told = json.loads((path / _ABOUT).read_text(encoding="utf-8"))
        return About(**{**told, "missing": tuple(told["missing"])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BadInput(str(path), [f"is not a checkpoint of the XuanCe worker: {error}"]) from error


def restore(path: Path, agent: Any) -> dict[str, Any]:
    """Let *agent*, freshly built, go on from the checkpoint at *path*; return what was saved as extra.

    The file holds pickled objects, so only checkpoints of one's own fleet should be given.

    Raises:
        BadInput: a part of it cannot be read.

    """
    try:
        agent.load_model(str(path), MODEL)
        kept = torch.load(path / _STATE, map_location=agent.device, weights_only=False)
    except Exception as error:
        raise BadInput(str(path), [f"cannot be read: {type(error).__name__}: {error}"]) from error
    vars(agent).update(kept["agent"])
    agent.learner.callback = agent.callback
    _make_up_for_missing(agent, kept["agent"])
    _part_buffers(agent.train_envs)
    _set_generators(kept["generators"])
    extra: dict[str, Any] = kept["extra"]
    return extra


def _save_state(path: Path, agent: Any, extra: Mapping[str, Any], replay_limit_mb: int) -> tuple[str, ...]:
    """Save as much of *agent* as can be saved and return what had to be left out."""
    too_large = ("memory",) if _size_mb(agent.memory) > replay_limit_mb else ()
    for missing in (too_large, (*too_large, "train_envs"), ("memory", "train_envs", "policy", "learner")):
        try:
            with _without(agent, ("callback", "writer", *missing)) as parts:
                torch.save(
                    {"agent": parts, "generators": _generators(), "extra": dict(extra)}, path, pickle_module=FREEZING
                )
            return missing
        except _CANNOT_BE_PICKLED:
            continue
    raise RuntimeError("nothing of the agent could be saved")


@contextmanager
def _without(agent: Any, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield the attributes of *agent* but *names*; the learner forgets its callback meanwhile."""
    learner, callback = agent.learner, agent.learner.callback
    learner.callback = None
    try:
        yield {name: value for name, value in vars(agent).items() if name not in names}
    finally:
        learner.callback = callback


def _make_up_for_missing(agent: Any, kept: Mapping[str, Any]) -> None:
    """Make what starts anew fit what goes on."""
    if "train_envs" not in kept and hasattr(agent.memory, "finish_path"):
        # Half a trajectory of environments that are gone cannot be finished.
        agent.memory.clear()
    elif "memory" not in kept:
        agent.start_training += agent.current_step


def _part_buffers(envs: Any) -> None:
    """Let the first step write to buffers of its own.

    XuanCe's loops begin with the very arrays that the environments will write to, so that the first transition
    holds the next observation twice. A run that was never interrupted has that once; resuming must not add one.
    """
    step = envs.step

    def first_step(actions: Any) -> Any:
        for name in ("buf_obs", "buf_state", "buf_avail_actions"):
            if hasattr(envs, name):
                setattr(envs, name, copy.copy(getattr(envs, name)))
        del envs.step
        return step(actions)

    envs.step = first_step


def _generators() -> dict[str, Any]:
    return {"torch": torch.get_rng_state(), "numpy": np.random.get_state(), "python": random.getstate()}


def _set_generators(states: Mapping[str, Any]) -> None:
    torch.set_rng_state(states["torch"].cpu())
    np.random.set_state(states["numpy"])
    random.setstate(states["python"])


def _size_mb(value: Any) -> float:
    return sum(int(array.nbytes) for array in _arrays(vars(value))) / 1e6


def _arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, (np.ndarray, torch.Tensor)):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _arrays(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _arrays(part)
