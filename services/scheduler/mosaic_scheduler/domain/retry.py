"""What a failed attempt means for its run: another attempt, and when, or the end.

Whose fault it was decides. A person's mistake is not repeated. A crash may be bad luck and has a
small budget. What the platform did to the run, preempting it or losing its machine, never uses up
what its owner was given.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from mosaic.ids import RunId
from mosaic.lifecycle import FailureKind


@dataclass(frozen=True, slots=True)
class Failure:
    """The end of one attempt."""

    kind: FailureKind
    at: datetime
    #: How long the attempt ran.
    lasted: timedelta
    #: Whether it left a checkpoint that an earlier attempt had not.
    progressed: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """How often a kind of failure is forgiven, and how long to wait before the next attempt."""

    #: None means always.
    retries: int | None
    first_wait: timedelta = timedelta(seconds=10)
    longest_wait: timedelta = timedelta(minutes=10)


_AT_ONCE = timedelta()


def _default_budgets() -> Mapping[FailureKind, Budget]:
    return MappingProxyType(
        {
            FailureKind.CONFIG_ERROR: Budget(0),
            FailureKind.CRASH: Budget(3),
            FailureKind.OUT_OF_MEMORY: Budget(1, timedelta(seconds=30)),
            FailureKind.HUNG: Budget(2, timedelta(seconds=30)),
            FailureKind.LOST_AGENT: Budget(None, timedelta(seconds=5), timedelta(minutes=2)),
            FailureKind.PREEMPTED: Budget(None, _AT_ONCE, _AT_ONCE),
            FailureKind.INFRASTRUCTURE: Budget(10, timedelta(seconds=15)),
            FailureKind.TIME_LIMIT: Budget(0),
        }
    )


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """Budgets by kind, and when a run that keeps dying young is given up."""

    budgets: Mapping[FailureKind, Budget] = field(default_factory=_default_budgets)
    #: Attempts in a row that ended sooner than `young` without progress: a crash loop.
    crash_loop_length: int = 5
    young: timedelta = timedelta(minutes=1)
    #: Agents lost in a row, each sooner than `lost_young` after it had claimed the run, without progress: the run takes
    #: them down, and whatever else they execute with it.
    lost_loop_length: int = 5
    lost_young: timedelta = timedelta(minutes=5)

    def with_waits(self, factor: float) -> RetrySettings:
        """Return these settings with every wait *factor* times as long."""
        budgets = {
            kind: replace(budget, first_wait=budget.first_wait * factor, longest_wait=budget.longest_wait * factor)
            for kind, budget in self.budgets.items()
        }
        return replace(self, budgets=budgets)


@dataclass(frozen=True, slots=True)
class RetryDecision:
    """Try again, not before then."""

    not_before: datetime
    #: Attempts of this kind that will still be forgiven after this one; None when that is unlimited.
    left: int | None


#: Not the fault of the run: neither counted against its owner nor part of a crash loop.
_BLAMELESS = frozenset({FailureKind.PREEMPTED, FailureKind.LOST_AGENT})


def next_attempt(
    run_id: RunId, failure: Failure, history: Sequence[Failure], settings: RetrySettings | None = None
) -> RetryDecision | None:
    """Decide what follows *failure*, given the earlier failures of the run, oldest first.

    Return None when the run has ended: no attempt is left, or none would help. The wait doubles
    with each failure of the same kind in a row, up to the kind's longest; a jitter drawn from
    *run_id* keeps a hundred runs that failed together from returning together.
    """
    settings = settings or RetrySettings()
    budget = settings.budgets[failure.kind]
    used = sum(1 for earlier in history if earlier.kind is failure.kind)
    spent = budget.retries is not None and used >= budget.retries
    failures = [*history, failure]
    if spent or is_crash_loop(failures, settings) or takes_agents_down(failures, settings):
        return None
    wait = _backoff(run_id, budget, _in_a_row(failure, history))
    left = None if budget.retries is None else budget.retries - used - 1
    return RetryDecision(not_before=failure.at + wait, left=left)


def is_crash_loop(failures: Sequence[Failure], settings: RetrySettings) -> bool:
    """Tell whether the last attempts all died young, without progress, by their own doing."""
    own = [failure for failure in failures if failure.kind not in _BLAMELESS]
    last = own[-settings.crash_loop_length :]
    died_young = all(failure.lasted < settings.young and not failure.progressed for failure in last)
    return len(last) == settings.crash_loop_length and died_young


def takes_agents_down(failures: Sequence[Failure], settings: RetrySettings) -> bool:
    """Tell whether the last agents were all lost soon after they had begun with the run, before it got anywhere."""
    last = failures[-settings.lost_loop_length :]
    return len(last) == settings.lost_loop_length and all(
        failure.kind is FailureKind.LOST_AGENT
        and timedelta() < failure.lasted < settings.lost_young
        and not failure.progressed
        for failure in last
    )


def _in_a_row(failure: Failure, history: Sequence[Failure]) -> int:
    length = 0
    for earlier in reversed(history):
        if earlier.kind is not failure.kind or earlier.progressed:
            break
        length += 1
    return length


def _backoff(run_id: RunId, budget: Budget, doublings: int) -> timedelta:
    wait = min(budget.first_wait * (1 << min(doublings, 30)), budget.longest_wait)
    spread = zlib.crc32(f"{run_id}/{doublings}".encode()) / 2**32
    return wait * (0.75 + 0.5 * spread)
