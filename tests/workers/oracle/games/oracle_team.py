"""The toy environment for a team, as PettingZoo's parallel environments are made."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from oracle_formula import AGENTS, Game, shares
from pettingzoo import ParallelEnv


class OracleTeam(Game, ParallelEnv[str, Any, Any]):
    """Pays each agent its share of what the formula says, whatever is done in it."""

    metadata: dict[str, Any] = {"name": "oracle_v0", "render_modes": ["rgb_array"]}  # noqa: RUF012
    #: What the libraries ask of a multi-particle environment.
    max_cycles = 100
    state_space = Box(-1.0, 1.0, (4 * len(AGENTS),), np.float32)

    def __init__(self, render_mode: str | None = None, continuous_actions: bool = False) -> None:
        Game.__init__(self)
        self.render_mode = render_mode
        self._actions = Box(0.0, 1.0, (2,), np.float32) if continuous_actions else Discrete(2)
        self.agents: list[str] = []
        self.possible_agents = list(AGENTS)

    def observation_space(self, agent: str) -> Box:
        """Return what *agent* sees."""
        return _SEEN

    def action_space(self, agent: str) -> Box | Discrete:
        """Return what *agent* can do."""
        return self._actions

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode."""
        self.agents = list(AGENTS)
        self.begin(seed)
        return self._seen(), {agent: {} for agent in AGENTS}

    def step(self, actions: Any) -> tuple[dict[str, Any], ...]:
        """Act, to no effect."""
        reward, whole, is_over = self.advance()
        if is_over:
            self.agents = []
        before = whole - reward
        rewards = {agent: part - before for agent, part in shares(whole).items()} if is_over else self._each(reward)
        return self._seen(), rewards, self._each(is_over), self._each(False), self._each({})

    def state(self) -> Any:
        """Return what all agents see."""
        return np.zeros(self.state_space.shape, np.float32)

    def _seen(self) -> dict[str, Any]:
        return {agent: np.zeros(4, np.float32) for agent in AGENTS}

    def _each(self, value: Any) -> dict[str, Any]:
        return dict.fromkeys(AGENTS, value)


_SEEN = Box(-1.0, 1.0, (4,), np.float32)

parallel_env = OracleTeam
