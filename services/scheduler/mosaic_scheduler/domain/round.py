"""One scheduling round: who is served in which order, and what is decided for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from heapq import heapify, heappop, heappush, heapreplace

from mosaic.ids import RunId, TeamName, UserName
from mosaic_scheduler.domain.amount import Amount
from mosaic_scheduler.domain.caps import why_capped
from mosaic_scheduler.domain.fairness import Turns
from mosaic_scheduler.domain.fleet import Fleet
from mosaic_scheduler.domain.line import Group, Head, WaitingLine
from mosaic_scheduler.domain.packing import choose
from mosaic_scheduler.domain.plan import Admission, Expiry, Plan, Preemption, Reservation
from mosaic_scheduler.domain.preemption import Eviction, Evictions
from mosaic_scheduler.domain.quota import Ledger, Standing
from mosaic_scheduler.domain.reasons import Reason, ReasonCode
from mosaic_scheduler.domain.room import Room
from mosaic_scheduler.domain.run import QueuedRun
from mosaic_scheduler.domain.snapshot import PolicySettings, Usage
from mosaic_scheduler.domain.space import Holding, NodeSpace

#: Groups by team and user, within one priority class.
Class = Mapping[TeamName, Mapping[UserName, Iterable[Group]]]


class Round:
    """Decides one round over the planner's indexes and leaves them as it found them.

    Runs within quota are served first, class by class; then those that would borrow. Within a class
    the team with the lowest score has the turn, then its user with the lowest score, then the
    oldest run; age also decides between equal scores. One start ends the turn.
    """

    def __init__(
        self,
        fleet: Fleet,
        ledger: Ledger,
        line: WaitingLine,
        usage: Usage,
        settings: PolicySettings,
        now: datetime,
    ) -> None:
        self._fleet = fleet
        self._ledger = ledger
        self._line = line
        self._settings = settings
        self._now = now
        self._turns = Turns(ledger, usage, settings, fleet.capacity, now)
        self._room = Room(fleet, now)
        self._evictions: Evictions | None = None
        self._admissions: list[Admission] = []
        self._preemptions: list[Preemption] = []
        self._reservations: list[Reservation] = []
        self._reasons: dict[Group, Reason] = {}
        #: Runs of a group for which something else is true than for the rest of it.
        self._exceptions: dict[RunId, Reason] = {}
        self._starts_of_team: dict[TeamName, int] = {}
        #: The first run of each group that found no place, its team, and the starts counted until then.
        self._passed: list[tuple[RunId, TeamName | None, int]] = []
        #: Groups for the second pass, and whether quota is kept for their first run.
        self._would_borrow: dict[Group, bool] = {}
        self._claims: set[TeamName] = set()
        self._grants: list[tuple[Group, NodeSpace, Holding]] = []
        self._charges: list[tuple[TeamName, UserName, Amount, int]] = []

    def decide(self, expiries: tuple[Expiry, ...]) -> Plan:
        """Return the plan; nothing is booked any more when it returns."""
        try:
            for owners in self._line.classes.values():
                self._serve(owners, Standing.OWN)
            for borrowers in self._borrowers():
                self._serve(borrowers, Standing.BORROWED)
            return self._plan(expiries)
        finally:
            self._undo()

    def _serve(self, groups_of: Class, standing: Standing) -> None:
        lines = {team: self._user_line(team, users) for team, users in groups_of.items()}
        turns = [(self._turns.team_score(team), line.head(), team) for team, line in lines.items()]
        heapify(turns)
        while turns:
            _, _, team = heappop(turns)
            line = lines[team]
            if self._serve_team(team, line, standing) and line.first() is not None:
                heappush(turns, (self._turns.team_score(team), line.head(), team))

    def _user_line(self, team: TeamName, users: Mapping[UserName, Iterable[Group]]) -> UserLine:
        line = UserLine()
        for user, groups in users.items():
            line.add(self._turns.user_score(team, user), user, [(group.head(), group) for group in groups])
        return line

    def _serve_team(self, team: TeamName, line: UserLine, standing: Standing) -> bool:
        """Start one run of *team*; tell whether there was one to start."""
        while (group := line.first()) is not None:
            if self._start_first(group, standing):
                head = group.head() if group.started < len(group.order) else None
                line.started(self._turns.user_score(team, group.user), head)
                return True
            line.skip()
        return False

    def _start_first(self, group: Group, standing: Standing) -> bool:
        """Start the oldest run of *group*, or note why it and its equals wait."""
        amount = group.demand.amount
        refusal = why_capped(self._ledger, group.team, group.user, amount)
        if refusal is None:
            if standing is Standing.BORROWED:
                refusal = self._why_not_borrow(group)
            elif self._ledger.standing(group.team, amount) is Standing.BORROWED:
                self._would_borrow[group] = self._claim_quota(group)
                return False
        space = self._room.find(group.demand) if refusal is None else None
        if space is not None:
            self._admit(group, space, standing)
            return True
        self._reasons[group] = refusal or self._no_room(group, standing)
        return False

    def _why_not_borrow(self, group: Group) -> Reason | None:
        amount = group.demand.amount
        claimed = self._would_borrow[group]
        if claimed:
            self._charge(group.team, group.user, amount, -1)
            self._would_borrow[group] = False
        recallable = group.resumable or not self._settings.lend_only_to_resumable
        refusal = self._ledger.why_not_borrow(group.team, amount, resumable=recallable)
        if refusal is not None:
            self._note_passed(group, group.team)
            if not self._make_room(group) and claimed:
                self._charge(group.team, group.user, amount, 1)
        return refusal

    def _claim_quota(self, group: Group) -> bool:
        """Keep freed quota for a run that its own team's smaller runs have overtaken too often."""
        if self._first(group).passed_over < self._settings.patience or group.team in self._claims:
            return False
        if not self._ledger.is_within_whole_quota(group.team, group.demand.amount):
            return False
        self._claims.add(group.team)
        self._charge(group.team, group.user, group.demand.amount, 1)
        return True

    def _admit(self, group: Group, space: NodeSpace, standing: Standing) -> None:
        run = self._first(group)
        holding = choose(space, group.demand)
        self._fleet.take(space.node_id, holding)
        self._grants.append((group, space, holding))
        self._charge(group.team, group.user, group.demand.amount, 1)
        self._turns.started(group.team, group.user, group.demand.amount)
        group.started += 1
        self._starts_of_team[group.team] = self._starts_of_team.get(group.team, 0) + 1
        self._admissions.append(
            Admission(
                run_id=run.run_id,
                attempt=run.attempt,
                agent_id=holding.agent_id,
                node_id=space.node_id,
                lease=holding.lease(),
                ends_by=self._ends_by(run),
                borrowed=standing is Standing.BORROWED,
            )
        )

    def _ends_by(self, run: QueuedRun) -> datetime | None:
        limits = [limit for limit in (run.max_wall, self._ledger.teams[run.team].max_wall) if limit is not None]
        return self._now + min(limits) if limits else None

    def _no_room(self, group: Group, standing: Standing) -> Reason:
        """Do what can be done for a run that is allowed to start but fits nowhere, and say why it waits."""
        never = self._room.why_never(group.demand)
        if never is not None:
            return never
        self._note_passed(group, None)
        shortage = self._room.why_full(group.demand)
        if standing is Standing.OWN:
            lent = self._ledger.lent_out(group.team, group.demand.amount)
            if self._make_room(group):
                return lent or shortage
            self._reserve(group)
            return lent or shortage
        self._reserve(group)
        return shortage

    def _make_room(self, group: Group) -> bool:
        """Ask attempts to leave for as many runs of *group* as possible; tell whether there was one."""
        before = len(self._exceptions)
        for _, run_id in group.order[group.started :]:
            if len(self._preemptions) >= self._settings.max_preemptions:
                break
            run = self._line.runs[run_id]
            eviction = self._find_eviction(run, group)
            if eviction is None:
                break
            self._promise(run, group, eviction)
        return len(self._exceptions) > before

    def _find_eviction(self, run: QueuedRun, group: Group) -> Eviction | None:
        if why_capped(self._ledger, group.team, group.user, group.demand.amount) is not None:
            return None
        if self._evictions is None:
            self._evictions = Evictions(self._fleet, self._ledger, self._settings.min_runtime, self._now)
        return self._evictions.find(run, group.demand, self._room.holds)

    def _promise(self, run: QueuedRun, group: Group, eviction: Eviction) -> None:
        for victim in eviction.victims:
            attempt = victim.attempt
            amount = self._fleet.holding_of(attempt.run_id).amount
            self._charge(attempt.team, attempt.user, amount, -1)
            self._preemptions.append(
                Preemption(attempt.run_id, attempt.attempt, run.run_id, victim.cause, victim.lost_seconds)
            )
        self._charge(run.team, run.user, group.demand.amount, 1)
        self._room.hold(eviction.space, group.demand, None)
        node = eviction.space.node_id
        leaving = len(eviction.victims) + self._fleet.leaving_on(node)
        self._exceptions[run.run_id] = Reason.of(ReasonCode.MAKING_ROOM, leaving=leaving, node=node)

    def _reserve(self, group: Group) -> None:
        """Hold a node back for the first run of *group* once its patience is used up."""
        if len(self._reservations) >= self._settings.max_reservations:
            return
        run = self._first(group)
        if run.passed_over < self._settings.patience:
            return
        reserved = self._room.reserve(group.demand)
        if reserved is not None:
            space, free_by = reserved
            self._reservations.append(Reservation(run.run_id, space.node_id, free_by))
            when = f"free by {free_by:%Y-%m-%d %H:%M:%S} UTC" if free_by else "as soon as what runs there ends"
            self._exceptions[run.run_id] = Reason.of(ReasonCode.RESERVED, node=space.node_id, when=when)

    def _borrowers(self) -> list[dict[TeamName, dict[UserName, list[Group]]]]:
        classes: dict[int, dict[TeamName, dict[UserName, list[Group]]]] = {p: {} for p in self._line.classes}
        for group in self._would_borrow:
            classes[group.priority].setdefault(group.team, {}).setdefault(group.user, []).append(group)
        return list(classes.values())

    def _first(self, group: Group) -> QueuedRun:
        return self._line.runs[group.head()[1]]

    def _note_passed(self, group: Group, team: TeamName | None) -> None:
        run = self._first(group)
        if run.passed_over < self._settings.patience:
            self._passed.append((run.run_id, team, self._starts(team)))

    def _starts(self, team: TeamName | None) -> int:
        return len(self._admissions) if team is None else self._starts_of_team.get(team, 0)

    def _charge(self, team: TeamName, user: UserName, amount: Amount, sign: int) -> None:
        self._ledger.charge(team, user, amount, sign)
        self._charges.append((team, user, amount, sign))

    def _plan(self, expiries: tuple[Expiry, ...]) -> Plan:
        waiting = dict(self._line.not_due)
        for group, reason in self._reasons.items():
            waiting.update(dict.fromkeys(group.ids, reason))
        for admission in self._admissions:
            waiting.pop(admission.run_id, None)
        waiting.update(self._exceptions)
        return Plan(
            admissions=tuple(self._admissions),
            preemptions=tuple(self._preemptions),
            reservations=tuple(self._reservations),
            expiries=expiries,
            waiting=waiting,
            overtaken=tuple(run_id for run_id, team, starts in self._passed if self._starts(team) > starts),
        )

    def _undo(self) -> None:
        for group, space, holding in reversed(self._grants):
            group.started = 0
            self._fleet.give_back(space.node_id, holding)
        for team, user, amount, sign in reversed(self._charges):
            self._ledger.charge(team, user, amount, -sign)


