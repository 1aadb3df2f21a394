"""One scheduling round: who is served in which order, and what is decided for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from heapq import heapify, heappop, heappush

from mosaic.ids import TeamName, UserName
from mosaic.model.run import Priority
from mosaic_scheduler.domain.amount import Amount
from mosaic_scheduler.domain.caps import why_capped
from mosaic_scheduler.domain.draft import Draft
from mosaic_scheduler.domain.fairness import Turns, UserLine
from mosaic_scheduler.domain.fleet import Fleet
from mosaic_scheduler.domain.line import Group, WaitingLine
from mosaic_scheduler.domain.packing import choose
from mosaic_scheduler.domain.plan import Admission, Expiry, Plan
from mosaic_scheduler.domain.preemption import Eviction, Evictions
from mosaic_scheduler.domain.quota import Ledger, Standing
from mosaic_scheduler.domain.reasons import Reason
from mosaic_scheduler.domain.room import Room
from mosaic_scheduler.domain.run import QueuedRun
from mosaic_scheduler.domain.snapshot import PolicySettings, Usage
from mosaic_scheduler.domain.space import Holding, NodeSpace

#: Groups by team and user, within one priority class.
Class = dict[TeamName, dict[UserName, list[Group]]]


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
        self._evictions = Evictions(fleet, ledger, settings.min_runtime, now)
        self._draft = Draft()
        self._owners: dict[Priority, Class] = {priority: {} for priority in line.classes}
        self._borrowers: dict[Priority, Class] = {priority: {} for priority in line.classes}
        #: The group of each team for whose first run freed quota is kept.
        self._claims: dict[TeamName, Group] = {}
        self._grants: list[tuple[Group, NodeSpace, Holding]] = []
        self._charges: list[tuple[TeamName, UserName, Amount, int]] = []

    def decide(self, expiries: tuple[Expiry, ...]) -> Plan:
        """Return the plan; nothing is booked any more when it returns."""
        try:
            self._ledger.forget_answers()
            self._tell_owners_from_borrowers()
            self._claim_quota()
            for owners in self._owners.values():
                self._serve(owners, Standing.OWN)
            for borrowers in self._borrowers.values():
                self._serve(borrowers, Standing.BORROWED)
            return self._draft.plan(self._line.not_due, expiries)
        finally:
            self._undo()

    def _tell_owners_from_borrowers(self) -> None:
        """Sort the groups into those within quota and those beyond; starts only ever add to the latter."""
        standing, own = self._ledger.standing, Standing.OWN
        for priority, teams in self._line.classes.items():
            for team, users in teams.items():
                for groups in users.values():
                    for group in groups:
                        is_own = standing(team, group.demand.amount) is own
                        _file(group, (self._owners if is_own else self._borrowers)[priority])

    def _claim_quota(self) -> None:
        """Keep freed quota for runs that their own team's smaller runs have overtaken too often."""
        for teams in self._borrowers.values():
            for team, users in teams.items():
                overtaken = [group for groups in users.values() for group in groups if self._may_claim(group)]
                if overtaken and team not in self._claims:
                    self._claim(min(overtaken, key=Group.head))

    def _may_claim(self, group: Group) -> bool:
        return self._first(group).passed_over >= self._settings.patience and self._ledger.is_within_whole_quota(
            group.team, group.demand.amount
        )

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
        run = self._first(group)
        refusal = why_capped(self._ledger, group.team, group.user, group.demand.amount)
        if refusal is None:
            if standing is Standing.BORROWED:
                refusal = self._why_not_borrow(group, run)
            elif self._ledger.standing(group.team, group.demand.amount) is Standing.BORROWED:
                _file(group, self._borrowers[group.priority])
                return False
        space = self._room.find(group.demand) if refusal is None else None
        if space is not None:
            self._admit(group, run, space, standing)
            return True
        self._draft.wait(group, refusal or self._no_room(group, run, standing))
        return False

    def _why_not_borrow(self, group: Group, run: QueuedRun) -> Reason | None:
        amount = group.demand.amount
        claims = self._claims.get(group.team) is group
        refusal = self._why_not_claim(group) if claims else self._why_no_loan(group)
        if refusal is not None:
            self._pass_over(run, group.team)
            made = not self._ledger.is_overdrawn(group.team, amount) and self._make_room(group)
            if claims and not made:
                self._claim(group)
        return refusal

    def _why_not_claim(self, group: Group) -> Reason | None:
        """Withdraw the claim of *group* and ask for a loan as if nobody else kept quota.

        Claims keep quota from the small runs of the same team. Kept from each other, they would all
        gather for ever: whoever is served first may use what the others have gathered.
        """
        self._withdraw(group)
        others = tuple(self._claims.values())
        for other in others:
            self._withdraw(other)
        refusal = self._why_no_loan(group)
        for other in others:
            self._claim(other)
        return refusal

    def _why_no_loan(self, group: Group) -> Reason | None:
        recallable = group.resumable or not self._settings.lend_only_to_resumable
        return self._ledger.why_not_borrow(group.team, group.demand.amount, resumable=recallable)

    def _claim(self, group: Group) -> None:
        self._claims[group.team] = group
        self._charge(group.team, group.user, group.demand.amount, 1)

    def _withdraw(self, group: Group) -> None:
        del self._claims[group.team]
        self._charge(group.team, group.user, group.demand.amount, -1)

    def _admit(self, group: Group, run: QueuedRun, space: NodeSpace, standing: Standing) -> None:
        holding = choose(space, group.demand)
        self._fleet.take(space.node_id, holding)
        self._grants.append((group, space, holding))
        self._charge(group.team, group.user, group.demand.amount, 1)
        self._turns.started(group.team, group.user, group.demand.amount)
        group.started += 1
        admission = Admission(
            run_id=run.run_id,
            attempt=run.attempt,
            agent_id=holding.agent_id,
            node_id=space.node_id,
            lease=holding.lease(),
            ends_by=self._ends_by(run),
            borrowed=standing is Standing.BORROWED,
        )
        self._draft.admit(admission, group.team)

    def _ends_by(self, run: QueuedRun) -> datetime | None:
        team_limit = self._ledger.teams[run.team].max_wall
        limits = [limit for limit in (run.max_wall, team_limit) if limit is not None]
        return self._now + min(limits) if limits else None

    def _no_room(self, group: Group, run: QueuedRun, standing: Standing) -> Reason:
        """Do what can be done for a run that is allowed to start but fits nowhere, and say why it waits."""
        never = self._room.why_never(group.demand)
        if never is not None:
            return never
        self._pass_over(run, None)
        shortage = self._room.why_full(group.demand)
        lent = None
        if standing is Standing.OWN:
            lent = self._ledger.lent_out(group.team, group.demand.amount)
            if self._make_room(group):
                return lent or shortage
        if run.passed_over >= self._settings.patience:
            self._reserve(group, run)
        return lent or shortage

    def _make_room(self, group: Group) -> bool:
        """Ask attempts to leave for as many runs of *group* as possible; tell whether there was one."""
        made = False
        for _, run_id in group.order[group.started :]:
            run = self._line.runs[run_id]
            eviction = self._find_eviction(run, group)
            if eviction is None:
                break
            self._promise(run, group, eviction)
            made = True
        return made

    def _find_eviction(self, run: QueuedRun, group: Group) -> Eviction | None:
        if len(self._draft.preemptions) >= self._settings.max_preemptions:
            return None
        if why_capped(self._ledger, group.team, group.user, group.demand.amount) is not None:
            return None
        return self._evictions.find(run, group.demand, self._room.holds)

    def _promise(self, run: QueuedRun, group: Group, eviction: Eviction) -> None:
        """Count the victims as gone and the beneficiary as there, so that nothing is promised twice."""
        for victim in eviction.victims:
            left = victim.attempt
            self._charge(left.team, left.user, self._fleet.holding_of(left.run_id).amount, -1)
        self._charge(run.team, run.user, group.demand.amount, 1)
        node_id = eviction.space.node_id
        leaving = len(eviction.victims) + self._fleet.leaving_on(node_id)
        self._room.hold(eviction.space, group.demand, None)
        self._draft.make_room(run, eviction.victims, node_id, leaving)

    def _reserve(self, group: Group, run: QueuedRun) -> None:
        """Hold a node back for *run*, whose patience is used up, unless too many nodes are held back already."""
        full = len(self._draft.reservations) >= self._settings.max_reservations
        reserved = None if full else self._room.reserve(group.demand)
        if reserved is not None:
            space, free_by = reserved
            self._draft.reserve(run, space.node_id, free_by)

    def _pass_over(self, run: QueuedRun, by_team: TeamName | None) -> None:
        # Beyond patience the count no longer matters; not to raise it spares the queue a change.
        if run.passed_over < self._settings.patience:
            self._draft.pass_over(run, by_team)

    def _first(self, group: Group) -> QueuedRun:
        return self._line.runs[group.head()[1]]

    def _charge(self, team: TeamName, user: UserName, amount: Amount, sign: int) -> None:
        self._ledger.charge(team, user, amount, sign)
        self._turns.holds_changed(team, user)
        self._charges.append((team, user, amount, sign))

    def _undo(self) -> None:
        for group, space, holding in reversed(self._grants):
            group.started = 0
            self._fleet.give_back(space.node_id, holding)
        for team, user, amount, sign in reversed(self._charges):
            self._ledger.charge(team, user, amount, -sign)


def _file(group: Group, groups_of: Class) -> None:
    users = groups_of.get(group.team)
    if users is None:
        users = groups_of[group.team] = {}
    groups = users.get(group.user)
    if groups is None:
        users[group.user] = [group]
    else:
        groups.append(group)
