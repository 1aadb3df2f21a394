"""What a round has decided so far, on the way to its plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from mosaic.ids import NodeId, RunId, TeamName
from mosaic_scheduler.domain.line import Group
from mosaic_scheduler.domain.plan import Admission, Expiry, Plan, Preemption, Reservation
from mosaic_scheduler.domain.preemption import Victim
from mosaic_scheduler.domain.reasons import Reason, ReasonCode
from mosaic_scheduler.domain.run import QueuedRun


class Draft:
    """Collects decisions. A reason is noted once for a whole group, exceptions run by run."""

    def __init__(self) -> None:
        self.admissions: list[Admission] = []
        self.preemptions: list[Preemption] = []
        self.reservations: list[Reservation] = []
        self._reasons: dict[Group, Reason] = {}
        self._exceptions: dict[RunId, Reason] = {}
        self._starts_of: Counter[TeamName] = Counter()
        #: The first run of a group that found no place, whose starts count as overtaking it, and how
        #: many there had been by then.
        self._passed: list[tuple[RunId, TeamName | None, int]] = []

    def admit(self, admission: Admission, team: TeamName) -> None:
        """Note a start of *team*."""
        self.admissions.append(admission)
        self._starts_of[team] += 1

    def wait(self, group: Group, reason: Reason) -> None:
        """Note why all runs of *group* that have not started wait."""
        self._reasons[group] = reason

    def make_room(self, run: QueuedRun, victims: tuple[Victim, ...], node_id: NodeId, leaving: int) -> None:
        """Note who leaves for *run*, and how many will have left the node when it can start."""
        for victim in victims:
            left = victim.attempt
            self.preemptions.append(
                Preemption(left.run_id, left.attempt, run.run_id, victim.cause, victim.lost_seconds)
            )
        self._exceptions[run.run_id] = Reason.of(ReasonCode.MAKING_ROOM, leaving=leaving, node=node_id)

    def reserve(self, run: QueuedRun, node_id: NodeId, free_by: datetime | None) -> None:
        """Note that a node is held back for *run*."""
        self.reservations.append(Reservation(run.run_id, node_id, free_by))
        when = f"free by {free_by:%Y-%m-%d %H:%M:%S} UTC" if free_by else "as soon as what runs there ends"
        self._exceptions[run.run_id] = Reason.of(ReasonCode.RESERVED, node=node_id, when=when)

    def pass_over(self, run: QueuedRun, by_team: TeamName | None) -> None:
        """Note that *run* found no place; later starts, of *by_team* or of anybody, overtake it."""
        self._passed.append((run.run_id, by_team, self._starts(by_team)))

    def plan(self, not_due: Mapping[RunId, Reason], expiries: tuple[Expiry, ...]) -> Plan:
        """Return all of it as a plan; runs that are *not_due* have their own reasons."""
        waiting = dict(not_due)
        for group, reason in self._reasons.items():
            waiting.update(dict.fromkeys(group.ids, reason))
        for admission in self.admissions:
            waiting.pop(admission.run_id, None)
        waiting.update(self._exceptions)
        return Plan(
            admissions=tuple(self.admissions),
            preemptions=tuple(self.preemptions),
            reservations=tuple(self.reservations),
            expiries=expiries,
            waiting=waiting,
            overtaken=tuple(run_id for run_id, team, starts in self._passed if self._starts(team) > starts),
        )

    def _starts(self, team: TeamName | None) -> int:
        return len(self.admissions) if team is None else self._starts_of[team]
