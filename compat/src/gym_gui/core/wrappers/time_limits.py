"""Ending episodes after a number of steps or seconds."""

from __future__ import annotations

import math
import time
from typing import Any

import gymnasium
from gymnasium.wrappers import TimeLimit


class EpisodeTimeLimitSeconds(gymnasium.Wrapper):
    """Truncates an episode that has lasted too long by the clock on the wall."""

    def __init__(self, env: gymnasium.Env[Any, Any], max_episode_seconds: float) -> None:
        """Allow each episode *max_episode_seconds*, which must be positive."""
        if max_episode_seconds <= 0:
            raise ValueError(f"max_episode_seconds must be positive, is {max_episode_seconds}")
        super().__init__(env)
        self.max_episode_seconds = float(max_episode_seconds)
        self._deadline = math.inf

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode and its time."""
        beginning = super().reset(seed=seed, options=options)
        self._deadline = time.perf_counter() + self.max_episode_seconds
        return beginning

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step, and truncate when the time is up; ``info`` then says so."""
        observation, reward, terminated, truncated, info = super().step(action)
        if not (terminated or truncated) and time.perf_counter() >= self._deadline:
            truncated = True
            info = {**info, "time_limit_reached": True, "time_limit_seconds": self.max_episode_seconds}
        return observation, float(reward), terminated, truncated, info


TimeLimitSeconds = EpisodeTimeLimitSeconds


def configure_step_limit(env: gymnasium.Env[Any, Any], max_episode_steps: int | None) -> gymnasium.Env[Any, Any]:
    """Set the step limit of *env*, adding one where there is none; None lifts it."""
    wrapper: Any = env
    while wrapper is not None and not isinstance(wrapper, TimeLimit):
        wrapper = getattr(wrapper, "env", None)
    if wrapper is not None:
        limit: Any = math.inf if max_episode_steps is None else int(max_episode_steps)
        wrapper._max_episode_steps = limit
        return env
    return env if max_episode_steps is None else TimeLimit(env, int(max_episode_steps))
