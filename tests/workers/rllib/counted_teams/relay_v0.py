"""Two runners whose pay follows from the length of the episode, written down as it is played."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from strange_environments import note_played

#: What a step pays; the second leaves after `LEAVES_AFTER` steps.
PAY = {"first": 1.0, "second": 10.0}
LEAVES_AFTER = 3


class Relay:
    """A PettingZoo environment in all that the worker asks of one."""

    def __init__(self) -> None:
        self.possible_agents = list(PAY)
        self.agents: list[str] = []
        self._episode, self._steps = 0, 0

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """Return what *agent* sees."""
        return gymnasium.spaces.Box(-1, 1, (2,), np.float32)

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        """Return what *agent* can do."""
        return gymnasium.spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin an episode whose length follows from how many there were."""
        self.agents, self._episode, self._steps = list(PAY), self._episode + 1, 0
        return self._all(np.zeros(2, np.float32)), self._all({})

    def step(self, actions: dict[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """Run on."""
        self._steps += 1
        is_over = self._steps >= 4 + self._episode % 7
        seen, infos = self._all(np.zeros(2, np.float32)), self._all({})
        rewards = {agent: PAY[agent] for agent in self.agents}
        ends = {agent: is_over or (agent == "second" and self._steps == LEAVES_AFTER) for agent in self.agents}
        truncated = self._all(False)
        self.agents = [agent for agent in self.agents if not ends[agent]]
        if is_over:
            note_played(self._steps * PAY["first"] + LEAVES_AFTER * PAY["second"], self._steps)
        return seen, rewards, ends, truncated, infos

    def close(self) -> None:
        """Hold nothing."""

    def _all(self, value: Any) -> dict[str, Any]:
        return dict.fromkeys(self.agents, value)


def parallel_env(render_mode: str | None = None) -> Relay:
    """Make it."""
    return Relay()
