"""Playing a trained policy without learning: one seeded episode after the other, by XuanCe's own ``test``."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mosaic.worker.evaluation import PlayedEpisode
from mosaic_xuance.library import Settings, make_test_envs
from mosaic_xuance.telemetry import Narrator


def evaluation_seeds(seed: int, count: int) -> list[int]:
    """Return *count* seeds that follow from the run's *seed* and are not those of its training."""
    return [int(value) for value in np.random.SeedSequence((seed, 1)).generate_state(count) % 2**31]


def play(agent: Any, settings: Settings, narrator: Narrator, seed: int, *, film: Path | None = None) -> PlayedEpisode:
    """Play one greedy episode; with *film*, keep its pictures there."""
    envs = make_test_envs(settings, seed)
    narrator.test_steps, narrator.frames = 0, []
    with _unchanged(agent, is_filmed=film is not None):
        # Some agents report a score of nothing before the first episode.
        scores = agent.test(test_episodes=1, test_envs=envs, close_envs=True)
    if film is not None and narrator.frames:
        _write_film(film, narrator.frames)
    # XuanCe's score of a team is the mean over its agents.
    agents = len(agent.agent_keys) if hasattr(agent, "agent_keys") else 1
    return PlayedEpisode(seed, float(scores[-1]) * agents, narrator.test_steps)


@contextmanager
def _unchanged(agent: Any, *, is_filmed: bool) -> Any:
    """Keep the statistics of observations as training left them: XuanCe's ``test`` would go on updating them."""
    kept = copy.deepcopy(getattr(agent, "obs_rms", None))
    agent.render = agent.config.render = is_filmed
    log_videos, agent.log_videos = agent.log_videos, lambda *_args, **_named: None
    try:
        yield
    finally:
        agent.log_videos = log_videos
        agent.render = agent.config.render = False
        if kept is not None:
            agent.obs_rms = kept


def _write_film(path: Path, frames: Sequence[Any]) -> None:
    import imageio

    path.parent.mkdir(parents=True, exist_ok=True)
    imageio.mimwrite(path, [np.asarray(frame, dtype=np.uint8) for frame in frames], fps=30)
