"""Environments as the scripts make them, watched and, where the script needs it, in the older interface.

Half of the release is written for gym 0.23, half for gymnasium. An environment that gym does not know is
lent to it from gymnasium, which brings MuJoCo v4, Atari and MiniGrid to every script.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np

from mosaic.errors import BadInput, did_you_mean
from mosaic_cleanrl.training import EnvironmentFailed, Episode, Watcher

#: Packages that register their environments when imported, by what their ids begin with.
_FAMILIES: Mapping[str, str] = {"MiniGrid": "minigrid", "BabyAI": "minigrid", "ALE/": "ale_py"}


class Tally:
    """Counts one environment's episode and tells of it when it ends.

    Recorders count in here by themselves: between the large computations of a training, every call made per step
    is made with cold caches and costs a few times what it seems to.
    """

    def __init__(self, watcher: Watcher, env_id: str) -> None:
        self.watcher = watcher
        self._env_id = env_id
        self.played_return, self.played_length = 0.0, 0

    def begin(self) -> None:
        """Note that an episode begins."""
        self.played_return, self.played_length = 0.0, 0

    def end(self, *, terminated: Any, truncated: Any) -> None:
        """Note that the episode has ended."""
        self.watcher.episode_ended(Episode(self.played_return, self.played_length, bool(terminated), bool(truncated)))

    def failure(self, verb: str, error: Exception) -> EnvironmentFailed:
        """Return what to raise when the environment raised *error*."""
        return EnvironmentFailed(self._env_id, verb, self.watcher.step, error)


class Recorder(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Watches a bare gymnasium environment."""

    def __init__(self, env: gymnasium.Env[Any, Any], watcher: Watcher, env_id: str) -> None:
        super().__init__(env)
        self.tally = Tally(watcher, env_id)
        self.last_result: Any = None

    def reset(self, **options: Any) -> Any:
        """Begin an episode."""
        self.tally.begin()
        try:
            return self.env.reset(**options)
        except Exception as error:
            raise self.tally.failure("reset", error) from error

    def step(self, action: Any) -> Any:
        """Act once."""
        tally = self.tally
        if tally.watcher.is_interrupted:
            tally.watcher.obey_soon()
        try:
            self.last_result = result = self.env.step(action)
        except Exception as error:
            raise tally.failure("step", error) from error
        tally.played_return += float(result[1])
        tally.played_length += 1
        if result[2] or result[3]:
            tally.end(terminated=result[2], truncated=result[3])
        return result


class FlatObservation(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Any observation as one array of numbers; a state out of finitely many as one-hot."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        flat = gymnasium.spaces.flatten_space(env.observation_space)
        assert isinstance(flat, gymnasium.spaces.Box)
        self.observation_space = gymnasium.spaces.Box(
            flat.low.astype(np.float32), flat.high.astype(np.float32), flat.shape, np.float32
        )

    def observation(self, observation: Any) -> Any:
        """Return the array."""
        return np.asarray(gymnasium.spaces.flatten(self.env.observation_space, observation), np.float32)


class FromGym(gymnasium.Env[Any, Any]):
    """A gym 0.23 environment in gymnasium's interface."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.observation_space, self.action_space = to_gymnasium(env.observation_space), to_gymnasium(env.action_space)
        self.metadata = {**env.metadata, "render_modes": ["rgb_array"]}
        self.render_mode = "rgb_array"

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        return (self.env.reset(seed=seed) if seed is not None else self.env.reset()), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Act once."""
        observation, reward, done, info = self.env.step(action)
        truncated = bool(info.get("TimeLimit.truncated", False))
        return observation, reward, bool(done) and not truncated, truncated, info

    def render(self) -> Any:
        """Return one picture."""
        return self.env.render(mode="rgb_array")

    def close(self) -> None:
        """Release what the environment holds."""
        self.env.close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)


def old_interface(env: gymnasium.Env[Any, Any]) -> Any:
    """Return *env* in the interface of gym 0.23."""
    return _to_gym_class()(env)


