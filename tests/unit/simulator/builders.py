"""Traces and fleets for the simulation's tests."""

from __future__ import annotations

from typing import Any

from mosaic.ids import RunId, TeamName, UserName, WorkerName
from mosaic.model.resources import Resources
from mosaic.model.team import Quota, Team
from mosaic_scheduler.domain.run import ResumeGrade
from mosaic_simulator.fleet import Fleet, NodeGroup
from mosaic_simulator.trace import NodeEvent, Trace, TracedRun


def a_traced_run(run_id: str = "r1", at: float = 0.0, work: float = 100.0, **more: Any) -> TracedRun:
    gpus = more.pop("gpus", 1)
    return TracedRun(
        run_id=RunId(run_id),
        team=TeamName(more.pop("team", "vision")),
        user=UserName(more.pop("user", "ada")),
        worker=WorkerName("cleanrl"),
        at=at,
        work_seconds=work,
        resources=more.pop("requirements", Resources(cpus=1, memory_mb=0, gpus=gpus)),
        checkpoint_seconds=more.pop("checkpoint_seconds", 60.0),
        resume_grade=more.pop("resume_grade", ResumeGrade.EXACT),
        **more,
    )


def a_trace(*runs: TracedRun, node_events: tuple[NodeEvent, ...] = ()) -> Trace:
    return Trace(runs, node_events)


def a_small_fleet(*teams: Team, nodes: int = 1, gpus: int = 1) -> Fleet:
    group = NodeGroup("node", cpus=16, memory_mb=64_000, workers=(WorkerName("cleanrl"),), count=nodes, gpus=gpus)
    return Fleet((group,), teams or (a_tenant("vision"),))


def a_tenant(name: str, gpus: float | None = None, weight: float = 1.0) -> Team:
    return Team(TeamName(name), weight=weight, quota=Quota(gpus=gpus))
