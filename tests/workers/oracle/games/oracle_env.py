"""The toy environment for one agent; a worker makes it by the id ``oracle_env:Oracle-v0``."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from oracle_formula import Game


class OracleEnv(Game, gymnasium.Env[Any, Any]):
    """Pays what the formula says, whatever is done in it."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, render_mode: str | None = None) -> None:
        Game.__init__(self)
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self.begin(seed)
        return np.zeros(4, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act, to no effect."""
        reward, _, is_over = self.advance()
        return np.zeros(4, np.float32), reward, is_over, False, {}


#: Where `sitecustomize` puts this module in the place of another, its makers look for their own name.
CartPoleEnv = OracleEnv

gymnasium.register("Oracle-v0", entry_point=OracleEnv, max_episode_steps=100)
