"""Playing what was learned, without learning: seeded episodes and what they come to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.save_video import save_video

from mosaic.worker.evaluation import PlayedEpisode
from mosaic_rllib.catalog import is_multi_agent
from mosaic_rllib.config import RLlibConfig
from mosaic_rllib.environments import make_parallel, make_single
from mosaic_rllib.policy import GreedyPolicy

#: For environments that set no limit themselves.
_LONGEST_EPISODE = 10_000
_FRAMES_PER_S = 15


def evaluation_seed(run_seed: int, number: int) -> int:
    """Return the seed of one episode, of a stream that training does not use."""
    return int(np.random.SeedSequence((run_seed, 1, number)).generate_state(1)[0] >> 1)


def play(
    config: RLlibConfig, networks: Path, seeds: Sequence[int], *, videos: Path | None = None
) -> Iterator[PlayedEpisode]:
    """Play one greedy episode per seed with the networks that RLlib saved; film the first into *videos*."""
    if is_multi_agent(config.env_id):
        yield from _play_together(config, networks, seeds, videos)
        return
    env = make_single(config.env_id, config.env_kwargs, render_mode=None if videos is None else "rgb_array")
    if videos is not None:
        env = gymnasium.wrappers.RecordVideo(
            env, str(videos), episode_trigger=lambda number: number == 0, name_prefix="evaluation", disable_logger=True
        )
    policy = GreedyPolicy(networks, {"": env.action_space}, rescale=_rescales(config))
    try:
        for seed in seeds:
            yield _played(env, policy, seed)
    finally:
        env.close()


def policy_for(config: RLlibConfig, networks: Path, env: gymnasium.Env[Any, Any]) -> GreedyPolicy:
    """Return the greedy policy for a single agent in *env*."""
    return GreedyPolicy(networks, {"": env.action_space}, rescale=_rescales(config))


def _played(env: gymnasium.Env[Any, Any], policy: GreedyPolicy, seed: int) -> PlayedEpisode:
    policy.begin_episode()
    observation, _ = env.reset(seed=seed)
    total, length, terminated, truncated = 0.0, 0, False, False
    while not (terminated or truncated) and length < _LONGEST_EPISODE:
        observation, reward, terminated, truncated, _ = env.step(policy.action(observation))
        total, length = total + float(reward), length + 1
    return PlayedEpisode(seed, total, length, bool(terminated), bool(truncated))


def _play_together(
    config: RLlibConfig, networks: Path, seeds: Sequence[int], videos: Path | None
) -> Iterator[PlayedEpisode]:
    env = make_parallel(config.env_id, config.env_kwargs, render_mode=None if videos is None else "rgb_array")
    spaces = {agent: env.action_space(agent) for agent in env.possible_agents}
    policy = GreedyPolicy(networks, spaces, rescale=_rescales(config))
    try:
        for number, seed in enumerate(seeds):
            film: list[Any] | None = None if videos is None or number > 0 else []
            yield _played_together(env, policy, seed, film)
            if film:
                save_video(film, str(videos), lambda _number: True, fps=_FRAMES_PER_S, name_prefix="evaluation")
    finally:
        env.close()


def _played_together(env: Any, policy: GreedyPolicy, seed: int, film: list[Any] | None) -> PlayedEpisode:
    policy.begin_episode()
    observations, _ = env.reset(seed=seed)
    returns = dict.fromkeys(env.possible_agents, 0.0)
    length, ends = 0, {}
    while env.agents and length < _LONGEST_EPISODE:
        actions = {agent: policy.action(seen, agent) for agent, seen in observations.items()}
        observations, rewards, ends, _, _ = env.step(actions)
        if film is not None:
            film.append(env.render())
        length += 1
        for agent, reward in rewards.items():
            returns[agent] += float(reward)
    is_terminated = bool(ends) and all(ends.values())
    return PlayedEpisode(seed, sum(returns.values()), length, is_terminated, not is_terminated, returns)


def _rescales(config: RLlibConfig) -> bool:
    return bool(config.algo_params.get("normalize_actions", True))