class UserLine:
    """The users of one team that still have groups to try, lowest score first."""

    __slots__ = ("_groups", "_users")

    def __init__(self) -> None:
        self._users: list[tuple[float, Head, UserName]] = []
        self._groups: dict[UserName, list[tuple[Head, Group]]] = {}

    def add(self, score: float, user: UserName, groups: list[tuple[Head, Group]]) -> None:
        """Let *user* stand in line with *groups*, each with its oldest run."""
        heapify(groups)
        self._groups[user] = groups
        heappush(self._users, (score, groups[0][0], user))

    def first(self) -> Group | None:
        """Return the group whose turn it is; None when nobody is left."""
        return self._groups[self._users[0][2]][0][1] if self._users else None

    def head(self) -> Head:
        """Return the run whose turn it is."""
        return self._users[0][1]

    def started(self, score: float, head: Head | None) -> None:
        """Note the user's new *score* and the next run of the group, None when it has no more."""
        user = self._users[0][2]
        groups = self._groups[user]
        if head is not None:
            heapreplace(groups, (head, groups[0][1]))
        else:
            heappop(groups)
        if groups:
            heapreplace(self._users, (score, groups[0][0], user))
        else:
            heappop(self._users)

    def skip(self) -> None:
        """Try the first group no more in this pass."""
        groups = self._groups[self._users[0][2]]
        heappop(groups)
        if not groups:
            heappop(self._users)
