"""Making environments: the plain ones of the libraries, shaped so that RLlib's networks can read them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import gymnasium
from gymnasium import spaces
from pettingzoo.utils.wrappers import BaseParallelWrapper

from mosaic.errors import BadInput, did_you_mean
from mosaic.worker.library import environments
from mosaic.worker.library.failures import in_words
from mosaic_rllib.catalog import ACTION_SPACES, PARALLEL_FAMILIES, is_multi_agent
from mosaic_rllib.config import UNDECIDED, RLlibConfig
from mosaic_rllib.instance import LAST_WORDS
from mosaic_rllib.observations import read, readable, readable_space


class Blamed(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Writes down that it was the environment that failed, not RLlib around it."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        with _blame("reset"):
            return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Act once."""
        with _blame("step"):
            return self.env.step(action)


class Team(BaseParallelWrapper[str, Any, Any]):
    """An environment of PettingZoo whose agents see what RLlib's networks can read; it writes down its faults, too."""

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return what *agent* sees."""
        return readable_space(self.env.observation_space(agent))

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin an episode."""
        with _blame("reset"):
            observations, infos = self.env.reset(seed=seed, options=options)
        return self._read(observations), infos

    def step(self, actions: dict[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """Let every agent act once."""
        with _blame("step"):
            observations, *others = self.env.step(actions)
        return self._read(observations), *others

    def _read(self, observations: Mapping[str, Any]) -> dict[str, Any]:
        return {agent: read(self.env.observation_space(agent), seen) for agent, seen in observations.items()}


def make_for_rllib(options: Mapping[str, Any]) -> Any:
    """Make the environment of a run as RLlib wants it; it is called in every process that plays."""
    env_id, kwargs = options["env_id"], dict(options["env_kwargs"])
    if not is_multi_agent(env_id):
        return Blamed(make_single(env_id, kwargs))
    from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv

    return ParallelPettingZooEnv(make_parallel(env_id, kwargs))


def make_single(env_id: str, kwargs: Mapping[str, Any], *, render_mode: str | None = None) -> gymnasium.Env[Any, Any]:
    """Make the environment *env_id* of Gymnasium, or of a package that registers its own there.

    Raises:
        BadInput: there is none of that name, or it cannot be made so.

    """
    # RLlib's own wrapper skips frames, so the game must not.
    told: dict[str, Any] = {"frameskip": 1} if env_id.startswith("ALE/") else {}
    told |= {} if render_mode is None else {"render_mode": render_mode}
    try:
        env = environments.make(env_id, **{**told, **kwargs})
    except TypeError as error:
        raise BadInput("env_kwargs", [first_line(error)]) from error
    if environments.is_atari(env_id):
        atari = import_module("ray.rllib.env.wrappers.atari_wrappers")
        wrapped: gymnasium.Env[Any, Any] = atari.wrap_atari_for_new_api_stack(env, dim=64, framestack=4)
        return wrapped
    return readable(environments.as_array(env, env_id))


def make_parallel(env_id: str, kwargs: Mapping[str, Any], *, render_mode: str | None = None) -> Team:
    """Make the environment *env_id* of PettingZoo, whose agents act at the same time, as RLlib can read it.

    One of another package is named as Gymnasium does it: ``package:name_v0`` is the module ``package.name_v0``.

    Raises:
        BadInput: there is none of that name, or it cannot be made so.

    """
    module = _module_of(env_id)
    try:
        return Team(import_module(module).parallel_env(render_mode=render_mode, **kwargs))
    except (TypeError, ImportError, AttributeError) as error:
        raise BadInput("env_id", [f"{env_id} cannot be made: {first_line(error)}"]) from error


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
        raise BadInput("env_id", faults)
    return Cast(agents, are_alike=not ways)


def _differ(found: Mapping[str, spaces.Space[Any]]) -> bool:
    first, *others = found.values() or [None]
    return any(other != first for other in others)


def last_words() -> dict[str, str]:
    """Return what the last environment to fail in any process of this run was doing and said, if there is one."""
    try:
        words: dict[str, str] = json.loads(Path(os.environ[LAST_WORDS]).read_text(encoding="utf-8"))
    except (KeyError, OSError, ValueError):
        return {}
    return words


@contextmanager
def _blame(verb: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # RLlib does not pass on what was raised in another process.
        with suppress(KeyError, OSError):
            words = {"verb": verb, "what": in_words(error)}
            Path(os.environ[LAST_WORDS]).write_text(json.dumps(words), encoding="utf-8")
        raise


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


def _module_of(env_id: str) -> str:
    """Return the name of the module that makes the environment *env_id* of PettingZoo."""
    if ":" in env_id:
        return env_id.replace(":", ".")
    family, _, name = env_id.rpartition("/")
    homes = {family: PARALLEL_FAMILIES[family]} if family in PARALLEL_FAMILIES else PARALLEL_FAMILIES
    home = next((one for one in homes.values() if find_spec(f"{one}.{name}") is not None), None)
    if home is None:
        known = [f"{one}/{module.name}" for one, place in homes.items() for module in _modules_of(place)]
        raise BadInput("env_id", [f"PettingZoo has no {env_id!r}{did_you_mean(env_id, known)}"])
    return f"{home}.{name}"


def _modules_of(package: str) -> list[Any]:
    found = import_module(package)
    return [module for module in iter_modules(found.__path__) if is_multi_agent(module.name)]


def first_line(error: Exception) -> str:
    """Return what *error* says in short."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
