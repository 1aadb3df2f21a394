"""What one scheduling round decided, as values. Nothing here has happened yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from types import MappingProxyType

from mosaic.ids import AgentId, NodeId, RunId
from mosaic.model.resources import Lease
from mosaic_scheduler.domain.reasons import Reason


@dataclass(frozen=True, slots=True)
class Admission:
    """Start this attempt there, with that lease."""

    run_id: RunId
    attempt: int
    agent_id: AgentId
    node_id: NodeId
    lease: Lease
    #: When its time limit will end it; None when it has none.
    ends_by: datetime | None = None
    #: It uses capacity that other teams lend, and may be asked to leave when they need it.
    borrowed: bool = False


class PreemptionCause(str, Enum):
    """Why an attempt has to leave."""

    RECLAIMED = "reclaimed"  #: its team uses more than its quota, and the owner needs it back
    OUTRANKED = "outranked"  #: a run of a higher priority class needs the place


@dataclass(frozen=True, slots=True)
class Preemption:
    """Ask this attempt to leave so that another run can start."""

    run_id: RunId
    attempt: int
    beneficiary: RunId
    cause: PreemptionCause
    #: Seconds of work since its last checkpoint: what leaving costs.
    lost_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Reservation:
    """Capacity of a node held back for a run that has been passed over too often."""

    run_id: RunId
    node_id: NodeId
    #: When the capacity is free at the latest; None while attempts without a time limit are in the way.
    free_by: datetime | None


@dataclass(frozen=True, slots=True)
class Expiry:
    """An attempt that has used up its time limit and must be stopped."""

    run_id: RunId
    attempt: int
    ends_by: datetime


@dataclass(frozen=True, slots=True)
class Plan:
    """Whom to start, whom to stop, what to hold back, and why each other run waits.

    Admissions stand in the order in which they were decided. Every queued run is either in
    `admissions` or in `waiting`.
    """

    admissions: tuple[Admission, ...] = ()
    preemptions: tuple[Preemption, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    expiries: tuple[Expiry, ...] = ()
    waiting: Mapping[RunId, Reason] = field(default_factory=lambda: MappingProxyType({}))
    #: Runs that a run behind them overtook in this round: whoever keeps the queue adds one to their
    #: `passed_over`. Of equal runs only the first in line is named.
    overtaken: tuple[RunId, ...] = ()
