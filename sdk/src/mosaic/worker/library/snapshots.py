"""The state of environments and replay buffers in the midst of a training, as data that can be given back.

An environment is a stack of layers (vector, wrappers, the bare one); what each remembers is taken attribute by
attribute. A simulator outside of Python keeps its state to itself: its environment begins a new episode instead.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

State = dict[str, Any]

#: Layers refer to each other by these; each is visited by itself.
_LINKS = frozenset({"env", "envs", "venv", "env_fns", "spec", "_cached_spec", "metadata", "last_result", "last_answer"})
#: What an environment may hold besides data without remembering anything by it: what it is built of or drawn with.
_STATELESS = frozenset({"MjModel", "MujocoRenderer", "Surface", "Clock", "function", "type", "EnumMeta", "EnumType"})
#: Objects that a layer owns and that are nothing but data themselves.
_PARTS = frozenset({"RunningMeanStd", "Tally", "StackedObservations"})


def take_environments(envs: Any) -> list[State]:
    """Take what every layer of *envs* remembers, as far as it is data."""
    return [take_layer(layer) for layer in layers_of(envs)]


def give_environments(envs: Any, taken: list[State]) -> bool:
    """Give *envs* back what was taken, and tell whether that is all of it.

    If it is not, only statistics and generators are given: the environments must begin new episodes.
    """
    layers = list(layers_of(envs))
    is_whole = all(can_be_taken(layer) for layer in layers)
    for layer, state in zip(layers, taken, strict=False):
        give_layer(layer, state if is_whole else _what_outlasts_episodes(layer, state))
    return is_whole


def layers_of(envs: Any) -> Iterator[Any]:
    """Yield a vector of environments and every layer of each of them, always in the same order."""
    pending = [] if envs is None else [envs]
    while pending:
        layer = pending.pop(0)
        yield layer
        pending += list(vars(layer).get("envs", ()))
        pending += [inner for name in ("env", "venv") if (inner := vars(layer).get(name)) is not None]


def take_layer(layer: Any) -> State:
    """Take what an environment or a wrapper remembers, as far as it is data."""
    return {name: taken for name, value in vars(layer).items() if (taken := _take(name, value)) is not None}


def give_layer(layer: Any, taken: Mapping[str, Any]) -> None:
    """Give back what `take_layer` took."""
    for name, (kind, value) in taken.items():
        held = vars(layer).get(name)
        if kind == "generator":
            if held is None:
                # An environment that was never reset has none yet.
                random = import_module("numpy").random
                held = random.Generator(getattr(random, value["bit_generator"])())
                setattr(layer, name, held)
            held.bit_generator.state = value
        elif kind == "space":
            held.np_random.bit_generator.state = value
        elif kind == "layer":
            give_layer(held, value)
        else:
            setattr(layer, name, pickle.loads(value))


def can_be_taken(layer: Any) -> bool:
    """Tell whether `take_layer` takes all that *layer* remembers; only of a bare environment is that in doubt."""
    if any(name in vars(layer) for name in ("env", "envs", "venv")):
        return True
    return all(name in _LINKS or _take(name, value) or _is_stateless(value) for name, value in vars(layer).items())


def take_replay(buffer: Any, limit_mb: int) -> State | None:
    """Take what is in a replay *buffer* of Stable-Baselines3; None where that is more than *limit_mb*."""
    filled = buffer.buffer_size if buffer.full else buffer.pos
    ndarray = import_module("numpy").ndarray
    arrays = {name: value[:filled] for name, value in vars(buffer).items() if isinstance(value, ndarray)}
    if sum(array.nbytes for array in arrays.values()) > limit_mb * 2**20:
        return None
    return {"pos": buffer.pos, "full": buffer.full, "arrays": arrays}


def give_replay(buffer: Any, taken: Mapping[str, Any]) -> None:
    """Give back what `take_replay` took."""
    for name, filled in taken["arrays"].items():
        getattr(buffer, name)[: len(filled)] = filled
    buffer.pos, buffer.full = taken["pos"], taken["full"]


def is_plain(value: Any) -> bool:
    """Tell whether *value* is one number, text or nothing."""
    return isinstance(value, (bool, int, float, str, type(None), import_module("numpy").generic))


def _take(name: str, value: Any) -> tuple[str, Any] | None:
    random = import_module("numpy").random
    if name in _LINKS:
        return None
    if isinstance(value, random.Generator):
        return "generator", value.bit_generator.state
    if hasattr(value, "np_random") and hasattr(value, "contains"):
        return "space", value.np_random.bit_generator.state
    if type(value).__name__ in _PARTS:
        return "layer", take_layer(value)
    # MuJoCo's simulation knows how to be pickled; anything else that is not data stays what it is.
    if _is_data(value) or type(value).__name__ == "MjData":
        return "data", pickle.dumps(value)
    return None


def _is_data(value: Any) -> bool:
    if isinstance(value, import_module("numpy").ndarray):
        return not value.dtype.hasobject
    if isinstance(value, (list, tuple, set, deque)):
        return all(_is_data(item) for item in value)
    if isinstance(value, dict):
        return all(_is_data(item) for item in value.values())
    return is_plain(value)


def _is_stateless(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_stateless(item) or _is_data(item) for item in value)
    return type(value).__name__ in _STATELESS


def _what_outlasts_episodes(layer: Any, taken: Mapping[str, Any]) -> State:
    return {
        name: (kind, value)
        for name, (kind, value) in taken.items()
        if kind in ("generator", "space") or type(vars(layer).get(name)).__name__ == "RunningMeanStd"
    }
