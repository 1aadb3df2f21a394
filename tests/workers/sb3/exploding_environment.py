"""An environment that fails on purpose; it is imported by the worker's interpreter, by its name."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np


class Exploding(gymnasium.Env[Any, Any]):
    """Raises in its tenth step."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self) -> None:
        self.left = 10

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin."""
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act, until it is too much."""
        self.left -= 1
        if not self.left:
            raise ZeroDivisionError("the cart has no mass")
        return np.zeros(2, np.float32), 1.0, False, False, {}


gymnasium.register(id="Exploding-v0", entry_point="exploding_environment:Exploding")
