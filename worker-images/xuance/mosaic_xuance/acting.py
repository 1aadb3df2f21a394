"""How an agent of XuanCe acts in an evaluation: at its best, or with the chance that it has in training."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch.distributions import Categorical, Normal


@contextmanager
def acting(agent: Any, eval_policy: str) -> Iterator[None]:
    """Let *agent* act as *eval_policy* says, and find it afterwards as it was.

    XuanCe's own tests of sac, isac, masac, mfac, mfq and ic3net draw their actions, and that of noisydqn adds noise
    to the weights for good: what they take for granted is seen to here.
    """
    drawing = lent(agent, get_actions=_as_in_training(agent)) if eval_policy == "sample" else _without_chance(agent)
    # Drawing random actions, an agent counts on all its environments; an evaluation has one.
    with _weights_kept(agent.policy), lent(agent, n_envs=1), drawing:
        yield


@contextmanager
def _without_chance(agent: Any) -> Iterator[None]:
    """Let every draw be the most likely one: XuanCe draws actions deep inside its policies."""
    noise = {"noise_scale": 0.0} if getattr(agent, "noise_scale", None) is not None else {}
    with lent(agent, **noise), lent(Categorical, sample=_most_likely), lent(Normal, sample=_middle, rsample=_middle):
        yield


def _most_likely(self: Any, sample_shape: Any = ()) -> Any:
    return torch.argmax(self.logits, dim=-1).expand(self._extended_shape(torch.Size(sample_shape)))


def _middle(self: Any, sample_shape: Any = ()) -> Any:
    return self.loc.expand(self._extended_shape(torch.Size(sample_shape)))


def _as_in_training(agent: Any) -> Callable[..., Any]:
    """Return how *agent* chooses actions in training, whatever the test that calls it asks for."""
    takes = inspect.signature(agent.get_actions).parameters
    wanted = {"test_mode": False, "deterministic": False, "egreedy": getattr(agent, "e_greedy", None)}
    return partial(_forced, agent.get_actions, {name: value for name, value in wanted.items() if name in takes})


def _forced(get_actions: Callable[..., Any], wanted: Mapping[str, Any], *observed: Any, **asked: Any) -> Any:
    return get_actions(*observed, **{**asked, **wanted})


@contextmanager
def _weights_kept(policy: Any) -> Iterator[None]:
    weights = {name: value.clone() for name, value in policy.state_dict().items()}
    try:
        yield
    finally:
        policy.load_state_dict(weights)


@contextmanager
def lent(thing: Any, **attributes: Any) -> Iterator[None]:
    """Give *thing* other *attributes* for a while; those it only inherits are taken away again."""
    own = {name: vars(thing)[name] for name in attributes if name in vars(thing)}
    for name, value in attributes.items():
        setattr(thing, name, value)
    try:
        yield
    finally:
        for name in attributes:
            if name in own:
                setattr(thing, name, own[name])
            else:
                delattr(thing, name)
