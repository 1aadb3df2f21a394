"""Making environments: the plain ones of the libraries, shaped so that RLlib's networks can read them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import gymnasium
from gymnasium import spaces

from mosaic.errors import BadInput, did_you_mean
from mosaic_rllib.catalog import ACTION_SPACES, PARALLEL_FAMILIES, is_multi_agent
from mosaic_rllib.checkpoint import UNDECIDED
from mosaic_rllib.config import RLlibConfig
from mosaic_rllib.instance import LAST_WORDS
from mosaic_rllib.observations import ReadableTeam, readable

_ATARI = re.compile(r"ALE/|\w+NoFrameskip-v4$")


class EnvironmentFailed(RuntimeError):
    """The environment raised in the middle of an episode."""


class Blamed(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Says that it was the environment that failed, not RLlib around it."""

    def __init__(self, env: gymnasium.Env[Any, Any], env_id: str) -> None:
        super().__init__(env)
        self._env_id = env_id

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Raises:
            EnvironmentFailed: the environment raised.

        """
        try:
            return self.env.reset(seed=seed, options=options)
        except Exception as error:
            raise EnvironmentFailed(_blame(self._env_id, "reset", error)) from error

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Act once; raises as `reset` does."""
        try:
            return self.env.step(action)
        except Exception as error:
            raise EnvironmentFailed(_blame(self._env_id, "step", error)) from error


def make_for_rllib(options: Mapping[str, Any]) -> Any:
    """Make the environment of a run as RLlib wants it; it is called in every process that plays."""
    env_id, kwargs = options["env_id"], dict(options["env_kwargs"])
    if not is_multi_agent(env_id):
        return make_single(env_id, kwargs)
    from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv

    return ParallelPettingZooEnv(make_parallel(env_id, kwargs))


def make_single(env_id: str, kwargs: Mapping[str, Any], *, render_mode: str | None = None) -> gymnasium.Env[Any, Any]:
    """Make the environment *env_id* of Gymnasium, or of a package that registers its own there.

    Raises:
        BadInput: there is none of that name, or it cannot be made so.

    """
    register(env_id)
    # RLlib's own wrapper skips frames, so the game must not.
    told: dict[str, Any] = {"frameskip": 1} if env_id.startswith("ALE/") else {}
    told |= {} if render_mode is None else {"render_mode": render_mode}
    try:
        env = gymnasium.make(env_id, **{**told, **kwargs})
    except (gymnasium.error.Error, TypeError, ImportError) as error:
        raise BadInput(f"env_id {env_id!r}", [first_line(error)]) from error
    return Blamed(_shaped(env, env_id), env_id)


def make_parallel(env_id: str, kwargs: Mapping[str, Any], *, render_mode: str | None = None) -> Any:
    """Make the environment *env_id* of PettingZoo, whose agents act at the same time, as RLlib can read it.

    Raises:
        BadInput: there is none of that name, or it cannot be made so.

    """
    family, _, name = env_id.rpartition("/")
    homes = {family: PARALLEL_FAMILIES[family]} if family in PARALLEL_FAMILIES else PARALLEL_FAMILIES
    home = next((one for one in homes.values() if find_spec(f"{one}.{name}") is not None), None)
    if home is None:
        known = [f"{one}/{module.name}" for one, place in homes.items() for module in _modules_of(place)]
        raise BadInput(f"env_id {env_id!r}", [f"PettingZoo has no such environment{did_you_mean(env_id, known)}"])
    try:
        return ReadableTeam(import_module(f"{home}.{name}").parallel_env(render_mode=render_mode, **kwargs))
    except (TypeError, ImportError, AttributeError) as error:
        raise BadInput(f"env_id {env_id!r}", [first_line(error)]) from error


@dataclass(frozen=True)
class Cast:
    """Who acts in an environment."""

    #: Nobody is named where there is only one.
    agents: tuple[str, ...] = ()
    #: Whether one policy could act for all of them.
    are_alike: bool = True

    def policies(self, asked: str) -> str:
        """Return how policies are shared out among them, which *asked* may leave open."""
        return asked if asked != UNDECIDED else "shared" if self.are_alike else "independent"


