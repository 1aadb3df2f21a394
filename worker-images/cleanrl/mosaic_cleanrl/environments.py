"""Environments as the scripts make them, watched and, where the script needs it, in the older interface.

Half of the release is written for gym 0.23, half for gymnasium. An environment that gym does not know is
lent to it from gymnasium, which brings MuJoCo v4, Atari and MiniGrid to every script.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from types import ModuleType
from typing import Any

import gymnasium

from mosaic.worker.library.control import Control
from mosaic.worker.library.environments import as_array, check, check_actions, make_with
from mosaic.worker.library.failures import EnvironmentFailed
from mosaic_cleanrl.scripts import Script


class Spectator:
    """Watches the environments of a script: keeps the episodes that they tell of, before any scaling of rewards."""

    #: Where the run stands.
    step = 0

    def __init__(self, script: Script, *, renders: bool = False, control: Control | None = None) -> None:
        """Watch *script*; what its environments should obey within a turn, if anything, *control* knows."""
        self.script = script
        #: Whether pictures of the environments will be asked for.
        self.renders = renders
        self.control = control or Control()
        self.episodes: list[dict[str, Any]] = []

    def episode_ended(self, **ended: Any) -> None:
        """Hear of a finished episode."""
        self.episodes.append(ended)


class Tally:
    """Counts one environment's episode and tells of it when it ends.

    Recorders count in here by themselves: between the large computations of a training, every call made per step
    is made with cold caches and costs a few times what it seems to.
    """

    def __init__(self, watcher: Spectator, env_id: str) -> None:
        #: Looked at in every step.
        self.control = watcher.control
        self._watcher = watcher
        self._env_id = env_id
        self.played_return, self.played_length = 0.0, 0

    def begin(self) -> None:
        """Note that an episode begins."""
        self.played_return, self.played_length = 0.0, 0

    def end(self, *, terminated: Any, truncated: Any) -> None:
        """Note that the episode has ended."""
        ends = {"terminated": bool(terminated), "truncated": bool(truncated)}
        self._watcher.episode_ended(episode_return=self.played_return, length=self.played_length, **ends)

    def failure(self, verb: str, error: Exception) -> EnvironmentFailed:
        """Return what to raise when the environment raised *error*."""
        return EnvironmentFailed(self._env_id, verb, self._watcher.step, error)


class Beginning:
    """What recorders of both interfaces do when an episode begins."""

    env: Any
    tally: Tally

    def reset(self, **options: Any) -> Any:
        """Begin an episode."""
        self.tally.begin()
        try:
            return self.env.reset(**options)
        except Exception as error:
            raise self.tally.failure("reset", error) from error


class Recorder(Beginning, gymnasium.Wrapper[Any, Any, Any, Any]):
    """Watches a bare gymnasium environment."""

    def __init__(self, env: gymnasium.Env[Any, Any], watcher: Spectator, env_id: str) -> None:
        super().__init__(env)
        self.tally = Tally(watcher, env_id)
        self.last_result: Any = None

    def step(self, action: Any) -> Any:
        """Act once."""
        tally = self.tally
        if tally.control.is_interrupted:
            tally.control.obey_soon()
        try:
            self.last_result = result = self.env.step(action)
        except Exception as error:
            raise tally.failure("step", error) from error
        tally.played_return += float(result[1])
        tally.played_length += 1
        if result[2] or result[3]:
            tally.end(terminated=result[2], truncated=result[3])
        return result


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

    class GymRecorder(Beginning, gym.Wrapper):  # type: ignore[misc]
        """Watches a bare environment of gym 0.23, without the cost of two adapters."""

        def __init__(self, env: Any, watcher: Spectator, env_id: str) -> None:
            super().__init__(env)
            self.tally = Tally(watcher, env_id)

        def step(self, action: Any) -> Any:
            tally = self.tally
            if tally.control.is_interrupted:
                tally.control.obey_soon()
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
def hooked_environments(watcher: Spectator) -> Iterator[None]:
    """Let every environment that a script makes meanwhile be watched, and by nobody who watched before."""
    before: Callable[..., Any] = gymnasium.make
    make = _unwatched(before)
    gymnasium.make = _hook(make, lambda env_id, **options: _made(watcher, make, env_id, **options))
    try:
        with _hooked_gym(watcher, make) if watcher.script.api == "gym" else nullcontext():
            yield
    finally:
        gymnasium.make = before


def _hook(make: Callable[..., Any], hook: Any) -> Any:
    hook.unwatched = make
    return hook


def _unwatched(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return the library's own function where *make* is a hook of ours."""
    found: Callable[..., Any] = getattr(make, "unwatched", make)
    return found


@contextmanager
def _hooked_gym(watcher: Spectator, make: Callable[..., Any]) -> Iterator[None]:
    import gym

    before = gym.make
    make_old = _unwatched(before)
    known = _known_to_gym()

    def made(env_id: str, **options: Any) -> Any:
        if env_id in known:
            return _watched_old(watcher, make_old(env_id, **options), env_id)
        if watcher.renders:
            # Scripts of this interface say how to render when they render; gymnasium wants to know before.
            options.setdefault("render_mode", "rgb_array")
        return old_interface(_made(watcher, make, env_id, **options))

    gym.make = _hook(make_old, made)
    if "stable_baselines3" in watcher.script.imports:
        _lend_wrappers(importlib.import_module("stable_baselines3.common.atari_wrappers"))
    try:
        yield
    finally:
        gym.make = before


def _known_to_gym() -> set[str]:
    import gym

    return {spec.id for spec in gym.envs.registry.all()}


def check_env_id(env_id: str, script: Script) -> None:
    """Refuse an environment that *script* will not find, without making it.

    Raises:
        BadInput: there is none of that name here.

    """
    if script.api == "gym" and env_id in _known_to_gym():
        return
    check(env_id)


def _lend_wrappers(module: ModuleType) -> None:
    """Let the wrappers of *module*, written for gymnasium, take and return environments of gym."""

    def lent(wrapper: Any) -> Callable[..., Any]:
        return lambda env, *arguments, **options: old_interface(wrapper(FromGym(env), *arguments, **options))

    for name, value in list(vars(module).items()):
        if isinstance(value, type) and issubclass(value, gymnasium.Wrapper) and value.__module__ == module.__name__:
            setattr(module, name, lent(value))


def _made(watcher: Spectator, make: Callable[..., Any], env_id: str, **options: Any) -> gymnasium.Env[Any, Any]:
    return _watched(watcher, make_with(make, env_id, **options), env_id)


def _watched(watcher: Spectator, env: gymnasium.Env[Any, Any], env_id: str) -> gymnasium.Env[Any, Any]:
    recorder = Recorder(env, watcher, env_id)
    check_actions(recorder, env_id, watcher.script.name, watcher.script.action_space)
    return as_array(recorder, env_id)


def _watched_old(watcher: Spectator, env: Any, env_id: str) -> Any:
    if not hasattr(env.observation_space, "low"):
        return old_interface(_watched(watcher, FromGym(env), env_id))
    check_actions(FromGym(env), env_id, watcher.script.name, watcher.script.action_space)
    return _gym_recorder_class()(env, watcher, env_id)
