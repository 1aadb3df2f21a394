"""Episodes counted as they arrive, so that a table of runs need not read them again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from mosaic.events import EpisodeRow
from mosaic.events.episodes import evaluation_kind, headline_kind, kind_of, returns_of

#: Whether a run names one agent or several is all that is asked.
_NAMES_KEPT = 2


class Tally(NamedTuple):
    """Episodes of one kind; the same episodes in any order give the same tally."""

    number: int = 0
    #: Of the newest.
    last_seq: int = -1
    #: The highest return, and where it was first reached; None when no return is a number.
    best_return: float | None = None
    best_step: float | None = None
    best_seq: int = -1

    def plus(self, other: Tally) -> Tally:
        """Return the tally of both, which are of one stream."""
        best = other if _is_better(other, self) else self
        return best._replace(number=self.number + other.number, last_seq=max(self.last_seq, other.last_seq))

    def then(self, later: Tally) -> Tally:
        """Return the tally of both, *later* being of a later attempt."""
        is_better = self.best_return is None or (later.best_return is not None and later.best_return > self.best_return)
        best = later if is_better else self
        return best._replace(
            number=self.number + later.number, last_seq=later.last_seq if later.number else self.last_seq
        )


@dataclass(frozen=True, slots=True)
class Tallies:
    """The episodes of one attempt, or of all, in short."""

    by_kind: Mapping[str, Tally] = field(default_factory=dict)
    #: Names of agents, two at the most.
    agents: tuple[str, ...] = ()

    def plus(self, other: Tallies) -> Tallies:
        """Return the tallies of both."""
        kinds = {*self.by_kind, *other.by_kind}
        by_kind = {kind: self.of(kind).plus(other.of(kind)) for kind in sorted(kinds)}
        return Tallies(by_kind, _some_names((*self.agents, *other.agents)))

    def of(self, kind: str) -> Tally:
        """Return the tally of one kind."""
        return self.by_kind.get(kind, Tally())

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each kind."""
        return {kind: tally.number for kind, tally in self.by_kind.items()}

    @property
    def headline(self) -> str:
        """The kind of episode that the run is judged by."""
        return headline_kind(self.counts)

    @property
    def evaluation(self) -> str:
        """The kind of episode that its evaluations are judged by."""
        return evaluation_kind(self.counts)

    @property
    def returns_of(self) -> str:
        """What the headline is of."""
        return returns_of(self.headline, len(self.agents))


def tallies_of(rows: Sequence[EpisodeRow], first_seq: int) -> Tallies:
    """Return the episodes in *rows*, which are in order, in short; line 0 has the number *first_seq*."""
    by_kind: dict[str, list[EpisodeRow]] = {}
    for row in rows:
        by_kind.setdefault(kind_of(row.agent, row.evaluation), []).append(row)
    tallies = {kind: _tally(own, first_seq) for kind, own in by_kind.items()}
    return Tallies(tallies, _some_names(row.agent for row in rows if row.agent))


def _tally(rows: Sequence[EpisodeRow], first_seq: int) -> Tally:
    number, last_seq = len(rows), first_seq + rows[-1].line
    numbers = [row for row in rows if row.episode_return == row.episode_return]
    if not numbers:
        return Tally(number, last_seq)
    best = max(numbers, key=attrgetter("episode_return"))
    return Tally(number, last_seq, best.episode_return, best.step, first_seq + best.line)


def _is_better(one: Tally, other: Tally) -> bool:
    if one.best_return is None or other.best_return is None:
        return one.best_return is not None
    return (one.best_return, -one.best_seq) > (other.best_return, -other.best_seq)


def _some_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names))[:_NAMES_KEPT])
