"""Environments that fail, dawdle or keep count, for the worker to tell about; imported by its own interpreter."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

#: Where environments write down the episodes they have seen to their end, in the directory of the run.
PLAYED = "played.jsonl"


def note_played(episode_return: float, length: int) -> None:
    """Write one episode down, whatever process it was played in."""
    with (Path(os.environ["MOSAIC_RUN_DIR"]) / PLAYED).open("a") as file:
        file.write(json.dumps([episode_return, length]) + "\n")


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


class Slow(gymnasium.Env[Any, Any]):
    """Takes its time for every step; episodes of five, six, ... ten steps in turn, each step paid with a half."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, step_s: float = 0.02, fails_in: int | None = None) -> None:
        self._step_s, self._episode, self._steps = step_s, 0, 0
        self._fails_in = fails_in

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin again."""
        super().reset(seed=seed)
        self._episode, self._steps = self._episode + 1, 0
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Dawdle."""
        if self._episode == self._fails_in:
            raise ValueError("the road is long")
        time.sleep(self._step_s)
        self._steps += 1
        is_over = self._steps >= 5 + self._episode % 6
        return np.zeros(2, np.float32), 0.5, is_over, False, {}


gymnasium.register("Slow-v0", entry_point=Slow)
gymnasium.register("SlowThenRaising-v0", entry_point=Slow, kwargs={"step_s": 0.01, "fails_in": 40})
gymnasium.register("Raising-v0", entry_point=Strange, kwargs={"trouble": "raise"})
gymnasium.register("NoNumbers-v0", entry_point=Strange, kwargs={"trouble": "nan"})
