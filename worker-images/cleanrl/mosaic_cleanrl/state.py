"""The whole state of a script between two turns of its main loop, taken from its global variables.

CleanRL keeps everything in plain globals: networks, optimisers, the replay buffer, the environments, the
last observation. What is taken here and given back at the same place of a fresh start of the script lets it
go on, to the bit where the environment's state can be taken too; where it cannot, new episodes begin.
"""

from __future__ import annotations

import pickle
import random
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

State = dict[str, Any]

_PLAIN = (bool, int, float, str, type(None), np.generic)
#: Globals of a script that describe this process and not the training.
_OF_THIS_PROCESS = frozenset({"args", "device", "run_name", "start_time", "writer", "range"})
#: Layers of an environment refer to each other by these; each is visited by itself.
_LINKS = frozenset({"env", "envs", "env_fns", "spec", "_cached_spec", "metadata", "last_result", "last_answer"})
#: What an environment may hold besides data without remembering anything by it: what it is built of or drawn with.
_STATELESS = frozenset({"MjModel", "MujocoRenderer", "Surface", "Clock", "function", "type", "EnumMeta", "EnumType"})
#: Globals of a script that belong to the episodes being played; its observations stand in the first that it has.
_OBSERVATIONS = ("next_obs", "obs")
_OF_THE_EPISODES = frozenset({*_OBSERVATIONS, "next_done"})


def take_progress(scope: Mapping[str, Any], names: frozenset[str]) -> State:
    """Take all that changes while a rollout is played: counters, last observations, generators, environments.

    *names* are the arrays to keep whatever their size; others are kept only if they hold a single number.
    """
    return {
        "scalars": {name: value for name, value in scope.items() if _is_plain_global(name, value)},
        "arrays": {name: _copied(value) for name, value in _arrays(scope) if name in names or _size(value) == 1},
        "generators": _take_generators(),
        "environments": [take_layer(layer) for layer in layers_of(scope.get("envs"))],
    }


def take_learned(scope: Mapping[str, Any], replay_limit_mb: int) -> State:
    """Take what was learned: networks, optimisers, and the replay buffer unless it is too large."""
    buffer = scope.get("rb")
    return {
        "modules": {name: value.state_dict() for name, value in _of(scope, torch.nn.Module)},
        "classes": {name: type(value).__name__ for name, value in _of(scope, torch.nn.Module)},
        "optimizers": {name: value.state_dict() for name, value in _of(scope, torch.optim.Optimizer)},
        "replay": None if buffer is None else _take_replay(buffer, replay_limit_mb),
    }


def give_back(scope: dict[str, Any], state: Mapping[str, Any]) -> bool:
    """Put a script, which has just reached its main loop, where *state* was taken.

    Returns whether its environments are there too; if not, each of them has begun a new episode.
    """
    layers = list(layers_of(scope.get("envs")))
    is_whole = all(can_be_taken(layer) for layer in layers)
    for name, weights in state["modules"].items():
        scope[name].load_state_dict(weights)
    for name, value in state["arrays"].items():
        if is_whole or name not in _OF_THE_EPISODES:
            _give_array(scope, name, value)
    for name, inner in state["optimizers"].items():
        scope[name].load_state_dict(inner)
    scope.update(state["scalars"])
    if state["replay"] is not None:
        _give_replay(scope["rb"], state["replay"])
    for layer, taken in zip(layers, state["environments"], strict=False):
        give_layer(layer, taken if is_whole else _what_outlasts_episodes(layer, taken))
    if not is_whole:
        _begin_episodes(scope)
    # Last, since everything above may have drawn.
    _give_generators(state["generators"])
    return is_whole


def lasting_arrays(scope: Mapping[str, Any]) -> frozenset[str]:
    """Return the arrays that live from one turn of the loop to the next; to be asked before the first.

    The storage of a rollout is filled anew in every turn.
    """
    rollout = (getattr(scope.get("args"), "num_steps", None), getattr(scope.get("args"), "num_envs", None))
    return frozenset(name for name, value in _arrays(scope) if tuple(value.shape[:2]) != rollout)


def take_layer(layer: Any) -> State:
    """Take what an environment or a wrapper remembers, as far as it is data."""
    return {name: taken for name, value in vars(layer).items() if (taken := _take(name, value)) is not None}


def give_layer(layer: Any, taken: Mapping[str, Any]) -> None:
    """Give back what `take_layer` took."""
    for name, (kind, value) in taken.items():
        held = vars(layer).get(name)
        if kind == "generator":
            if held is not None:
                held.bit_generator.state = value
        elif kind == "space":
            held.np_random.bit_generator.state = value
        elif kind == "layer":
            give_layer(held, value)
        else:
            setattr(layer, name, pickle.loads(value))


