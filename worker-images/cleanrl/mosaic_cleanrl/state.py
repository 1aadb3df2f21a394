"""The whole state of a script between two turns of its main loop, taken from its global variables.

CleanRL keeps everything in plain globals: networks, optimisers, the replay buffer, the environments, the
last observation. What is taken here and given back at the same place of a fresh start of the script lets it
go on, to the bit where the environment's state can be taken too; where it cannot, new episodes begin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from mosaic.worker.library.snapshots import give_environments, give_replay, is_plain, take_environments, take_replay

State = dict[str, Any]

#: Globals of a script that describe this process and how long it should train, and not the training so far.
_OF_THIS_PROCESS = frozenset({"args", "device", "num_updates", "run_name", "start_time", "writer", "range"})
#: Globals of a script that belong to the episodes being played; its observations stand in the first that it has.
_OBSERVATIONS = ("next_obs", "obs")
_OF_THE_EPISODES = frozenset({*_OBSERVATIONS, "next_done"})


def take_policy(scope: Mapping[str, Any]) -> State:
    """Take what acts: the networks, what wrappers of the environments have learned, and the script's arguments."""
    return {
        "arguments": dict(vars(scope["args"])),
        "modules": {name: value.state_dict() for name, value in _of(scope, torch.nn.Module)},
        "classes": {name: type(value).__name__ for name, value in _of(scope, torch.nn.Module)},
        "environments": take_environments(scope.get("envs")),
    }


def take_rest(scope: Mapping[str, Any], lasting: frozenset[str], replay_limit_mb: int) -> State:
    """Take all else: counters, arrays, optimisers, and the replay buffer unless it is too large.

    Of the arrays those in *lasting* are kept whatever their size, the others only if they hold a single number.
    """
    buffer = scope.get("rb")
    return {
        "scalars": {name: value for name, value in scope.items() if _is_plain_global(name, value)},
        "arrays": {name: value for name, value in _arrays(scope) if name in lasting or _size(value) == 1},
        "optimizers": {name: value.state_dict() for name, value in _of(scope, torch.optim.Optimizer)},
        "replay": None if buffer is None else take_replay(buffer, replay_limit_mb),
    }


def give_back(scope: dict[str, Any], policy: Mapping[str, Any], rest: Mapping[str, Any]) -> list[str]:
    """Put a script, which has just reached its main loop, where *policy* and *rest* were taken.

    Returns what begins anew, in sentences.
    """
    is_whole = give_environments(scope.get("envs"), policy["environments"])
    for name, weights in policy["modules"].items():
        scope[name].load_state_dict(weights)
    for name, value in rest["arrays"].items():
        if is_whole or name not in _OF_THE_EPISODES:
            _give_array(scope, name, value)
    for name, inner in rest["optimizers"].items():
        scope[name].load_state_dict(inner)
    scope.update(rest["scalars"])
    lost = []
    if rest["replay"] is not None:
        give_replay(scope["rb"], rest["replay"])
    elif "rb" in scope:
        lost.append("the replay buffer was too large for the checkpoint and is filled anew")
    if not is_whole:
        _begin_episodes(scope)
        lost.append("the state of these environments cannot be saved, so they begin new episodes")
    return lost


def lasting_arrays(scope: Mapping[str, Any]) -> frozenset[str]:
    """Return the arrays that live from one turn of the loop to the next; to be asked before the first.

    The storage of a rollout is filled anew in every turn.
    """
    rollout = (getattr(scope.get("args"), "num_steps", None), getattr(scope.get("args"), "num_envs", None))
    return frozenset(name for name, value in _arrays(scope) if tuple(value.shape[:2]) != rollout)


def _begin_episodes(scope: dict[str, Any]) -> None:
    """Let every environment begin an episode that follows from its generator, and show the script how it begins."""
    answer = scope["envs"].reset()
    observations = answer[0] if isinstance(answer, tuple) else answer
    name = next(name for name in _OBSERVATIONS if name in scope)
    _give_array(scope, name, torch.as_tensor(observations) if torch.is_tensor(scope[name]) else observations)


def _is_plain_global(name: str, value: Any) -> bool:
    return is_plain(value) and not name.startswith("__") and name not in _OF_THIS_PROCESS


def _arrays(scope: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in scope.items():
        if isinstance(value, (torch.Tensor, np.ndarray)):
            yield name, value


def _size(value: Any) -> int:
    return int(value.numel() if isinstance(value, torch.Tensor) else value.size)


def _give_array(scope: dict[str, Any], name: str, value: Any) -> None:
    held = scope.get(name)
    if isinstance(held, torch.Tensor) and held.shape == value.shape:
        # In place: an optimiser may hold this very tensor.
        held.data.copy_(value)
    else:
        scope[name] = value


def _of(scope: Mapping[str, Any], kind: type) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in scope.items() if isinstance(value, kind))
