"""Playing episodes: to learn from them, or to see what was learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, pstdev
from typing import Any

import gymnasium
import numpy as np

from mosaic_reference.learner import Learner
from mosaic_reference.tasks import Encoder


@dataclass(frozen=True)
class PlayedEpisode:
    """One finished episode."""

    seed: int
    episode_return: float
    length: int
    terminated: bool
    truncated: bool


@dataclass(frozen=True, slots=True)
class Step:
    """What happened in one step of training."""

    #: Counts from 1 in each episode.
    number: int
    action: int
    observation: Any
    reward: float
    terminated: bool
    truncated: bool


#: Called after each step of training; False ends the episode where it is.
AfterStep = Callable[[Step], bool]


def episode_seed(run_seed: int, episode: int) -> int:
    """Return the seed of one episode; negative numbers are episodes of the evaluation.

    Each episode is seeded by itself, so that a resumed run needs no state of the environment.
    """
    stream = (0, episode) if episode >= 0 else (1, -episode)
    return int(np.random.SeedSequence((run_seed, *stream)).generate_state(1)[0])


def train_episode(
    env: gymnasium.Env[Any, Any],
    encoder: Encoder,
    learner: Learner,
    *,
    seed: int,
    epsilon: float,
    after_step: AfterStep,
) -> PlayedEpisode | None:
    """Play one episode and learn from every step; None when *after_step* cut it short."""
    learner.begin_episode()
    features = encoder.encode(env.reset(seed=seed)[0])
    values = learner.values(features)
    action = learner.act(values, epsilon)
    episode_return, number, terminated, truncated = 0.0, 0, False, False
    while not (terminated or truncated):
        observation, reward, terminated, truncated, _ = env.step(action)
        number, episode_return = number + 1, episode_return + float(reward)
        following = encoder.encode(observation)
        future = learner.values(following)
        next_action = learner.act(future, epsilon)
        # An episode cut by its time limit could have gone on, so its last state still has a future.
        seen_future = None if terminated else future
        learner.learn(features, action, float(reward), float(values[action]), seen_future, next_action, epsilon)
        if not after_step(Step(number, action, observation, float(reward), terminated, truncated)):
            return None
        features, action = following, next_action
        values = learner.values(features)
    return PlayedEpisode(seed, episode_return, number, terminated, truncated)


def play_episode(env: gymnasium.Env[Any, Any], encoder: Encoder, learner: Learner, seed: int) -> PlayedEpisode:
    """Play one episode with the best known actions, learning nothing."""
    observation, _ = env.reset(seed=seed)
    episode_return, length, terminated, truncated = 0.0, 0, False, False
    while not (terminated or truncated):
        action = int(learner.values(encoder.encode(observation)).argmax())
        observation, reward, terminated, truncated, _ = env.step(action)
        episode_return, length = episode_return + float(reward), length + 1
    return PlayedEpisode(seed, episode_return, length, terminated, truncated)


def summarise(rows: Sequence[PlayedEpisode]) -> dict[str, Any]:
    """Return every row and what they come to."""
    returns = [row.episode_return for row in rows]
    return {
        "mean_return": fmean(returns) if returns else 0.0,
        "std_return": pstdev(returns) if returns else 0.0,
        "min_return": min(returns, default=0.0),
        "max_return": max(returns, default=0.0),
        "episodes": [asdict(row) for row in rows],
    }