def can_be_taken(layer: Any) -> bool:
    """Tell whether `take_layer` takes all that *layer* remembers.

    Only of a bare environment is that in doubt: simulators outside of Python keep their state to themselves.
    """
    if "env" in vars(layer) or "envs" in vars(layer):
        return True
    return all(name in _LINKS or _take(name, value) or _is_stateless(value) for name, value in vars(layer).items())


def _is_stateless(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_stateless(item) or _is_data(item) for item in value)
    return type(value).__name__ in _STATELESS


def _what_outlasts_episodes(layer: Any, taken: Mapping[str, Any]) -> State:
    """Return what of *taken* is not about the episode in which it was taken: statistics and generators."""
    return {
        name: (kind, value)
        for name, (kind, value) in taken.items()
        if kind in ("generator", "space") or type(vars(layer).get(name)).__name__ == "RunningMeanStd"
    }


def _begin_episodes(scope: dict[str, Any]) -> None:
    """Let every environment begin an episode that follows from its generator, and show the script how it begins."""
    answer = scope["envs"].reset()
    observations = answer[0] if isinstance(answer, tuple) else answer
    name = next(name for name in _OBSERVATIONS if name in scope)
    _give_array(scope, name, torch.as_tensor(observations) if torch.is_tensor(scope[name]) else observations)


def _take(name: str, value: Any) -> tuple[str, Any] | None:
    if name in _LINKS:
        return None
    if isinstance(value, np.random.Generator):
        return "generator", value.bit_generator.state
    if hasattr(value, "np_random") and hasattr(value, "contains"):
        return "space", value.np_random.bit_generator.state
    if type(value).__name__ in ("RunningMeanStd", "Tally"):
        return "layer", take_layer(value)
    # MuJoCo's simulation knows how to be pickled; anything else that is not data stays what it is.
    if _is_data(value) or type(value).__name__ == "MjData":
        return "data", pickle.dumps(value)
    return None


def _is_data(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject
    if isinstance(value, (list, tuple, set, deque)):
        return all(_is_data(item) for item in value)
    if isinstance(value, dict):
        return all(_is_data(item) for item in value.values())
    return isinstance(value, _PLAIN)


def layers_of(envs: Any) -> Iterator[Any]:
    """Yield a vector of environments and every layer of each of them, always in the same order."""
    if envs is None:
        return
    pending = [envs]
    while pending:
        layer = pending.pop(0)
        yield layer
        pending += list(vars(layer).get("envs", ()))
        if (inner := vars(layer).get("env")) is not None:
            pending.append(inner)


def _is_plain_global(name: str, value: Any) -> bool:
    return isinstance(value, _PLAIN) and not name.startswith("__") and name not in _OF_THIS_PROCESS


def _arrays(scope: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in scope.items():
        if isinstance(value, (torch.Tensor, np.ndarray)):
            yield name, value


def _size(value: Any) -> int:
    return int(value.numel() if isinstance(value, torch.Tensor) else value.size)


def _copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value.copy()


def _give_array(scope: dict[str, Any], name: str, value: Any) -> None:
    held = scope.get(name)
    if isinstance(held, torch.Tensor) and held.shape == value.shape:
        # In place: an optimiser may hold this very tensor.
        held.data.copy_(value)
    else:
        scope[name] = value


def _of(scope: Mapping[str, Any], kind: type) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in scope.items() if isinstance(value, kind))


def _take_replay(buffer: Any, limit_mb: int) -> State | None:
    filled = buffer.buffer_size if buffer.full else buffer.pos
    arrays = {name: value[:filled] for name, value in vars(buffer).items() if isinstance(value, np.ndarray)}
    if sum(array.nbytes for array in arrays.values()) > limit_mb * 2**20:
        return None
    return {"pos": buffer.pos, "full": buffer.full, "arrays": arrays}


def _give_replay(buffer: Any, taken: Mapping[str, Any]) -> None:
    for name, filled in taken["arrays"].items():
        getattr(buffer, name)[: len(filled)] = filled
    buffer.pos, buffer.full = taken["pos"], taken["full"]


def _take_generators() -> State:
    taken = {"python": random.getstate(), "numpy": np.random.get_state(), "torch": torch.get_rng_state()}
    return taken | ({"cuda": torch.cuda.get_rng_state_all()} if torch.cuda.is_available() else {})


def _give_generators(taken: Mapping[str, Any]) -> None:
    random.setstate(taken["python"])
    np.random.set_state(taken["numpy"])
    torch.set_rng_state(taken["torch"])
    if "cuda" in taken and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(taken["cuda"])
