"""What holds for every plan, whatever the fleet and whoever waits."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mosaic.ids import GpuId, NodeId, RunId
from mosaic.model.run import Priority
from mosaic.model.team import Team
from mosaic_scheduler.domain.changes import (
    AgentGone,
    AgentIs,
    AttemptEnded,
    AttemptHolds,
    NodeGone,
    NodeIs,
    PlanningChange,
    RunLeftQueue,
    RunQueued,
    TeamIs,
    UsageFolded,
    changed,
)
from mosaic_scheduler.domain.enactment import PlanOutdated, enacted
from mosaic_scheduler.domain.plan import Plan
from mosaic_scheduler.domain.planner import Planner
from mosaic_scheduler.domain.policy import plan
from mosaic_scheduler.domain.reasons import ReasonCode
from mosaic_scheduler.domain.run import QueuedRun, ResumeGrade
from mosaic_scheduler.domain.snapshot import Agent, Node, PolicySettings, Snapshot, Usage
from tests.builders import NOON, a_node, a_run, a_team, an_agent, an_attempt, minutes

checked = settings(max_examples=40, deadline=None, derandomize=True, database=None)

TEAMS = ("vision", "nlp", "robotics")
WORKERS = ("cleanrl", "xuance")
NO_ROOM = {ReasonCode.NODES_FULL, ReasonCode.SLOTS_FULL, ReasonCode.GPU_MEMORY_FULL, ReasonCode.LENT_OUT}


@st.composite
def nodes(draw: st.DrawFn, number: int) -> Node:
    size = draw(st.sampled_from((0, 1, 2, 4)))
    node = a_node(f"n{number}", gpus=size, cpus=draw(st.sampled_from((4, 8))), memory_mb=64_000)
    return replace(node, healthy=draw(st.integers(0, 9)) > 0, draining=draw(st.integers(0, 9)) == 0)


@st.composite
def agents(draw: st.DrawFn, number: int, worker: str) -> Agent:
    slots = draw(st.sampled_from((1, 2, 8)))
    return an_agent(f"n{number}", worker=worker, slots=slots)


@st.composite
def runs(draw: st.DrawFn, number: int) -> QueuedRun:
    gpus, fraction = draw(st.sampled_from(((0, 0.0), (1, 0.0), (2, 0.0), (4, 0.0), (0, 0.5), (0, 0.3))))
    return a_run(
        f"r{number:02}",
        gpus=gpus,
        gpu_fraction=fraction,
        cpus=draw(st.sampled_from((0.5, 1, 2))),
        memory_mb=draw(st.sampled_from((0, 16_000))),
        team=draw(st.sampled_from(TEAMS)),
        user=draw(st.sampled_from(("ada", "bob"))),
        worker=draw(st.sampled_from(WORKERS)),
        priority=draw(st.sampled_from(Priority)),
        waited=minutes(draw(st.integers(0, 5))),
        max_wall=draw(st.sampled_from((None, minutes(5), minutes(60)))),
        not_before=draw(st.sampled_from((None, None, None, NOON + minutes(3)))),
        resume_grade=draw(st.sampled_from((None, ResumeGrade.EXACT, ResumeGrade.RESTARTS))),
        passed_over=draw(st.sampled_from((0, 0, 2, 3))),
    )


@st.composite
def teams(draw: st.DrawFn, name: str) -> Team:
    limits = st.sampled_from((None, 0, 1, 2))
    return a_team(
        name,
        gpus=draw(st.sampled_from((None, 0, 2, 4))),
        weight=draw(st.sampled_from((1.0, 2.0))),
        lending_limit_gpus=draw(limits),
        borrowing_limit_gpus=draw(limits),
        max_running=draw(st.sampled_from((None, None, 3))),
        max_running_per_user=draw(st.sampled_from((None, None, 2))),
    )


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """A fleet in the middle of its work: some of the runs were started by an earlier plan."""
    numbers = range(draw(st.integers(1, 4)))
    fleet = Snapshot(
        nodes=tuple(draw(nodes(number)) for number in numbers),
        agents=tuple(draw(agents(number, worker)) for number in numbers for worker in WORKERS),
        teams=tuple(draw(teams(name)) for name in TEAMS),
        queued=tuple(draw(runs(number)) for number in range(draw(st.integers(0, 8)))),
        usage=Usage(NOON, {a_team(name).name: draw(st.sampled_from((0.0, 0.2, 0.7))) for name in TEAMS}),
        settings=PolicySettings(patience=3, min_runtime=minutes(1)),
    )
    earlier = NOON - minutes(10)
    begun = enacted(fleet, plan(fleet, now=earlier), now=earlier)
    more = tuple(draw(runs(number)) for number in range(20, 20 + draw(st.integers(0, 8))))
    return replace(begun, queued=(*begun.queued, *more))


@checked
@given(snapshots())
def test_every_queued_run_either_starts_or_is_told_why_not(snapshot: Snapshot) -> None:
    decided = plan(snapshot, now=NOON)

    starts = [admission.run_id for admission in decided.admissions]
    assert sorted(run.run_id for run in snapshot.queued) == sorted([*starts, *decided.waiting])
    assert all(reason.sentence() for reason in decided.waiting.values())


@checked
@given(snapshots())
def test_no_gpu_share_exceeds_one_and_no_node_is_oversubscribed(snapshot: Snapshot) -> None:
    after = enacted(snapshot, plan(snapshot, now=NOON), now=NOON)

    shares: Counter[GpuId] = Counter()
    memory: Counter[GpuId] = Counter()
    held: defaultdict[NodeId, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for attempt in after.running:
        held[attempt.node_id][0] += attempt.lease.cpus
        held[attempt.node_id][1] += attempt.lease.memory_mb
        for gpu in attempt.lease.gpus:
            shares[gpu.gpu_id] += round(gpu.share * 1000)
            memory[gpu.gpu_id] += gpu.memory_mb
    sizes = {gpu.gpu_id: gpu.memory_mb for node in after.nodes for gpu in node.gpus}
    assert all(share <= 1000 for share in shares.values())
    assert all(memory[gpu_id] <= sizes[gpu_id] for gpu_id in memory)
    for node in after.nodes:
        cpus, memory_mb = held[node.node_id]
        assert cpus <= node.cpus
        assert memory_mb <= node.memory_mb


@checked
@given(snapshots())
def test_no_run_is_admitted_without_an_agent_that_fits(snapshot: Snapshot) -> None:
    decided = plan(snapshot, now=NOON)

    agents_by_id = {agent.agent_id: agent for agent in snapshot.agents}
    nodes_by_id = {node.node_id: node for node in snapshot.nodes}
    queued = {run.run_id: run for run in snapshot.queued}
    busy = Counter(attempt.agent_id for attempt in snapshot.running)
    for admission in decided.admissions:
        run, agent, node = queued[admission.run_id], agents_by_id[admission.agent_id], nodes_by_id[admission.node_id]
        busy[agent.agent_id] += 1
        assert (run.worker, admission.node_id) == (agent.worker, agent.node_id)
        assert node.healthy
        assert not node.draining
        assert busy[agent.agent_id] <= agent.slots


@checked
@given(snapshots())
def test_no_quota_is_exceeded_without_lending(snapshot: Snapshot) -> None:
    decided = plan(snapshot, now=NOON)
    after = enacted(snapshot, decided, now=NOON)

    if any(admission.borrowed and admission.lease.gpus for admission in decided.admissions):
        assert _borrowed_gpus(after) <= _lendable_gpus(after)
    teams_by_name = {team.name: team for team in snapshot.teams}
    held, before = _held_gpus(after), _held_gpus(snapshot)
    for name, team in teams_by_name.items():
        limit, quota = team.borrowing_limit_gpus, team.quota.gpus
        if held[name] > before[name] and limit is not None and quota is not None:
            assert held[name] <= 1000 * (quota + limit)


@checked
@given(snapshots())
def test_caps_hold(snapshot: Snapshot) -> None:
    after = enacted(snapshot, plan(snapshot, now=NOON), now=NOON)

    of_team = Counter(attempt.team for attempt in after.running)
    of_user = Counter((attempt.team, attempt.user) for attempt in after.running)
    for team in snapshot.teams:
        assert team.max_running is None or of_team[team.name] <= team.max_running
        cap = team.max_running_per_user
        assert cap is None or all(count <= cap for (name, _), count in of_user.items() if name == team.name)


@checked
@given(snapshots(), st.randoms(use_true_random=False))
def test_permuting_the_inputs_changes_nothing(snapshot: Snapshot, rng: object) -> None:
    def shuffled(values: tuple[object, ...]) -> tuple[object, ...]:
        mixed = list(values)
        rng.shuffle(mixed)  # type: ignore[attr-defined]
        return tuple(mixed)

    fields = ("nodes", "agents", "teams", "queued", "running")
    mixed = replace(snapshot, **{name: shuffled(getattr(snapshot, name)) for name in fields})

    assert plan(snapshot, now=NOON) == plan(mixed, now=NOON)


@checked
@given(snapshots())
def test_planning_changes_nothing(snapshot: Snapshot) -> None:
    planner = Planner(snapshot)

    assert planner.plan(NOON) == planner.plan(NOON)


@checked
@given(snapshots())
def test_a_plan_that_starts_something_is_refused_the_second_time(snapshot: Snapshot) -> None:
    decided = plan(snapshot, now=NOON)
    after = enacted(snapshot, decided, now=NOON)

    if decided.admissions or decided.preemptions:
        with pytest.raises(PlanOutdated):
            enacted(after, decided, now=NOON)


@checked
@given(snapshots())
def test_no_run_waits_for_room_while_it_fits(snapshot: Snapshot) -> None:
    """Work conservation: alone in the queue of the fleet the plan leaves behind, it still finds no room."""
    decided = plan(snapshot, now=NOON)
    after = enacted(snapshot, replace(decided, preemptions=(), expiries=()), now=NOON)

    for run in snapshot.queued:
        reason = decided.waiting.get(run.run_id)
        if reason is not None and reason.code in NO_ROOM:
            alone = plan(replace(after, queued=(replace(run, passed_over=0),)), now=NOON)
            assert () == alone.admissions


@checked
@given(snapshots())
def test_no_plan_asks_more_to_leave_than_it_must(snapshot: Snapshot) -> None:
    """Victims can resume, have run long enough, and leave once, each for another run."""
    decided = plan(snapshot, now=NOON)

    running = {attempt.run_id: attempt for attempt in snapshot.running}
    assert len({victim.run_id for victim in decided.preemptions}) == len(decided.preemptions)
    for victim in decided.preemptions:
        attempt = running[victim.run_id]
        assert attempt.resume_grade is not None
        assert attempt.resume_grade.is_proven
        assert victim.beneficiary in decided.waiting


@st.composite
def change_lists(draw: st.DrawFn) -> list[PlanningChange]:
    gpu = st.sampled_from((0, 1))
    change = st.one_of(
        st.builds(RunQueued, st.integers(0, 40).flatmap(runs)),
        st.builds(lambda number: RunLeftQueue(RunId(f"r{number:02}")), st.integers(0, 30)),
        st.builds(lambda number: AttemptEnded(RunId(f"r{number:02}")), st.integers(0, 30)),
        st.builds(lambda number: AttemptEnded(RunId(f"r{number:02}")), st.integers(0, 8)),
        st.builds(
            lambda number, on, index: AttemptHolds(an_attempt(f"x{number}", on=f"n{on}", gpus=(index,), share=0.1)),
            st.integers(0, 3),
            st.integers(0, 4),
            gpu,
        ),
        st.builds(NodeIs, st.integers(0, 4).flatmap(nodes)),
        st.builds(lambda number: NodeGone(NodeId(f"n{number}")), st.integers(0, 4)),
        st.builds(AgentIs, st.integers(0, 4).flatmap(lambda number: agents(number, "cleanrl"))),
        st.builds(lambda number: AgentGone(an_agent(f"n{number}").agent_id), st.integers(0, 4)),
        st.builds(TeamIs, st.sampled_from(TEAMS).flatmap(teams)),
        st.builds(lambda use: UsageFolded(Usage(NOON, {a_team("nlp").name: use})), st.sampled_from((0.1, 0.9))),
    )
    return draw(st.lists(change, max_size=6))


@checked
@given(snapshots(), st.lists(change_lists(), min_size=1, max_size=4))
def test_a_planner_told_the_changes_plans_like_a_new_one(
    snapshot: Snapshot, rounds: list[list[PlanningChange]]
) -> None:
    planner, now = Planner(snapshot), NOON
    for changes in rounds:
        decided = planner.plan(now)
        snapshot = _carried_out(snapshot, planner, decided, now)
        changes = _possible(changes, snapshot)
        planner.apply(changes)
        snapshot = changed(snapshot, changes)
        now += minutes(1)

        assert plan(snapshot, now=now) == planner.plan(now)


@settings(checked, max_examples=30)
@given(snapshots())
def test_every_run_that_can_be_held_ends(snapshot: Snapshot) -> None:
    """Attempts end, victims return, and the queue empties but for what can never start."""
    hopeless = {
        ReasonCode.TOO_BIG,
        ReasonCode.WORKER_ABSENT,
        ReasonCode.WORKER_AWAY,
        ReasonCode.QUOTA_USED,
        ReasonCode.BORROWING_LIMIT,
    }
    now = NOON
    for _ in range(80):
        now += minutes(2)
        decided = plan(snapshot, now=now)
        snapshot = _a_round_later(enacted(snapshot, decided, now=now), decided, now)
        if not snapshot.running and {reason.code for reason in decided.waiting.values()} <= hopeless:
            break
    else:
        pytest.fail(f"still waiting: {[reason.sentence() for reason in decided.waiting.values()]}")

    assert all(decided.waiting[run.run_id].code in hopeless for run in snapshot.queued)


@settings(checked, max_examples=20)
@given(st.integers(1, 4), st.integers(1, 3), st.sampled_from(("vision", "nlp")), st.sampled_from(("ada", "bob")))
def test_a_gang_is_not_starved_by_a_stream_of_small_runs(per_round: int, lasting: int, team: str, user: str) -> None:
    """Small runs arrive for ever, whosever they are; the gang of four starts all the same."""
    fleet = Snapshot(
        nodes=(a_node("n0", gpus=4),),
        agents=(an_agent("n0"),),
        teams=(a_team("vision"), a_team("nlp")),
        queued=(a_run("gang", gpus=4),),
        running=(an_attempt("first", on="n0", team=team, user=user, resume_grade=None, ran=minutes(0)),),
        settings=PolicySettings(patience=3),
    )
    now = NOON
    for number in range(30):
        now += minutes(1)
        arrived = tuple(a_run(f"s{number:02}-{index}", team=team, user=user) for index in range(per_round))
        ended = [AttemptEnded(a.run_id) for a in fleet.running if now - a.started_at >= minutes(lasting)]
        fleet = changed(fleet, [*map(RunQueued, arrived), *ended])
        fleet = enacted(fleet, plan(fleet, now=now), now=now)
        if any(attempt.run_id == "gang" for attempt in fleet.running):
            return
    pytest.fail("the gang never started")


@settings(checked, max_examples=30)
@given(snapshots())
def test_no_two_runs_evict_each_other_in_turn(snapshot: Snapshot) -> None:
    evicted: set[tuple[RunId, RunId]] = set()
    now = NOON
    for _ in range(20):
        now += minutes(2)
        decided = plan(snapshot, now=now)
        for victim in decided.preemptions:
            assert (victim.beneficiary, victim.run_id) not in evicted
            evicted.add((victim.run_id, victim.beneficiary))
        snapshot = _victims_return(enacted(snapshot, decided, now=now), decided, now)


def _possible(changes: list[PlanningChange], snapshot: Snapshot) -> list[PlanningChange]:
    """Leave out what cannot happen: a run whose attempt still holds a lease does not wait."""
    running = {attempt.run_id for attempt in snapshot.running}
    return [change for change in changes if not (isinstance(change, RunQueued) and change.run.run_id in running)]


def _carried_out(snapshot: Snapshot, planner: Planner, decided: Plan, now: datetime) -> Snapshot:
    after = enacted(snapshot, decided, now=now)
    before = {attempt.run_id: attempt for attempt in snapshot.running}
    planner.apply(AttemptHolds(a) for a in after.running if before.get(a.run_id) != a)
    planner.apply(map(RunQueued, after.queued))
    return after


def _a_round_later(snapshot: Snapshot, decided: Plan, now: datetime) -> Snapshot:
    """Let half of the attempts end, oldest first, after the victims have returned to the queue."""
    returned = _victims_return(snapshot, decided, now)
    by_age = sorted(returned.running, key=lambda attempt: (attempt.started_at, attempt.run_id))
    ending = by_age[: (len(by_age) + 1) // 2]
    return changed(returned, [AttemptEnded(attempt.run_id) for attempt in ending])


def _victims_return(snapshot: Snapshot, decided: Plan, now: datetime) -> Snapshot:
    running = {attempt.run_id: attempt for attempt in snapshot.running}
    changes: list[PlanningChange] = []
    for victim in decided.preemptions:
        attempt = running[victim.run_id]
        changes.append(AttemptEnded(victim.run_id))
        changes.append(
            RunQueued(
                a_run(
                    victim.run_id,
                    gpus=round(attempt.lease.gpu_total) if attempt.lease.gpu_total >= 1 else 0,
                    gpu_fraction=attempt.lease.gpu_total if attempt.lease.gpu_total < 1 else 0.0,
                    cpus=attempt.lease.cpus,
                    memory_mb=attempt.lease.memory_mb,
                    team=attempt.team,
                    user=attempt.user,
                    worker=attempt.worker,
                    priority=attempt.priority,
                    attempt=attempt.attempt + 1,
                    resume_grade=attempt.resume_grade,
                    evicted_for=frozenset({victim.beneficiary}),
                )
            )
        )
    expired = [AttemptEnded(expiry.run_id) for expiry in decided.expiries]
    return changed(snapshot, [*changes, *expired])


def _held_gpus(snapshot: Snapshot) -> Counter[str]:
    held: Counter[str] = Counter()
    for attempt in snapshot.running:
        held[attempt.team] += sum(round(gpu.share * 1000) for gpu in attempt.lease.gpus)
    return held


def _borrowed_gpus(snapshot: Snapshot) -> float:
    held = _held_gpus(snapshot)
    quotas = {team.name: team.quota.gpus for team in snapshot.teams}
    return sum(max(0, held[name] - 1000 * quota) for name, quota in quotas.items() if quota is not None) + sum(
        held[name] for name, quota in quotas.items() if quota is None
    )


def _lendable_gpus(snapshot: Snapshot) -> float:
    """What nobody's quota claims, and the idle part of each quota as far as its team lends it."""
    capacity = sum(1000 * len(node.gpus) for node in snapshot.nodes if node.healthy)
    held = _held_gpus(snapshot)
    claimed = lent = 0.0
    for team in snapshot.teams:
        if team.quota.gpus is not None:
            claimed += 1000 * team.quota.gpus
            idle = max(0, 1000 * team.quota.gpus - held[team.name])
            limit = team.lending_limit_gpus
            lent += idle if limit is None else min(idle, 1000 * limit)
    return capacity - claimed + lent