@cache
def _to_gym_class() -> Any:
    import gym

    class ToGym(gym.Env):  # type: ignore[misc]
        """A gymnasium environment in gym 0.23's interface."""

        spec = None

        def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
            self.env = env
            self.metadata = {"render_modes": ["rgb_array"]}
            self.observation_space, self.action_space = to_gym(env.observation_space), to_gym(env.action_space)
            self.next_seed: int | None = None

        def seed(self, seed: int | None = None) -> list[int | None]:
            self.next_seed = seed
            return [seed]

        def reset(self, *, seed: int | None = None, return_info: bool = False, options: Any = None) -> Any:
            chosen, self.next_seed = (self.next_seed if seed is None else seed), None
            observation, info = self.env.reset(seed=chosen)
            return (observation, info) if return_info else observation

        def step(self, action: Any) -> tuple[Any, Any, bool, dict[str, Any]]:
            observation, reward, terminated, truncated, info = self.env.step(action)
            if truncated and not terminated:
                info["TimeLimit.truncated"] = True
            return observation, reward, bool(terminated or truncated), info

        def render(self, mode: str = "rgb_array", **options: Any) -> Any:
            return self.env.render()

        def close(self) -> None:
            self.env.close()

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__") or name == "env":
                raise AttributeError(name)
            return getattr(self.env.unwrapped, name)

    return ToGym


@cache
def _gym_recorder_class() -> Any:
    import gym

    class GymRecorder(gym.Wrapper):  # type: ignore[misc]
        """Watches a bare environment of gym 0.23, without the cost of two adapters."""

        def __init__(self, env: Any, watcher: Watcher, env_id: str) -> None:
            super().__init__(env)
            self.tally = Tally(watcher, env_id)

        def reset(self, **options: Any) -> Any:
            self.tally.begin()
            try:
                return self.env.reset(**options)
            except Exception as error:
                raise self.tally.failure("reset", error) from error

        def step(self, action: Any) -> Any:
            tally = self.tally
            if tally.watcher.is_interrupted:
                tally.watcher.obey_soon()
            try:
                self.last_answer = answer = self.env.step(action)
            except Exception as error:
                raise tally.failure("step", error) from error
            tally.played_return += float(answer[1])
            tally.played_length += 1
            if answer[2]:
                truncated = answer[3].get("TimeLimit.truncated", False)
                tally.end(terminated=not truncated, truncated=truncated)
            return answer

        @property
        def last_result(self) -> Any:
            observation, reward, done, info = self.last_answer
            truncated = done and info.get("TimeLimit.truncated", False)
            return observation, reward, done and not truncated, truncated, info

    return GymRecorder


def to_gymnasium(space: Any) -> gymnasium.Space[Any]:
    """Return a gym space as gymnasium's; those of gymnasium as they are."""
    if isinstance(space, gymnasium.Space):
        return space
    if hasattr(space, "low"):
        return gymnasium.spaces.Box(space.low, space.high, space.shape, space.dtype)
    if hasattr(space, "spaces"):
        return gymnasium.spaces.Tuple(to_gymnasium(part) for part in space.spaces)
    return gymnasium.spaces.Discrete(int(space.n))


def to_gym(space: gymnasium.Space[Any]) -> Any:
    """Return a gymnasium space as gym's."""
    import gym

    if isinstance(space, gymnasium.spaces.Box):
        return gym.spaces.Box(space.low, space.high, space.shape, space.dtype)
    assert isinstance(space, gymnasium.spaces.Discrete)
    return gym.spaces.Discrete(int(space.n))


@contextmanager
def hooked_environments(watcher: Watcher) -> Iterator[None]:
    """Let every environment that a script makes meanwhile be watched."""
    make: Callable[..., Any] = gymnasium.make
    gymnasium.make = lambda env_id, **options: _made(watcher, make, env_id, **options)
    try:
        with _hooked_gym(watcher, make) if watcher.script.api == "gym" else nullcontext():
            yield
    finally:
        gymnasium.make = make


