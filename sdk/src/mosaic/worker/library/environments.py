"""Making environments: families that must be registered, what networks can read, and watching what is played."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from mosaic.errors import BadInput, did_you_mean
from mosaic.worker.library.failures import EnvironmentFailed
from mosaic.worker.library.training import Training

#: Packages that register their environments when imported, by what their ids begin with.
_FAMILIES: Mapping[str, str] = {"MiniGrid": "minigrid", "BabyAI": "minigrid", "ALE/": "ale_py"}
#: How many letters of a mission are seen; levels of several sentences have more than MiniGrid's wrapper expects.
_MISSION, _LONG_MISSION = 96, 384
_LONG_MISSIONS = ("Seq", "Boss")


def is_atari(env_id: str) -> bool:
    """Tell whether *env_id* is a game of Atari."""
    return env_id.startswith("ALE/") or "NoFrameskip" in env_id


def register(env_id: str) -> None:
    """Let Gymnasium know *env_id* where another package has it."""
    gymnasium = import_module("gymnasium")
    for start, module in _FAMILIES.items():
        if env_id.startswith(start):
            import_module(module)
    if "NoFrameskip" in env_id and env_id not in gymnasium.registry:
        import_module("ale_py").register_v0_v4_envs()


def check(env_id: str) -> None:
    """Refuse an environment that Gymnasium will not find, without making it.

    Raises:
        BadInput: there is none of that name here.

    """
    gymnasium = import_module("gymnasium")
    module, _, name = env_id.rpartition(":")
    try:
        if module:
            import_module(module)
        register(name)
        gymnasium.spec(name)
    except ImportError as error:
        raise BadInput("env_id", [f"{env_id} cannot be made: {error}"]) from error
    except gymnasium.error.Error as error:
        if isinstance(error, (gymnasium.error.UnregisteredEnv, gymnasium.error.DeprecatedEnv)):
            raise BadInput("env_id", [why_not_made(env_id, error)]) from error
        # A name without a version: the newest is taken when it is made.


def make(env_id: str, **options: Any) -> Any:
    """Make the environment *env_id*; raises as `make_with` does."""
    return make_with(import_module("gymnasium").make, env_id, **options)


def make_with(function: Callable[..., Any], env_id: str, **options: Any) -> Any:
    """Make the environment *env_id* by *function*, which is Gymnasium's own or stands for it.

    Raises:
        BadInput: there is none of that name, or it cannot be made so.

    """
    gymnasium = import_module("gymnasium")
    try:
        register(env_id)
        return function(env_id, **options)
    except (gymnasium.error.Error, ImportError) as error:
        raise BadInput("env_id", [why_not_made(env_id, error)]) from error


def why_not_made(env_id: str, error: Exception) -> str:
    """Return why *env_id* cannot be made, with the nearest name where there is none of that name."""
    gymnasium = import_module("gymnasium")
    if isinstance(error, gymnasium.error.UnregisteredEnv):
        return f"there is no environment {env_id!r} here{did_you_mean(env_id, gymnasium.registry)}"
    return f"{env_id} cannot be made: {error}"


def check_actions(env: Any, env_id: str, algo: str, able: str | None) -> None:
    """Refuse an environment whose actions are not ``discrete`` or ``continuous``, as *algo* is *able* to choose.

    Raises:
        BadInput: *algo* cannot act there.

    """
    spaces = import_module("gymnasium").spaces
    kinds = {"discrete": spaces.Discrete, "continuous": spaces.Box}
    if not able or isinstance(env.action_space, kinds[able]):
        return
    offered = next((name for name, kind in kinds.items() if isinstance(env.action_space, kind)), "other")
    raise BadInput("env_id", [f"{algo} needs {able} actions, but {env_id} has {offered} ones"])


def as_array(env: Any, env_id: str) -> Any:
    """Return *env* with observations that are arrays, which is all that the networks of most libraries take.

    Of MiniGrid its picture is seen, of BabyAI, where it says which of many things to do, also the mission, spelt out.
    """
    spaces = import_module("gymnasium").spaces
    space = env.observation_space
    if isinstance(space, spaces.Box):
        return env
    if isinstance(space, spaces.Dict) and "image" in space.spaces:
        wrappers = import_module("minigrid.wrappers")
        is_long = any(word in env_id for word in _LONG_MISSIONS)
        if env_id.startswith("BabyAI"):
            env = wrappers.FlatObsWrapper(env, maxStrLen=_LONG_MISSION if is_long else _MISSION)
        else:
            env = wrappers.ImgObsWrapper(env)
    return _flat_class()(env)


def watched(env: Any, env_id: str, training: Training | None) -> Any:
    """Return *env*, whose faults say that they are its own, and whose episodes *training* hears of."""
    return _watched_class()(env, env_id, training)


def filmed(env: Any, directory: Path) -> Any:
    """Return *env*, whose first episode is filmed into *directory*."""
    record = import_module("gymnasium.wrappers").RecordVideo
    return record(
        env, str(directory), episode_trigger=lambda number: number == 0, name_prefix="evaluation", disable_logger=True
    )


@cache
def _flat_class() -> Any:
    gymnasium, numpy = import_module("gymnasium"), import_module("numpy")

    class FlatObservation(gymnasium.ObservationWrapper):  # type: ignore[name-defined,misc]
        """Any observation as one array of numbers; a state out of finitely many as one-hot."""

        def __init__(self, env: Any) -> None:
            super().__init__(env)
            flat = gymnasium.spaces.flatten_space(env.observation_space)
            bounds = flat.low.astype(numpy.float32), flat.high.astype(numpy.float32)
            self.observation_space = gymnasium.spaces.Box(*bounds, flat.shape, numpy.float32)

        def observation(self, observation: Any) -> Any:
            return numpy.asarray(gymnasium.spaces.flatten(self.env.observation_space, observation), numpy.float32)

    return FlatObservation


@cache
def _watched_class() -> Any:
    gymnasium = import_module("gymnasium")

    class Watched(gymnasium.Wrapper):  # type: ignore[name-defined,misc]
        """Counts an episode of the bare environment, before any scaling of rewards, and tells of it when it ends."""

        def __init__(self, env: Any, env_id: str, training: Training | None) -> None:
            super().__init__(env)
            self.training = training
            self.env_id = env_id
            self.played_return, self.played_length = 0.0, 0
            #: What the environment said last beside its observation, a mask of actions perhaps.
            self.info: dict[str, Any] = {}

        def reset(self, **options: Any) -> Any:
            self.played_return, self.played_length = 0.0, 0
            try:
                observation, self.info = self.env.reset(**options)
            except Exception as error:
                raise self._failure("reset", error) from error
            return observation, self.info

        def step(self, action: Any) -> Any:
            try:
                result = self.env.step(action)
            except Exception as error:
                raise self._failure("step", error) from error
            self.played_return += float(result[1])
            self.played_length += 1
            self.info = result[4]
            if result[2] or result[3]:
                self._tell(terminated=bool(result[2]), truncated=bool(result[3]))
            return result

        def _tell(self, **ends: Any) -> None:
            if self.training is not None:
                step = self.training.live_step()
                self.training.episode(self.played_return, self.played_length, step=step, **ends)

        def _failure(self, verb: str, error: Exception) -> EnvironmentFailed:
            step = self.training.live_step() if self.training is not None else 0
            return EnvironmentFailed(self.env_id, verb, step, error)

    return Watched
