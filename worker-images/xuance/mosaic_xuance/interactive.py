"""The greedy policy as one function, for people and programs that ask it for single actions."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from mosaic.errors import BadInput
from mosaic_xuance.library import Settings, make_test_envs


class GreedyPolicy:
    """Chooses actions as XuanCe's agent would in its own tests.

    A single agent takes one observation and returns one action. A team takes observations by agent and
    returns actions by agent.
    """

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self.is_team = hasattr(agent, "agent_keys")
        self._parameters = inspect.signature(agent.get_actions).parameters

    def __call__(self, observation: Any, action_mask: Any = None) -> Any:
        """Return the best known action.

        Raises:
            BadInput: the observation does not fit the environment it was trained on.

        """
        return self._team(observation, action_mask) if self.is_team else self._single(observation)

    def _single(self, observation: Any) -> Any:
        expected = self._agent.observation_space.shape
        given = np.asarray(observation, dtype=np.float32)
        if given.shape != expected:
            raise BadInput("observation", [f"must have the shape {list(expected)}, has {list(given.shape)}"])
        processed = self._agent._process_observation(given[None])
        return self._agent.get_actions(processed, **self._greedily())["actions"][0]

    def _team(self, observation: Any, action_mask: Any) -> Any:
        keys = self._agent.agent_keys
        if not isinstance(observation, dict) or set(observation) != set(keys):
            raise BadInput("observation", [f"must have one entry per agent: {', '.join(keys)}"])
        observations = {key: np.asarray(observation[key], dtype=np.float32) for key in keys}
        masks = [action_mask] if self._agent.use_actions_mask else None
        return self._agent.get_actions(obs_dict=[observations], avail_actions_dict=masks, **self._greedily())[
            "actions"
        ][0]

    def _greedily(self) -> dict[str, Any]:
        wanted = {"test_mode": True, "deterministic": True}
        return {name: value for name, value in wanted.items() if name in self._parameters}


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
