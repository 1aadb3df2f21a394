"""Values for tests: say only what the test is about, the rest is filled in."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from mosaic.ids import AgentId, GpuId, NodeId, RunId, TeamName, UserName, WorkerName
from mosaic.model.resources import GpuShare, Lease, Resources
from mosaic.model.run import Priority
from mosaic.model.team import Quota, Team
from mosaic_scheduler.domain.plan import Plan
from mosaic_scheduler.domain.run import QueuedRun, ResumeGrade, RunningAttempt
from mosaic_scheduler.domain.snapshot import Agent, Gpu, Node, Snapshot

#: The instant at which tests plan.
NOON = datetime(2030, 1, 1, 12, 0, tzinfo=timezone.utc)


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def a_run(
    run_id: str = "run-1",
    *,
    gpus: int = 1,
    cpus: float = 1,
    memory_mb: int = 0,
    gpu_fraction: float = 0.0,
    gpu_memory_mb: int = 0,
    team: str = "vision",
    user: str = "ada",
    worker: str = "cleanrl",
    priority: Priority = Priority.NORMAL,
    waited: timedelta = timedelta(minutes=1),
    **more: Any,
) -> QueuedRun:
    return QueuedRun(
        run_id=RunId(run_id),
        team=TeamName(team),
        user=UserName(user),
        worker=WorkerName(worker),
        resources=Resources(cpus, memory_mb, 0 if gpu_fraction else gpus, gpu_fraction, gpu_memory_mb),
        submitted_at=NOON - waited,
        priority=priority,
        **more,
    )


def a_node(node_id: str = "n1", *, gpus: int = 8, cpus: float = 64, memory_mb: int = 512_000, **more: Any) -> Node:
    gpu_memory_mb = more.pop("gpu_memory_mb", 80_000)
    cards = tuple(Gpu(GpuId(f"{node_id}-gpu{index}"), gpu_memory_mb) for index in range(gpus))
    return Node(NodeId(node_id), cpus, memory_mb, more.pop("cards", cards), **more)


def an_agent(node_id: str = "n1", *, worker: str = "cleanrl", **more: Any) -> Agent:
    agent_id = more.pop("agent_id", f"{worker}@{node_id}")
    return Agent(AgentId(agent_id), NodeId(node_id), WorkerName(worker), **more)


def a_team(name: str = "vision", *, gpus: float | None = None, **more: Any) -> Team:
    return Team(TeamName(name), quota=more.pop("quota", Quota(gpus=gpus)), **more)


def an_attempt(
    run_id: str = "old-1",
    *,
    on: str = "n1",
    gpus: tuple[int, ...] = (0,),
    share: float = 1.0,
    gpu_memory_mb: int = 80_000,
    cpus: float = 1,
    memory_mb: int = 0,
    team: str = "vision",
    user: str = "ada",
    worker: str = "cleanrl",
    ran: timedelta = timedelta(hours=1),
    resume_grade: ResumeGrade | None = ResumeGrade.EXACT,
    **more: Any,
) -> RunningAttempt:
    """Build an attempt on the GPUs of node *on* with these numbers."""
    shares = tuple(GpuShare(GpuId(f"{on}-gpu{index}"), share, gpu_memory_mb) for index in gpus)
    return RunningAttempt(
        run_id=RunId(run_id),
        attempt=1,
        team=TeamName(team),
        user=UserName(user),
        worker=WorkerName(worker),
        agent_id=AgentId(more.pop("agent_id", f"{worker}@{on}")),
        node_id=NodeId(on),
        lease=Lease(cpus, memory_mb, shares),
        started_at=NOON - ran,
        resume_grade=resume_grade,
        **more,
    )


def a_fleet(*nodes: Node, workers: tuple[str, ...] = ("cleanrl",), **more: Any) -> Snapshot:
    """Build a snapshot of *nodes*, one healthy agent of each worker on each."""
    agents = tuple(an_agent(node.node_id, worker=worker) for node in nodes for worker in workers)
    teams = more.pop("teams", (a_team("vision"), a_team("nlp")))
    return Snapshot(nodes=nodes, agents=more.pop("agents", agents), teams=teams, **more)


def started(plan: Plan) -> dict[str, str]:
    """Return which runs start, and on which node."""
    return {admission.run_id: admission.node_id for admission in plan.admissions}


def why(plan: Plan, run_id: str) -> str:
    """Return why a run waits, in words."""
    return plan.waiting[RunId(run_id)].sentence()
