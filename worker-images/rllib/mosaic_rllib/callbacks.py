"""What RLlib's own callbacks tell: every finished episode, in whichever process it was played."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ray.rllib.callbacks.callbacks import RLlibCallback

#: Under this name finished episodes travel home among the metrics of RLlib.
FINISHED = "mosaic_finished_episodes"


@dataclass(frozen=True)
class FinishedEpisode:
    """One episode of training."""

    episode_return: float
    length: int
    terminated: bool
    #: Return of each agent, where there are several.
    agents: Mapping[str, float] = field(default_factory=dict)


Listener = Callable[[FinishedEpisode], None]


class EpisodeReporter(RLlibCallback):  # type: ignore[misc]  # RLlib has no annotations
    """Hands over finished episodes: at once within the process of the run, with the next batch from others."""

    #: Set in the process of the run only.
    listener: Listener | None = None

    def on_episode_end(
        self, *, episode: Any, prev_episode_chunks: Any = None, metrics_logger: Any = None, **_others: Any
    ) -> None:
        """Called by RLlib when an episode is over."""
        # RLlib cuts long episodes into chunks and hands over the last one only. Their lengths do not add up, since
        # its learners append a step to those before; the count of steps since the beginning is right.
        chunks = [*(prev_episode_chunks or ()), episode]
        agents = _returns_by_agent(chunks)
        finished = FinishedEpisode(
            sum(agents.values()) if agents else float(sum(chunk.get_return() for chunk in chunks)),
            int(episode.env_t if agents else episode.t),
            bool(episode.is_terminated),
            agents,
        )
        if EpisodeReporter.listener is not None:
            EpisodeReporter.listener(finished)
        else:
            # As text, because RLlib would take a mapping apart.
            metrics_logger.log_value(FINISHED, json.dumps(asdict(finished)), reduce="item_series")


def finished_in(result: Mapping[str, Any]) -> list[FinishedEpisode]:
    """Return the episodes that other processes finished, out of the *result* of an iteration."""
    told = result.get("env_runners", {}).get(FINISHED)
    # RLlib says NaN where there was nothing.
    return [FinishedEpisode(**json.loads(one)) for one in told] if isinstance(told, list) else []


def _returns_by_agent(chunks: list[Any]) -> dict[str, float]:
    if not hasattr(chunks[-1], "agent_episodes"):
        return {}
    returns: dict[str, float] = {}
    for chunk in chunks:
        for agent, played in chunk.agent_episodes.items():
            returns[str(agent)] = returns.get(str(agent), 0.0) + float(played.get_return())
    return returns
