"""Environments that fail, for the worker to tell about; imported by the worker's own interpreter."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np


class Strange(gymnasium.Env[Any, Any]):
    """An endless walk that goes wrong at a given step."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, trouble: str, at: int = 150) -> None:
        self._trouble, self._at, self._steps = trouble, at, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin again."""
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Go wrong once the time has come."""
        self._steps += 1
        is_time = self._steps >= self._at
        if is_time and self._trouble == "raise":
            raise ValueError("the bridge is out")
        reward = float("nan") if is_time and self._trouble == "nan" else 1.0
        return self.observation_space.sample(), reward, self._steps % 25 == 0, False, {}


gymnasium.register("Raising-v0", entry_point=Strange, kwargs={"trouble": "raise"})
gymnasium.register("NoNumbers-v0", entry_point=Strange, kwargs={"trouble": "nan"})
