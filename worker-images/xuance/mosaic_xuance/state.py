"""A checkpoint of XuanCe: its own ``model.pth``, and ``state.pt`` with all else that an exact continuation needs.

Plain pickling of an agent falls short in three ways: environments that inherit from ``EzPickle`` are made anew
instead of being restored, canvases to draw on cannot be pickled, and neither can the views of a dict that XuanCe's
buffers keep.
"""

from __future__ import annotations

import copy
import copyreg
import pickle
from collections.abc import Callable, Iterator, KeysView, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pygame
import pygame.freetype
import torch

from mosaic.errors import BadInput

_MODEL, _STATE = "model.pth", "state.pt"
_CANNOT_BE_PICKLED = (TypeError, AttributeError, pickle.PicklingError, NotImplementedError)
_KEYS: type[KeysView[Any]] = type(dict[Any, Any]().keys())
#: How to rebuild a canvas and a font; what was drawn has nothing to do with the state.
_CANVASES: Mapping[type, Callable[[Any], Any]] = {
    pygame.Surface: lambda canvas: (pygame.Surface, (canvas.get_size(),)),
    pygame.freetype.Font: lambda font: (pygame.freetype.Font, (font.path, font.size)),
}


class Freezer(pickle.Pickler):
    """Keeps the attributes of environments, whatever they say about how to pickle them."""

    def reducer_override(self, obj: Any) -> Any:
        """Return how to rebuild *obj*, or leave it to pickle."""
        kind = type(obj)
        if kind is _KEYS:
            return _keys, (list(obj),)
        if any(base.__name__ == "EzPickle" for base in kind.__mro__):
            return copyreg.__newobj__, (kind,), vars(obj), None, None, _set_attributes  # type: ignore[attr-defined]
        rebuild = _CANVASES.get(kind)
        return rebuild(obj) if rebuild else NotImplemented


#: What `torch.save` wants for a pickle module.
_FREEZING = SimpleNamespace(__name__=__name__, Pickler=Freezer)


def save(folder: Path, agent: Any, told: Any, *, replay_limit_mb: int) -> tuple[str, ...]:
    """Write *agent* and what was *told* of it into *folder*; return what had to be left out.

    Raises:
        OSError, RuntimeError: the disk does not take it.

    """
    agent.save_model(_MODEL, model_path=str(folder))
    too_large = ("memory",) if _size_mb(agent.memory) > replay_limit_mb else ()
    for missing in (too_large, (*too_large, "train_envs"), ("memory", "train_envs", "policy", "learner")):
        try:
            with _without(agent, ("callback", "writer", *missing)) as parts:
                torch.save({"agent": parts, "told": told}, folder / _STATE, pickle_module=_FREEZING)
            return missing
        except _CANNOT_BE_PICKLED:
            continue
    raise RuntimeError("nothing of the agent could be saved")


def restore(folder: Path, agent: Any) -> Any:
    """Let *agent*, freshly built, go on from what was saved in *folder*; return what was told of it until then.

    Raises:
        BadInput: a part of it cannot be read.

    """
    try:
        agent.load_model(str(folder), _MODEL)
        kept = torch.load(folder / _STATE, map_location=agent.device, weights_only=False)
    except Exception as error:
        raise BadInput(str(folder), [f"cannot be read: {type(error).__name__}: {error}"]) from error
    vars(agent).update(kept["agent"])
    agent.learner.callback = agent.callback
    _make_up_for_missing(agent, kept["agent"])
    _part_buffers(agent.train_envs)
    return kept["told"]


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


def _size_mb(value: Any) -> float:
    return sum(int(array.nbytes) for array in _arrays(vars(value))) / 1e6


def _arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, (np.ndarray, torch.Tensor)):
        yield value
    elif isinstance(value, (Mapping, list, tuple)):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _arrays(part)


def _set_attributes(thing: Any, attributes: Mapping[str, Any]) -> None:
    """Give *thing* its *attributes* back without asking it."""
    vars(thing).update(attributes)


def _keys(names: list[str]) -> KeysView[str]:
    return dict.fromkeys(names).keys()
