"""The rare events that say how a run went, and the episodes: what a manifest is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mosaic.events.episodes import OF_TRAINING, kind_of
from mosaic_telemetry.domain.timeline import StreamId


@dataclass(frozen=True, slots=True)
class Fact:
    """One such event."""

    stream: StreamId
    seq: int
    time: float
    kind: str
    payload: Mapping[str, Any]


class Episode(NamedTuple):
    """How one episode went; what a worker did not say is None."""

    stream: StreamId
    seq: int
    time: float
    number: int | None
    agent: str
    episode_return: float
    length: int | None
    step: float | None
    evaluation: bool = False

    @property
    def kind(self) -> str:
        """One of `mosaic.events.episodes.EPISODE_KINDS`."""
        return kind_of(self.agent, self.evaluation)


@dataclass(frozen=True, slots=True)
class Returns:
    """The returns of some episodes, without reading them all again."""

    count: int = 0
    #: Over the newest hundred.
    mean_return: float | None = None
    last_return: float | None = None
    best_return: float | None = None
    best_step: float | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a run's evaluations came to."""

    #: Episodes of all of them.
    count: int
    #: Of the newest evaluation.
    episodes: int
    mean_return: float
    step: float | None


@dataclass(frozen=True, slots=True)
class EpisodeSummary:
    """The episodes of a run that count, in short."""

    training: Returns = Returns()
    #: What `training` is of: the run's own episodes, or those of its agents where it told of no others.
    returns_of: str = OF_TRAINING
    #: None before the first.
    evaluation: Evaluation | None = None


def newest_evaluation(episodes: Sequence[Episode]) -> list[Episode]:
    """Return those of *episodes*, all of evaluations and in order, that belong to the last one.

    An evaluation plays at one step of training and numbers its episodes anew.
    """
    group: list[Episode] = []
    for episode in reversed(episodes):
        if group and not _is_of_one_evaluation(episode, group[-1]):
            break
        group.append(episode)
    return group[::-1]


def _is_of_one_evaluation(earlier: Episode, later: Episode) -> bool:
    if (earlier.stream, earlier.step) != (later.stream, later.step):
        return False
    if earlier.number is None or later.number is None:
        return True
    return earlier.number < later.number or (earlier.number == later.number and earlier.agent != later.agent)
