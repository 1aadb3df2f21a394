"""Read the episodes of a run, and what those that count come to."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mosaic.errors import BadInput, did_you_mean
from mosaic.events.episodes import AGENT, EPISODE_KINDS, EVALUATION, TRAINING
from mosaic_telemetry.domain.counting import DECIDING_KINDS, EVERYTHING, WHOLE, Counted, count
from mosaic_telemetry.domain.facts import Episode, EpisodeSummary, Evaluation, Fact, Returns, newest_evaluation
from mosaic_telemetry.domain.tally import Tallies, Tally
from mosaic_telemetry.domain.timeline import Timeline
from mosaic_telemetry.ports import BEFORE_ALL, EpisodeFilter, EventStore, Position

#: The mean return of a run is over so many episodes, the newest.
RECENT_EPISODES = 100
#: Asked for when every kind is wanted.
ALL_KINDS = "all"
#: Most evaluations are no longer; a longer one is read in larger and larger parts.
_SHORT_EVALUATION = 16


class StoredEpisode(NamedTuple):
    """An episode, and whether it counts."""

    episode: Episode
    is_counted: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a run without reading what it said."""

    run_id: str
    timelines: Sequence[Timeline]
    counted: Counted

    @property
    def tallies(self) -> Tallies:
        """The episodes of all attempts, counted or not: what kinds a run tells of does not change between them."""
        whole = Tallies()
        for timeline in self.timelines:
            whole = whole.plus(timeline.episodes)
        return whole


def standing_of(run_id: str, store: EventStore, facts: Collection[Fact] | None = None) -> Standing:
    """Return how a run stands; only one of several attempts needs its *facts*."""
    timelines = store.timelines(run_id)
    if len(timelines) < 2:
        return Standing(run_id, timelines, EVERYTHING)
    known = store.facts(run_id, kinds=DECIDING_KINDS) if facts is None else facts
    return Standing(run_id, timelines, count(timelines, known))


def read_episodes(
    run_id: str,
    *,
    kind: str = TRAINING,
    attempt: int = 0,
    include_lost: bool = False,
    after: Position = BEFORE_ALL,
    last: int = 0,
    store: EventStore,
) -> tuple[list[StoredEpisode], int]:
    """Return episodes in order and how many there are; of the run's own, and those that count, if nothing is said.

    Of one *attempt* everything is returned, lost or not.

    Raises:
        BadInput: there is no such *kind*.

    """
    standing = standing_of(run_id, store)
    is_whole = include_lost or bool(attempt)
    wanted = EpisodeFilter(
        _kinds(kind, standing.tallies), counted=EVERYTHING if is_whole else standing.counted, attempt=attempt
    )
    found = store.episodes(run_id, wanted, after=after, last=last)
    return [_stored(episode, standing.counted) for episode in found], _tally(standing, wanted, store).number


def summarise_episodes(standing: Standing, store: EventStore) -> EpisodeSummary:
    """Return the episodes of a run that count, in short."""
    tallies = standing.tallies
    if not tallies.by_kind:
        return EpisodeSummary()
    headline = EpisodeFilter(frozenset({tallies.headline}), standing.counted)
    return EpisodeSummary(_returns(standing, headline, store), tallies.returns_of, _evaluation(standing, store))


def returns_by_agent(standing: Standing, store: EventStore) -> dict[str, Returns]:
    """Return each agent's share of a team's episodes, in short."""
    shares = EpisodeFilter(frozenset({AGENT}), standing.counted)
    if not standing.tallies.of(AGENT).number:
        return {}
    names = store.agents(standing.run_id, shares)
    filters = {name: EpisodeFilter(shares.kinds, shares.counted, agent=name) for name in names}
    return {name: _returns(standing, wanted, store) for name, wanted in filters.items()}


def _kinds(kind: str, tallies: Tallies) -> frozenset[str]:
    if kind == ALL_KINDS:
        return frozenset(EPISODE_KINDS)
    if kind not in EPISODE_KINDS:
        known = (*EPISODE_KINDS, ALL_KINDS)
        raise BadInput("kind of episodes", [f"{kind!r} is none{did_you_mean(kind, known)} ({', '.join(known)})"])
    own = {TRAINING: tallies.headline, EVALUATION: tallies.evaluation}
    return frozenset({own.get(kind, kind)})


def _stored(episode: Episode, counted: Counted) -> StoredEpisode:
    cut = counted.of(episode.stream.attempt)
    return StoredEpisode(episode, cut.includes(episode.seq, episode.step))


def _returns(standing: Standing, wanted: EpisodeFilter, store: EventStore) -> Returns:
    tally = _tally(standing, wanted, store)
    if not tally.number:
        return Returns()
    returns = store.newest_returns(standing.run_id, wanted, min(RECENT_EPISODES, tally.number))
    return Returns(tally.number, _mean(returns), returns[-1], tally.best_return, tally.best_step)


def _evaluation(standing: Standing, store: EventStore) -> Evaluation | None:
    wanted = EpisodeFilter(frozenset({standing.tallies.evaluation}), standing.counted)
    number, size = _tally(standing, wanted, store).number, _SHORT_EVALUATION
    if not number:
        return None
    while True:
        # No more than there are: a search for more would go through the whole training before it gave up.
        told = store.episodes(standing.run_id, wanted, last=min(size, number))
        newest = newest_evaluation(told)
        if len(newest) < len(told) or size >= number:
            break
        size *= 4
    mean = _mean([episode.episode_return for episode in newest])
    return Evaluation(number, len(newest), mean, newest[-1].step)


def _mean(returns: Sequence[float]) -> float:
    try:
        return math.fsum(returns) / len(returns)
    except (ValueError, OverflowError):
        # Infinities of both signs have no sum.
        return math.nan


def _tally(standing: Standing, wanted: EpisodeFilter, store: EventStore) -> Tally:
    """Return the episodes of *wanted* in short; only attempts that count in part are read."""
    whole = Tally()
    for timeline in standing.timelines:
        attempt = timeline.stream.attempt
        if wanted.attempt in (0, attempt):
            is_known = wanted.agent is None and wanted.counted.of(attempt) == WHOLE
            part = _known(timeline, wanted) if is_known else _read(standing.run_id, timeline, wanted, store)
            whole = whole.then(part)
    return whole


def _known(timeline: Timeline, wanted: EpisodeFilter) -> Tally:
    part = Tally()
    for kind in wanted.kinds:
        part = part.plus(timeline.episodes.of(kind))
    return part


def _read(run_id: str, timeline: Timeline, wanted: EpisodeFilter, store: EventStore) -> Tally:
    if not any(timeline.episodes.of(kind).number for kind in wanted.kinds):
        return Tally()
    attempt = timeline.stream.attempt
    return store.tally(run_id, EpisodeFilter(wanted.kinds, wanted.counted, attempt, wanted.agent))
