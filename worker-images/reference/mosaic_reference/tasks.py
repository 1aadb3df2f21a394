"""The environments, and how what the agent sees becomes a few active features.

A tabular environment has one feature per state, exactly one of them active. A continuous one is covered by
several shifted grids (tilings); one tile of each is active. The learners see only the active indices, so one
learner serves both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray

#: For environments that set no limit themselves.
_LONGEST_EPISODE = 1_000

Features = NDArray[np.int64]


@dataclass(frozen=True)
class Tiling:
    """How finely a box of observations is cut; values outside count as its edge."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    bins: int
    tilings: int


@dataclass(frozen=True)
class Task:
    """One environment and settings with which it is learned well."""

    env_id: str
    learning_rate: float
    gamma: float
    trace_decay: float
    epsilon: tuple[float, float]
    #: None for environments with a finite number of states.
    tiling: Tiling | None = None


_CART_POLE = Tiling(low=(-2.4, -3.0, -0.21, -3.0), high=(2.4, 3.0, 0.21, 3.0), bins=6, tilings=8)
_MOUNTAIN_CAR = Tiling(low=(-1.2, -0.07), high=(0.6, 0.07), bins=8, tilings=8)

TASKS: Mapping[str, Task] = {
    task.env_id: task
    for task in (
        Task("CartPole-v1", 0.3, 0.99, 0.9, (0.1, 0.0), tiling=_CART_POLE),
        Task("MountainCar-v0", 0.5, 1.0, 0.9, (0.0, 0.0), tiling=_MOUNTAIN_CAR),
        Task("FrozenLake-v1", 0.2, 0.99, 0.0, (1.0, 0.02)),
        Task("FrozenLake8x8-v1", 0.2, 0.995, 0.0, (1.0, 0.02)),
        Task("CliffWalking-v1", 0.5, 1.0, 0.0, (0.1, 0.01)),
        Task("Taxi-v4", 0.5, 0.99, 0.0, (0.3, 0.01)),
    )
}


class Encoder(Protocol):
    """Turns an observation into the indices of its active features."""

    size: int
    active: int

    def encode(self, observation: Any) -> Features:
        """Return the ``active`` indices, each below ``size``."""


class OneHot:
    """One feature per state."""

    active = 1

    def __init__(self, states: int) -> None:
        self.size = states
        self._rows = np.arange(states, dtype=np.int64).reshape(states, 1)

    def encode(self, observation: Any) -> Features:
        """Return the state itself."""
        row: Features = self._rows[observation]
        return row


class Tiles:
    """Shifted grids over a box."""

    def __init__(self, tiling: Tiling) -> None:
        self._low = np.array(tiling.low)
        self._scale = tiling.bins / (np.array(tiling.high) - self._low)
        dimensions = len(tiling.low)
        side = tiling.bins + 1
        per_grid = side**dimensions
        # Odd displacements per dimension spread the grids evenly (Sutton and Barto, 9.5.4).
        steps = np.arange(tiling.tilings).reshape(-1, 1) * (2 * np.arange(dimensions) + 1)
        self._shift = (steps % tiling.tilings) / tiling.tilings
        self._strides = side ** np.arange(dimensions)
        self._first = np.arange(tiling.tilings) * per_grid
        self._bins = tiling.bins
        self.active = tiling.tilings
        self.size = tiling.tilings * per_grid

    def encode(self, observation: Any) -> Features:
        """Return one tile of each grid."""
        place = np.clip((observation - self._low) * self._scale, 0.0, self._bins - 1e-9)
        cells = (place + self._shift).astype(np.int64)
        tiles: Features = self._first + cells @ self._strides
        return tiles


def make_env(env_id: str, *, is_slippery: bool) -> gymnasium.Env[Any, Any]:
    """Make the environment; *is_slippery* matters to those that have ice."""
    options = {"is_slippery": is_slippery} if "FrozenLake" in env_id else {}
    # A greedy policy that walks in circles would never end an episode of an environment without a limit.
    limit = gymnasium.spec(env_id).max_episode_steps or _LONGEST_EPISODE
    return gymnasium.make(env_id, max_episode_steps=limit, **options)


def encoder_for(env: gymnasium.Env[Any, Any], task: Task) -> Encoder:
    """Return the features of *task*."""
    if task.tiling is not None:
        return Tiles(task.tiling)
    assert isinstance(env.observation_space, gymnasium.spaces.Discrete)
    return OneHot(int(env.observation_space.n))
