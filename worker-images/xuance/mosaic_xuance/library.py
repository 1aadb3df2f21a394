"""Building XuanCe's environments and agents from a config."""

from __future__ import annotations

import math
import os
import traceback
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from gymnasium.spaces import Box
from xuance.common import get_arguments
from xuance.environment import REGISTRY_VEC_ENV, make_envs
from xuance.environment.vector_envs import DummyVecMultiAgentEnv
from xuance.torch.agents import REGISTRY_Agents

from mosaic.errors import BadInput, MosaicError
from mosaic.worker.gpu import torch_sees_gpu
from mosaic.worker.library.failures import EnvironmentFailed, TrainingDiverged
from mosaic_xuance.config import TEAM_IN_PROCESS, XuanCeConfig
from mosaic_xuance.registry import register


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


class TellsEpisodes:
    """For agents that log their episodes as all do, but do not tell their callback of them."""

    #: By XuanCe's names.
    AGENTS = ("CommNet", "IC3Net", "TarMAC")

    def log_infos(self: Any, info: Mapping[str, Any], x_index: int) -> None:
        """Log *info*, and tell the callback if it is about an episode that was played whole."""
        super().log_infos(info, x_index)  # type: ignore[misc]
        for name in info.get("Train-Results/Episode-Steps", ()):
            infos, number = self.train_envs.buf_info, int(name.removeprefix("env-"))
            self.callback.on_train_episode_info(infos=infos, env_id=number, current_step=x_index)


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
    _check_device(config.device)
    try:
        register(config.recipe.family.name, config.env_id)
        envs = make_envs(settings)
    except Exception as error:
        raise BadInput(f"env_id {config.env_id}", [f"the environment cannot be made: {_words(error)}"]) from error
    try:
        agent = _agent_class(settings.agent)(settings, envs, callback=callback)
    except Exception as error:
        if isinstance(error, OSError):
            raise
        fault = f"XuanCe cannot build {config.algo} for {config.env_id}, whose actions are {envs.action_space}, "
        fault += f"with policy {getattr(settings, 'policy', None)}: {_words(error)}"
        raise BadInput("algo_params", [fault]) from error
    # Teams draw random actions from these; XuanCe leaves them unseeded.
    seed_action_spaces(agent, settings.seed)
    return agent


def _agent_class(name: str) -> Any:
    kind = REGISTRY_Agents[name]
    return type(kind.__name__, (TellsEpisodes, kind), {}) if name in TellsEpisodes.AGENTS else kind


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


def action_spaces(agent: Any) -> list[Any]:
    """Return what *agent* acts in, for each of a team."""
    spaces = agent.action_space
    return list(spaces.values()) if isinstance(spaces, Mapping) else [spaces]


def seed_action_spaces(agent: Any, seed: int) -> None:
    """Let what is drawn from the action spaces of *agent* follow from *seed*."""
    for index, space in enumerate(action_spaces(agent)):
        space.seed(seed + index)


def make_test_envs(settings: Settings, seed: int) -> Any:
    """Return one environment of the same kind for one episode of an evaluation."""
    return make_envs(Settings(**{**vars(settings), "parallels": 1, "env_seed": seed}))


@contextmanager
def blamed(agent: Any, env_id: str) -> Iterator[None]:
    """Say whose fault it is that *agent* cannot go on: of its environment, or of weights that are no numbers.

    Raises:
        EnvironmentFailed: the environment raised; the learning had no part in it.
        TrainingDiverged: the weights show first in whatever is raised next.

    """
    try:
        yield
    except MosaicError:
        raise
    except Exception as error:
        step = int(agent.current_step)
        if verb := _asked_of_environment(error):
            raise EnvironmentFailed(env_id, verb, step, error) from error
        if not all(bool(weights.isfinite().all()) for weights in agent.policy.parameters()):
            raise TrainingDiverged("a weight of the policy", math.nan, step) from error
        raise


def _asked_of_environment(error: BaseException) -> str | None:
    """Return what an environment was doing when *error* came out of it, None if it came from elsewhere."""
    frames = traceback.extract_tb(error.__traceback__)
    within = [frame.name for frame in frames if f"{os.sep}xuance{os.sep}environment{os.sep}" in frame.filename]
    return ("reset" if within[-1] == "reset" else "step") if within else None


def _check_device(device: str | None) -> None:
    # XuanCe itself would take the CPU without a word.
    if device not in (None, "cpu") and not torch_sees_gpu():
        raise BadInput(f"device {device}", ["no GPU can be used here; leave device to the lease, or set it to cpu"])


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