def cast_of(config: RLlibConfig) -> Cast:
    """Return who acts in the environment of *config*.

    Raises:
        BadInput: there is no such environment, or the algorithm or the policies cannot act in it.

    """
    is_team = is_multi_agent(config.env_id)
    env: Any = (make_parallel if is_team else make_single)(config.env_id, config.env_kwargs)
    agents = tuple(str(agent) for agent in env.possible_agents) if is_team else ()
    acted = {agent: env.action_space(agent) for agent in agents} if is_team else {"": env.action_space}
    seen = {agent: env.observation_space(agent) for agent in agents}
    env.close()
    faults = _space_faults(config.algo, config.env_id, acted)
    ways = [way for way, spaces_of in (("act", acted), ("see", seen)) if _differ(spaces_of)]
    if ways and config.policies == "shared":
        told = f"the agents of {config.env_id} {' and '.join(ways)} in different ways"
        faults.append(f"{told}, so they cannot share a policy; set policies to independent")
    if faults:
        raise BadInput(f"env_id {config.env_id!r}", faults)
    return Cast(agents, are_alike=not ways)


def _differ(found: Mapping[str, spaces.Space[Any]]) -> bool:
    first, *others = found.values() or [None]
    return any(other != first for other in others)


def last_words() -> str:
    """Return what the last environment to fail in any process of this run said, if there is one."""
    try:
        return Path(os.environ[LAST_WORDS]).read_text(encoding="utf-8")
    except (KeyError, OSError):
        return ""


def _space_faults(algo: str, env_id: str, action_spaces: Mapping[str, spaces.Space[Any]]) -> list[str]:
    able = ACTION_SPACES[algo]
    return [
        f"{algo} cannot act in {env_id}: the actions{f' of {agent}' if agent else ''} are {space}, "
        f"it knows {' and '.join(able)} ones"
        for agent, space in action_spaces.items()
        if _kind_of(space) not in able
    ]


def _kind_of(space: spaces.Space[Any]) -> str:
    kinds = {spaces.Discrete: "discrete", spaces.Box: "continuous", spaces.MultiDiscrete: "multi_discrete"}
    return kinds.get(type(space), type(space).__name__)


def register(env_id: str) -> None:
    """Let Gymnasium know *env_id* where another package has it."""
    if _ATARI.match(env_id):
        gymnasium.register_envs(import_module("ale_py"))
    elif env_id.startswith(("MiniGrid-", "BabyAI-")):
        gymnasium.register_envs(import_module("minigrid"))


def _shaped(env: gymnasium.Env[Any, Any], env_id: str) -> gymnasium.Env[Any, Any]:
    if _ATARI.match(env_id):
        atari = import_module("ray.rllib.env.wrappers.atari_wrappers")
        wrapped: gymnasium.Env[Any, Any] = atari.wrap_atari_for_new_api_stack(env, dim=64, framestack=4)
        return wrapped
    if env_id.startswith("MiniGrid-"):
        env = import_module("minigrid.wrappers").ImgObsWrapper(env)
    elif env_id.startswith("BabyAI-"):
        # The mission is part of what must be known there; this wrapper spells it out.
        env = import_module("minigrid.wrappers").FlatObsWrapper(env)
    return readable(env)


def _modules_of(package: str) -> list[Any]:
    found = import_module(package)
    return [module for module in iter_modules(found.__path__) if is_multi_agent(module.name)]


def _blame(env_id: str, method: str, error: Exception) -> str:
    sentence = f"the environment {env_id} failed in {method}(): {type(error).__name__}: {error}"
    with suppress(KeyError, OSError):
        Path(os.environ[LAST_WORDS]).write_text(sentence, encoding="utf-8")
    return sentence


def first_line(error: Exception) -> str:
    """Return what *error* says in short."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
