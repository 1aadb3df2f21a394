"""Building XuanCe's environments and agents from a config."""

from __future__ import annotations

import os
import traceback
from argparse import Namespace
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import torch
from gymnasium.spaces import Box
from xuance.common import get_arguments
from xuance.environment import REGISTRY_VEC_ENV, make_envs
from xuance.environment.vector_envs import DummyVecMultiAgentEnv
from xuance.torch.agents import REGISTRY_Agents

from mosaic.errors import BadInput
from mosaic.worker.gpu import torch_sees_gpu
from mosaic_xuance.config import TEAM_IN_PROCESS, XuanCeConfig
from mosaic_xuance.registry import register


class EnvironmentFailed(Exception):
    """The environment raised; the learning had no part in it."""

    def __init__(self, env_id: str, step: int, error: Exception) -> None:
        super().__init__(f"the environment {env_id} raised {type(error).__name__} near step {step}: {error}")


class Settings(SimpleNamespace):
    """XuanCe's arguments, with one of its own values set right.

    COMA's learner sets ``huber_delta`` to None and then builds a loss from it that it never uses; the torch
    of today refuses to build it.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        """Keep *value*, but never None for ``huber_delta``."""
        super().__setattr__(name, 1.0 if name == "huber_delta" and value is None else value)


class TeamInProcess(DummyVecMultiAgentEnv):  # type: ignore[misc]
    """Steps the environments of a team one after the other, with what they would get in processes of their own.

    MPE clips the actions it is given in place. In another process it clips a copy; here it would change what the
    learner remembers to have drawn, and PPO would learn from probabilities of other actions.
    """

    def step_async(self, actions: Any) -> None:
        """Take the next actions of all environments, and leave the caller's as they are."""
        super().step_async([dict(by_agent) for by_agent in actions])


REGISTRY_VEC_ENV[TEAM_IN_PROCESS] = TeamInProcess


def use_threads_of_lease() -> None:
    """Let torch compute with as many threads as the run was given, one if nobody said."""
    given = os.environ.get("OMP_NUM_THREADS", "1")
    torch.set_num_threads(int(given) if given.isdigit() and int(given) > 0 else 1)


def arguments(config: XuanCeConfig, overrides: Mapping[str, Any]) -> Settings:
    """Return XuanCe's arguments for *config*: its own defaults, then *overrides*."""
    found = get_arguments(
        config.algo, config.recipe.family.name, config.env_id, parser_args=Namespace(**dict(overrides))
    )
    return Settings(**vars(found))


def make_agent(config: XuanCeConfig, settings: Settings, callback: Any) -> Any:
    """Return XuanCe's agent in its environments.

    Raises:
        BadInput: the environment or the network cannot be made of these settings.

    """
    try:
        register(config.recipe.family.name, config.env_id)
    except ImportError as error:
        raise BadInput(f"env_id {config.env_id}", [f"needs a package that is not installed: {error}"]) from error
    _check_device(config.device)
    try:
        envs = make_envs(settings)
    except Exception as error:
        raise BadInput(f"env_id {config.env_id}", [f"the environment cannot be made: {_words(error)}"]) from error
    try:
        agent = REGISTRY_Agents[settings.agent](settings, envs, callback=callback)
    except Exception as error:
        if isinstance(error, OSError):
            raise
        fault = f"XuanCe cannot build {config.algo} for {config.env_id}, whose actions are {envs.action_space}, "
        fault += f"with policy {getattr(settings, 'policy', None)}: {_words(error)}"
        raise BadInput("algo_params", [fault]) from error
    _seed_action_spaces(agent, settings.seed)
    return agent


def unused_range(settings: Settings, env_id: str, space: Any) -> str:
    """Return what to say of actions that the policy can never choose, nothing if it can choose them all.

    XuanCe squashes actions into -1 to 1. Its wrapper of environments is meant to stretch them to the range of the
    environment, but looks for that range before it is known, and so leaves them as they are.
    """
    if getattr(settings, "activation_action", None) != "tanh" or not isinstance(space, Box):
        return ""
    low, high = float(space.low.min()), float(space.high.max())
    if low >= -1.0 and high <= 1.0:
        return ""
    return (
        f"XuanCe's {settings.agent} chooses actions between -1 and 1 and does not stretch them: {env_id} takes "
        f"{low:g} to {high:g}, so a part of that is hardly or never used, and returns may stay below others'"
    )


def make_test_envs(settings: Settings, seed: int) -> Any:
    """Return one environment of the same kind for one episode of an evaluation."""
    return make_envs(Settings(**{**vars(settings), "parallels": 1, "env_seed": seed}))


def is_fault_of_environment(error: BaseException) -> bool:
    """Tell whether *error* came out of stepping an environment rather than out of learning."""
    frames = traceback.extract_tb(error.__traceback__)
    return any(f"{os.sep}xuance{os.sep}environment{os.sep}" in frame.filename for frame in frames)


def _check_device(device: str | None) -> None:
    # XuanCe itself would take the CPU without a word.
    if device not in (None, "cpu") and not torch_sees_gpu():
        raise BadInput(f"device {device}", ["no GPU can be used here; leave device to the lease, or set it to cpu"])


def _seed_action_spaces(agent: Any, seed: int) -> None:
    """Seed the spaces that teams draw random actions from; XuanCe leaves them unseeded."""
    spaces = agent.action_space
    for index, space in enumerate(spaces.values() if isinstance(spaces, dict) else [spaces]):
        space.seed(seed + index)


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
