"""Playing episodes: to learn from them, or to see what was learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from mosaic.worker.library.evaluation import PlayedEpisode
from mosaic_reference.learner import Learner
from mosaic_reference.tasks import Encoder


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
    """Return the seed of one episode of the training.

    Each episode is seeded by itself, so that a resumed run needs no state of the environment.
    """
    return int(np.random.SeedSequence((run_seed, 0, episode)).generate_state(1)[0])


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


def play_episode(
    env: gymnasium.Env[Any, Any], encoder: Encoder, learner: Learner, seed: int, *, epsilon: float = 0.0
) -> PlayedEpisode:
    """Play one episode with the best known actions, or any with probability *epsilon*, learning nothing.

    It follows from *seed* and what was learned: the learner's own generator is left alone.
    """
    chance = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    episode_return, length, terminated, truncated = 0.0, 0, False, False
    while not (terminated or truncated):
        values = learner.values(encoder.encode(observation))
        is_random = epsilon > 0 and chance.random() < epsilon
        action = int(chance.integers(len(values)) if is_random else values.argmax())
        observation, reward, terminated, truncated, _ = env.step(action)
        episode_return, length = episode_return + float(reward), length + 1
    return PlayedEpisode(seed, episode_return, length, terminated, truncated)
