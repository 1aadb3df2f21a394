"""Which part of which attempt counts: the one place that decides. `docs/reference/numbers.md` says it for people.

When an attempt goes on from a checkpoint, what an earlier one said after saving it is lost: it is trained again. When
an attempt begins anew and trains, all before it is lost. An attempt that says nothing of training changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from mosaic_telemetry.domain.facts import Fact
from mosaic_telemetry.domain.timeline import Timeline

#: All that has to be known to decide.
DECIDING_KINDS = frozenset({"attempt_started", "checkpoint_saved", "checkpoint_loaded"})


class Cut(NamedTuple):
    """How far an attempt counts; None = to its end."""

    #: For what has a sequence number; where it is not known, `last_step` decides of that, too.
    last_seq: int | None = None
    #: For the points of curves.
    last_step: float | None = None

    def includes(self, seq: int, step: float | None) -> bool:
        """Tell whether what was said at *seq*, of training at *step*, counts."""
        if self.last_seq is not None:
            return seq <= self.last_seq
        return self.last_step is None or step is None or step <= self.last_step


WHOLE = Cut()
NOTHING = Cut(-1, -math.inf)


@dataclass(frozen=True, slots=True)
class Counted:
    """What of a run counts."""

    #: By attempt; one that is not named counts whole.
    cuts: Mapping[int, Cut] = field(default_factory=dict)
    #: Step at which an attempt went on, where that is known and the attempt counts.
    went_on_at: Mapping[int, float] = field(default_factory=dict)

    def of(self, attempt: int) -> Cut:
        """Return how far *attempt* counts."""
        return self.cuts.get(attempt, WHOLE)

    def furthest_step(self, timelines: Iterable[Timeline]) -> float | None:
        """Return the furthest step of training that counts; None before the first."""
        reached = [
            min(timeline.last_step, math.inf if cut.last_step is None else cut.last_step)
            for timeline in timelines
            if timeline.last_step is not None and (cut := self.of(timeline.stream.attempt)) != NOTHING
        ]
        return max(reached, default=None)


#: Of a run with one attempt, or none.
EVERYTHING = Counted(MappingProxyType({}), MappingProxyType({}))


class _Origin(NamedTuple):
    """The checkpoint that an attempt went on from."""

    paths: frozenset[str]
    step: float | None

    def lies_at(self, path: str) -> bool:
        """Tell whether it is the one at *path*; the one path may be relative to a directory that the other names."""
        return any(own == path or own.endswith(f"/{path}") or path.endswith(f"/{own}") for own in self.paths)


class _Save(NamedTuple):
    seq: int
    path: str
    step: float | None


def count(timelines: Sequence[Timeline], facts: Iterable[Fact]) -> Counted:
    """Return what counts of a run with *timelines*, given at least its facts of `DECIDING_KINDS`, both in order."""
    trained = [timeline.stream.attempt for timeline in timelines if timeline.has_trained]
    if len(trained) < 2:
        return EVERYTHING
    by_attempt: dict[int, list[Fact]] = {attempt: [] for attempt in trained}
    for fact in facts:
        by_attempt.get(fact.stream.attempt, []).append(fact)
    origins = {attempt: _origin(own) for attempt, own in by_attempt.items()}
    saves = {attempt: list(_saves(own)) for attempt, own in by_attempt.items()}
    return _followed_back(trained, origins, saves)


def _followed_back(
    trained: Sequence[int], origins: Mapping[int, _Origin | None], saves: Mapping[int, Sequence[_Save]]
) -> Counted:
    """Go from the newest attempt to the one it went on from, and so on; what lies beside this way is lost."""
    attempt, ceiling = trained[-1], math.inf
    cuts, went_on_at = {**dict.fromkeys(trained, NOTHING), attempt: WHOLE}, {}
    while (origin := origins[attempt]) is not None:
        earlier = [one for one in trained if one < attempt]
        found = _saved_by(earlier, origin, saves) or _supposed(earlier, origin, origins)
        step = origin.step if found is None or found[1].last_step is None else found[1].last_step
        if step is not None:
            went_on_at[attempt] = step
        if found is None:
            break
        attempt, cut = found
        if step is not None and step > ceiling:
            cut = Cut(None, ceiling)
        ceiling = min(ceiling, math.inf if step is None else step)
        cuts[attempt] = cut
    return Counted(cuts, went_on_at)


def _saved_by(earlier: Sequence[int], origin: _Origin, saves: Mapping[int, Sequence[_Save]]) -> tuple[int, Cut] | None:
    """Return who saved the checkpoint last, and where in its stream that was."""
    for attempt in reversed(earlier):
        found = [save for save in saves[attempt] if origin.lies_at(save.path)]
        exact = [save for save in found if origin.step is None or save.step in (None, origin.step)]
        if exact:
            return attempt, Cut(exact[-1].seq, origin.step if exact[-1].step is None else exact[-1].step)
        if found:
            # The file was written anew at another step, and its worker ended before it could say so.
            return attempt, Cut(None, origin.step)
    return None


def _supposed(earlier: Sequence[int], origin: _Origin, origins: Mapping[int, _Origin | None]) -> tuple[int, Cut] | None:
    """Return whose checkpoint it must be though nobody was heard saving it: that line was lost.

    It is not that of an attempt which went on from it itself: then it comes from before, or from another run.
    """
    for attempt in reversed(earlier):
        own = origins[attempt]
        if own is None or not own.paths & origin.paths:
            return attempt, Cut(None, origin.step)
    return None


def _origin(facts: Sequence[Fact]) -> _Origin | None:
    """Return what an attempt went on from; None if it began anew.

    Two have to agree: the agent, which offers a checkpoint of the run (a policy that a worker loads to judge it is
    none), and the worker, which says that it took it (there are some that save and cannot load).
    """
    offered = [fact.payload.get("resumed_from") for fact in facts if fact.kind == "attempt_started"]
    loaded = [fact for fact in facts if fact.kind == "checkpoint_loaded"]
    if not loaded or (offered and not offered[0]):
        return None
    paths = (*offered[:1], loaded[0].payload.get("checkpoint_path"))
    return _Origin(frozenset(path.rstrip("/") for path in paths if isinstance(path, str) and path), _step(loaded[0]))


def _saves(facts: Iterable[Fact]) -> Iterable[_Save]:
    for fact in facts:
        path = fact.payload.get("checkpoint_path")
        if fact.kind == "checkpoint_saved" and isinstance(path, str) and path:
            yield _Save(fact.seq, path.rstrip("/"), _step(fact))


def _step(fact: Fact) -> float | None:
    passport = fact.payload.get("passport")
    told = fact.payload.get("step")
    if told is None and isinstance(passport, Mapping):
        told = passport.get("step")
    return float(told) if isinstance(told, int | float) and math.isfinite(told) else None
