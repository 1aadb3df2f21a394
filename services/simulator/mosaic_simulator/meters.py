"""Meters that follow the use of the fleet through event time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

#: cpus, memory_mb, gpus: what a lease holds and what shares are taken of.
Resources = tuple[float, float, float]

Owner = TypeVar("Owner", bound=Hashable)


class Integral:
    """The area under a level that changes in steps, cut off at a horizon."""

    def __init__(self, horizon: float) -> None:
        self.level = 0.0
        self.area = 0.0
        self._horizon = horizon
        self._since = 0.0

    def change(self, by: float, at: float) -> None:
        """Raise the level by *by* from the moment *at* on."""
        self.settle(at)
        self.level += by

    def settle(self, at: float) -> None:
        """Count the area up to the moment *at*."""
        until = min(at, self._horizon)
        if until > self._since:
            self.area += self.level * (until - self._since)
            self._since = until


@dataclass(slots=True)
class _Use:
    held: list[float]
    since: float
    share: float = 0.0
    decayed: float = 0.0


class ShareMeter(Generic[Owner]):
    """The decayed dominant share of each owner: the mean share it held, weighted towards now."""

    def __init__(self, fleet: Resources, half_life: float) -> None:
        """Start with nothing used; *fleet* is what there is, *half_life* in seconds."""
        self._fleet = fleet
        self._half_life = half_life
        self._uses: dict[Owner, _Use] = {}

    def change(self, owner: Owner, by: Resources, sign: int, at: float) -> None:
        """Add (*sign* 1) or remove (-1) a lease of *owner* at the moment *at*."""
        use = self._uses.setdefault(owner, _Use([0.0, 0.0, 0.0], since=at))
        self._settle(use, at)
        held = use.held
        for index in (0, 1, 2):
            held[index] += sign * by[index]
        use.share = self._dominant(held)

    def charge(self, owner: Owner, by: Resources, seconds: float) -> None:
        """Count *by* as if it had been held for *seconds* more."""
        use = self._uses[owner]
        use.decayed += self._dominant(by) * (1.0 - 0.5 ** (seconds / self._half_life))

    def gpus_held(self) -> dict[Owner, float]:
        """Return the GPUs each owner holds now."""
        return {owner: use.held[2] for owner, use in self._uses.items()}

    def shares(self, at: float) -> dict[Owner, float]:
        """Return the decayed share of each owner who has ever held anything."""
        for use in self._uses.values():
            self._settle(use, at)
        return {owner: use.decayed for owner, use in self._uses.items()}

    def _dominant(self, held: Sequence[float]) -> float:
        return max(part / whole if whole else 0.0 for part, whole in zip(held, self._fleet, strict=True))

    def _settle(self, use: _Use, at: float) -> None:
        """Fold the time since the last change: the past fades, the present share takes its place."""
        if at > use.since:
            fade = 0.5 ** ((at - use.since) / self._half_life)
            use.decayed = use.decayed * fade + use.share * (1.0 - fade)
            use.since = at


def total(resources: Iterable[Resources]) -> Resources:
    """Return the sum of *resources*, kind by kind."""
    cpus = memory_mb = gpus = 0.0
    for each in resources:
        cpus, memory_mb, gpus = cpus + each[0], memory_mb + each[1], gpus + each[2]
    return cpus, memory_mb, gpus
