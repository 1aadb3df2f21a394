"""Q-learning, SARSA and expected SARSA over active features, with eligibility traces."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mosaic_reference.tasks import Features

#: Traces weaker than this are cut off.
_FAINT = 0.01


class Learner:
    """Action values as sums of weights of active features, improved after every step.

    Equal construction and equal calls give equal values, to the bit: the generator is part of the state.
    """

    def __init__(
        self,
        *,
        actions: int,
        features: int,
        active: int,
        algo: str,
        learning_rate: float,
        gamma: float,
        trace_decay: float,
        seed: int,
    ) -> None:
        self.weights: NDArray[np.float64] = np.zeros((actions, features))
        self.generator = np.random.default_rng(seed)
        self._features = features
        self._gamma = gamma
        self._rate = learning_rate / active
        self._next_value = _NEXT_VALUE[algo]
        self._is_off_policy = algo == "q_learning"
        decay = gamma * trace_decay
        length = 1 if decay <= _FAINT else math.ceil(math.log(_FAINT) / math.log(min(decay, 0.999)))
        # Oldest first: where a feature comes twice, assignment keeps the newest, which makes the traces replacing.
        self._strengths = np.repeat(decay ** np.arange(length - 1, -1, -1.0), active)
        self._trace = np.empty(0, dtype=np.int64)

    def begin_episode(self) -> None:
        """Forget the traces of the episode before."""
        self._trace = np.empty(0, dtype=np.int64)

    def values(self, features: Features) -> NDArray[np.float64]:
        """Return the value of each action."""
        values: NDArray[np.float64] = self.weights[:, features].sum(axis=1)
        return values

    def act(self, values: NDArray[np.float64], epsilon: float) -> int:
        """Choose the best action, ties at random; with probability *epsilon* any."""
        if epsilon > 0 and self.generator.random() < epsilon:
            return int(self.generator.integers(len(values)))
        best = np.flatnonzero(values == values.max())
        return int(best[0]) if len(best) == 1 else int(best[self.generator.integers(len(best))])

    def learn(
        self,
        features: Features,
        action: int,
        reward: float,
        value: float,
        following: NDArray[np.float64] | None,
        next_action: int,
        epsilon: float,
    ) -> float:
        """Move the estimates towards what was seen and return the error made.

        *following* holds the values of the next state's actions; None when the episode has ended.
        """
        future = 0.0 if following is None else self._next_value(following, next_action, epsilon)
        error = reward + self._gamma * future - value
        self._trace = np.concatenate((self._trace, features + action * self._features))[-len(self._strengths) :]
        flat = self.weights.reshape(-1)
        flat[self._trace] += (self._rate * error) * self._strengths[-len(self._trace) :]
        if self._is_off_policy and following is not None and following[next_action] < following.max():
            # What comes after an exploring action says nothing about the greedy policy (Watkins).
            self.begin_episode()
        return float(error)

    def state(self) -> dict[str, Any]:
        """Return all that changes, as of an episode's boundary."""
        return {"weights": self.weights.copy(), "generator": self.generator.bit_generator.state}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` returned."""
        self.weights[:] = state["weights"]
        self.generator.bit_generator.state = state["generator"]
        self.begin_episode()


def _greedy(following: NDArray[np.float64], _action: int, _epsilon: float) -> float:
    return float(following.max())


def _taken(following: NDArray[np.float64], action: int, _epsilon: float) -> float:
    return float(following[action])


def _expected(following: NDArray[np.float64], _action: int, epsilon: float) -> float:
    return float(epsilon * following.mean() + (1 - epsilon) * following.max())


#: What each algorithm takes the next state to be worth.
_NEXT_VALUE: Mapping[str, Callable[[NDArray[np.float64], int, float], float]] = {
    "q_learning": _greedy,
    "sarsa": _taken,
    "expected_sarsa": _expected,
}