@contextmanager
def _hooked_gym(watcher: Watcher, make: Callable[..., Any]) -> Iterator[None]:
    import gym

    make_old = gym.make
    known = {spec.id for spec in gym.envs.registry.all()}

    def made(env_id: str, **options: Any) -> Any:
        if env_id in known:
            return _watched_old(watcher, make_old(env_id, **options), env_id)
        if watcher.renders:
            # Scripts of this interface say how to render when they render; gymnasium wants to know before.
            options.setdefault("render_mode", "rgb_array")
        return old_interface(_made(watcher, make, env_id, **options))

    gym.make = made
    if "stable_baselines3" in watcher.script.imports:
        _lend_wrappers(importlib.import_module("stable_baselines3.common.atari_wrappers"))
    try:
        yield
    finally:
        gym.make = make_old


def _lend_wrappers(module: ModuleType) -> None:
    """Let the wrappers of *module*, written for gymnasium, take and return environments of gym."""

    def lent(wrapper: Any) -> Callable[..., Any]:
        return lambda env, *arguments, **options: old_interface(wrapper(FromGym(env), *arguments, **options))

    for name, value in list(vars(module).items()):
        if isinstance(value, type) and issubclass(value, gymnasium.Wrapper) and value.__module__ == module.__name__:
            setattr(module, name, lent(value))


def _made(watcher: Watcher, make: Callable[..., Any], env_id: str, **options: Any) -> gymnasium.Env[Any, Any]:
    _register_family(env_id)
    try:
        env = make(env_id, **options)
    except gymnasium.error.Error as error:
        raise BadInput("env_id", [_why_not_made(env_id, error)]) from error
    return _watched(watcher, env, env_id)


def _register_family(env_id: str) -> None:
    for start, module in _FAMILIES.items():
        if env_id.startswith(start):
            importlib.import_module(module)
    if "NoFrameskip" in env_id and env_id not in gymnasium.registry:
        importlib.import_module("ale_py").register_v0_v4_envs()


def _why_not_made(env_id: str, error: Exception) -> str:
    if isinstance(error, gymnasium.error.UnregisteredEnv):
        return f"there is no environment {env_id!r} here{did_you_mean(env_id, gymnasium.registry)}"
    return f"{env_id} cannot be made: {error}"


def _watched(watcher: Watcher, env: gymnasium.Env[Any, Any], env_id: str) -> gymnasium.Env[Any, Any]:
    recorder = Recorder(env, watcher, env_id)
    _check_action_space(watcher, recorder, env_id)
    return _as_array(recorder)


def _watched_old(watcher: Watcher, env: Any, env_id: str) -> Any:
    if not hasattr(env.observation_space, "low"):
        return old_interface(_watched(watcher, FromGym(env), env_id))
    _check_action_space(watcher, FromGym(env), env_id)
    return _gym_recorder_class()(env, watcher, env_id)


def _check_action_space(watcher: Watcher, env: gymnasium.Env[Any, Any], env_id: str) -> None:
    kinds = {"discrete": gymnasium.spaces.Discrete, "continuous": gymnasium.spaces.Box}
    wanted = kinds.get(watcher.script.action_space)
    if wanted is None or isinstance(env.action_space, wanted):
        return
    offered = next((name for name, kind in kinds.items() if isinstance(env.action_space, kind)), "other")
    raise BadInput(
        "env_id",
        [f"{watcher.script.name} needs {watcher.script.action_space} actions, but {env_id} has {offered} ones"],
    )


def _as_array(env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    """Return *env* with observations that are arrays, which is all that CleanRL's networks take."""
    space = env.observation_space
    if isinstance(space, gymnasium.spaces.Box):
        return env
    if isinstance(space, gymnasium.spaces.Dict) and "image" in space.spaces:
        # MiniGrid's mission is text, which no network here reads.
        env = importlib.import_module("minigrid.wrappers").ImgObsWrapper(env)
    return FlatObservation(env)
