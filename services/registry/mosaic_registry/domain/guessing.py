"""How long who gave wrong passwords waits before the next try is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

#: After so long without a wrong one all are forgotten.
FORGET_AFTER = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Failures:
    """Wrong passwords in a row, for a name, from an address, or for a name from an address."""

    key: str
    count: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Rule:
    """So many are free; after that the pause doubles with each, up to the longest."""

    key: str
    free: int
    longest: timedelta


def rules(user: str, address: str) -> Iterator[Rule]:
    """Yield what counts a try of *address* for *user*.

    The last pause is short: it slows down many addresses that guess together, and must not lock out whose name it is.
    """
    yield Rule(f"{user} from {address}", 5, timedelta(minutes=15))
    yield Rule(f"from {address}", 30, timedelta(minutes=15))
    yield Rule(f"{user}", 50, timedelta(seconds=30))


def opens_at(rule: Rule, failures: Failures | None) -> datetime | None:
    """Return when the next try is looked at; None = at once."""
    if failures is None or failures.count < rule.free:
        return None
    doubled = timedelta(seconds=2.0 ** min(failures.count - rule.free, 20))
    return failures.last_at + min(doubled, rule.longest)


def counted(rule: Rule, failures: Failures | None, now: datetime) -> Failures:
    """Return the count after one more wrong password."""
    is_old = failures is not None and now - failures.last_at >= FORGET_AFTER
    before = 0 if failures is None or is_old else failures.count
    return Failures(rule.key, before + 1, now)
