"""Tenants: what they are guaranteed, what they lend and borrow, and their caps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from mosaic.ids import TeamName


@dataclass(frozen=True, slots=True)
class Quota:
    """What a team is guaranteed; None means that nothing bounds it."""

    gpus: float | None = None
    cpus: float | None = None
    memory_mb: int | None = None


@dataclass(frozen=True, slots=True)
class Team:
    """The terms of a team; None means no limit."""

    name: TeamName
    #: A team of weight 2 is due twice as much as one of weight 1.
    weight: float = 1.0
    quota: Quota = Quota()
    #: GPUs of its idle quota that others may use.
    lending_limit_gpus: float | None = None
    #: GPUs it may use beyond its quota while others lend them.
    borrowing_limit_gpus: float | None = None
    max_running: int | None = None
    max_queued: int | None = None
    max_running_per_user: int | None = None
    max_queued_per_user: int | None = None
    max_gpus_per_user: float | None = None
    #: Longest any attempt of the team may take, whatever the run asks for.
    max_wall: timedelta | None = None
