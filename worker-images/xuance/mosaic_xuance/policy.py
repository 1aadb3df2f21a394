"""Playing a trained policy without learning: single actions, or seeded episodes by XuanCe's own ``test``.

Each episode has an environment of its own and random numbers that follow from its seed; a training goes on afterwards
as if nothing had been played.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import imageio
import numpy as np

from mosaic.errors import BadInput
from mosaic.worker.library.evaluation import PlayedEpisode
from mosaic.worker.library.rng import seed_everything, untouched_generators
from mosaic.worker.library.trainer import Policy
from mosaic_xuance.acting import acting, lent
from mosaic_xuance.config import XuanCeConfig
from mosaic_xuance.library import Settings, action_spaces, blamed, make_test_envs, seed_action_spaces
from mosaic_xuance.narrator import shares_of


class XuanCePolicy(Policy):
    """An agent that only acts. A single one takes an observation; a team takes observations by agent."""

    def __init__(
        self, agent: Any, settings: Settings, config: XuanCeConfig, *, film: Path | None, is_its_own: bool = False
    ) -> None:
        self._agent = agent
        self._settings = settings
        self._config = config
        self._film = film
        self._is_its_own = is_its_own
        self._is_team = hasattr(agent, "agent_keys")
        self.env = None if self._is_team else PlayedAlone(settings)

    def act(self, observation: Any, mask: Any = None) -> Any:
        """Return the action for one *observation*.

        Raises:
            BadInput: it does not fit the environment that the policy was trained on.

        """
        with acting(self._agent, self._config.eval_policy):
            return self._act_as_team(observation, mask) if self._is_team else self._act_alone(observation)

    def play(self, seed: int, obey: Callable[[], None]) -> PlayedEpisode:
        """Play one episode, the first on film if that is wanted."""
        film, self._film = self._film, None
        agent = self._agent
        with _drawing_from(seed, agent), _only_playing(agent, film is not None):
            watched = WatchedEpisode(make_test_envs(self._settings, seed), obey)
            try:
                with blamed(agent, self._config.env_id), acting(agent, self._config.eval_policy):
                    agent.test(test_episodes=1, test_envs=watched.envs, close_envs=False)
            finally:
                watched.envs.close()
        if film is not None and watched.frames:
            film.parent.mkdir(parents=True, exist_ok=True)
            imageio.mimwrite(film, [np.asarray(frame, dtype=np.uint8) for frame in watched.frames], fps=30)
        return watched.told(seed)

    def close(self) -> None:
        """Release the agent, unless it is that of a training."""
        if self._is_its_own:
            self._agent.finish()
            self._agent.train_envs.close()

    def _act_alone(self, observation: Any) -> Any:
        expected = self._agent.observation_space.shape
        given = np.asarray(observation, dtype=np.float32)
        if given.shape != expected:
            raise BadInput("observation", [f"must have the shape {list(expected)}, has {list(given.shape)}"])
        return self._actions(self._agent._process_observation(given[None]))

    def _act_as_team(self, observation: Any, mask: Any) -> Any:
        keys = self._agent.agent_keys
        if not isinstance(observation, dict) or set(observation) != set(keys):
            raise BadInput("observation", [f"must have one entry per agent: {', '.join(keys)}"])
        observations = {key: np.asarray(observation[key], dtype=np.float32) for key in keys}
        masks = [mask] if self._agent.use_actions_mask else None
        return self._actions(obs_dict=[observations], avail_actions_dict=masks)

    def _actions(self, *seen: Any, **named: Any) -> Any:
        takes = inspect.signature(self._agent.get_actions).parameters
        wanted = {name: True for name in ("test_mode", "deterministic") if name in takes}
        return self._agent.get_actions(*seen, **named, **wanted)["actions"][0]


class WatchedEpisode:
    """What can be seen of an episode from its environment, the only one of *envs*; *obey* is asked before each step."""

    def __init__(self, envs: Any, obey: Callable[[], None]) -> None:
        self.envs = envs
        self.frames: list[Any] = []
        self._obey = obey
        self._step, self._render = envs.step, envs.render
        self._length = 0
        self._is_terminated = self._is_truncated = False
        self._score: Any = 0.0
        envs.step, envs.render = self._watched_step, self._watched_render

    def told(self, seed: int) -> PlayedEpisode:
        """Return the episode as it ended."""
        whole, agents = shares_of(self._score)
        return PlayedEpisode(seed, whole, self._length, self._is_terminated, self._is_truncated, agents)

    def _watched_step(self, actions: Any) -> Any:
        self._obey()
        answer = self._step(actions)
        _observations, _rewards, terminated, truncated, infos = answer
        ended = terminated[0]
        self._length += 1
        self._is_terminated = bool(all(ended.values()) if isinstance(ended, Mapping) else ended)
        self._is_truncated = bool(truncated[0])
        self._score = infos[0]["episode_score"]
        return answer

    def _watched_render(self, *how: Any) -> Any:
        pictures = self._render(*how)
        self.frames.append(pictures[0])
        return pictures


class PlayedAlone:
    """One environment of the run's kind, with gymnasium's interface and a seed per episode."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._env: Any = None

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; without a seed the next one of the sequence."""
        if seed is not None or self._env is None:
            chosen = self._settings.seed if seed is None else seed
            self._env = make_test_envs(self._settings, chosen).envs[0]
        observation, info = self._env.reset()
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Act once."""
        observation, reward, terminated, truncated, info = self._env.step(action)
        return observation, reward, terminated, truncated, info


@contextmanager
def _drawing_from(seed: int, agent: Any) -> Iterator[None]:
    """Let everything random, the action spaces of *agent* included, follow from *seed*; then all goes on as before."""
    states = [space.np_random.bit_generator.state for space in action_spaces(agent)]
    with untouched_generators():
        seed_everything(seed)
        seed_action_spaces(agent, seed)
        try:
            yield
        finally:
            for space, state in zip(action_spaces(agent), states, strict=True):
                # The seeding above has put another generator in its place.
                space.np_random.bit_generator.state = state


@contextmanager
def _only_playing(agent: Any, is_filmed: bool) -> Iterator[None]:
    """Keep XuanCe's ``test`` from going on with the statistics of observations, and from telling by itself."""
    with ExitStack() as stack:
        stack.enter_context(lent(agent, render=is_filmed, log_infos=_nothing, log_videos=_nothing))
        stack.enter_context(lent(agent.config, render=is_filmed))
        if hasattr(agent, "obs_rms"):
            stack.enter_context(lent(agent.obs_rms, update=_nothing))
        yield


def _nothing(*_given: Any, **_named: Any) -> None:
    pass
