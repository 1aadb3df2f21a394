"""Databases of earlier releases are brought up to date by the next start, with nothing lost."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import Engine

from mosaic.hosting.database import migrate, open_engine
from mosaic.ids import AgentId, GpuId, NodeId, RunId, TeamName, UserName, WorkerName
from mosaic.lifecycle import AttemptState, RunState
from mosaic.model.attempt import Directive
from mosaic.model.resources import GpuShare, Lease, Resources
from mosaic.model.run import Change, Priority, RunFilter, RunSpec
from mosaic.model.team import Quota, Team
from mosaic_scheduler.adapters.sql_runs import SqlRuns
from mosaic_scheduler.handlers.submit import Request
from mosaic_scheduler.ports import OutboxKind
from mosaic_telemetry.adapters.sql_events import SqlEvents

DUMPS = Path(__file__).parents[1] / "golden" / "databases"
NOON = datetime(2030, 1, 1, 12, tzinfo=timezone.utc)

SPEC = RunSpec(
    worker=WorkerName("reference"),
    config={"env_id": "CartPole-v1", "total_steps": 10},
    seed=3,
    name="first",
    team=TeamName("vision"),
    user=UserName("ada"),
    priority=Priority.HIGH,
    resources=Resources(2.0, 1024, 1, 0.0, 8000),
    max_wall=timedelta(hours=1),
    max_retries=2,
    hang_limit=timedelta(minutes=5),
    labels={"a": "b"},
    secrets={"TOKEN": "hub"},
    environment={"X": "1"},
)


def restored(dump: str, folder: Path, migrations: str) -> Engine:
    """Return the database that *dump* holds, after the next start."""
    file = folder / "old.db"
    with sqlite3.connect(file) as connection:
        connection.executescript((DUMPS / dump).read_text())
    connection.close()
    engine = open_engine(f"sqlite:///{file}")
    migrate(engine, migrations)
    return engine


@pytest.fixture
def runs(tmp_path: Path) -> SqlRuns:
    return SqlRuns(restored("scheduler_0003.sql", tmp_path, "mosaic_scheduler.adapters.migrations"))


def test_runs_keep_what_was_asked_for(runs: SqlRuns) -> None:
    with runs.read() as work:
        waiting = work.run(RunId("run-queued"))

    assert waiting is not None
    assert SPEC == waiting.spec
    assert (RunState.QUEUED, NOON + timedelta(minutes=1)) == (waiting.state, waiting.not_before)
    assert ("crash", "it broke", {"other"}) == (waiting.reason_code, waiting.reason, waiting.evicted_for)


def test_attempts_keep_what_is_wanted_of_them(runs: SqlRuns) -> None:
    with runs.read() as work:
        (leaving,) = work.attempts(RunId("run-leaving"))
        history = work.history(RunId("run-leaving"))

    assert (Directive.PREEMPT, AttemptState.STOPPING) == (leaving.directive, leaving.state)
    assert Lease(2.0, 1024, (GpuShare(GpuId("gpu-1"), 1.0, 8000),)) == leaving.lease
    assert (AgentId("agent-1"), NodeId("n1"), "d" * 64) == (leaving.agent_id, leaving.node_id, leaving.control_digest)
    told = ("admitted", "queued", "admitted", "scheduler", "to agent agent-1")
    assert [Change(RunId("run-leaving"), 1, NOON, *told)] == history


def test_teams_keep_their_terms(runs: SqlRuns) -> None:
    with runs.read() as work:
        (team,) = work.teams()

    kept = Team(
        TeamName("vision"), 2.0, Quota(gpus=4.0), lending_limit_gpus=1.0, max_running=5, max_wall=timedelta(hours=2)
    )
    assert kept == team


def test_what_had_not_left_still_leaves(runs: SqlRuns) -> None:
    left = [(message.kind, message.run_id, message.attempt) for message in runs.outbox(limit=3)]

    dispatch = (OutboxKind.DISPATCH, "run-leaving", 1)
    assert [dispatch, dispatch, (OutboxKind.RUN_FINISHED, "run-ended", 1)] == left


def test_telemetry_is_told_whose_the_runs_from_before_are(runs: SqlRuns) -> None:
    told = {one.run_id: one.payload for one in runs.outbox(limit=10) if one.kind is OutboxKind.RUN_ACCEPTED}

    with runs.read() as work:
        known = work.list_runs(RunFilter(), limit=10, before="")
    assert {run.run_id: {"team": run.spec.team, "user": run.spec.user} for run in known} == told
    assert 3 == len(told)


def test_a_submit_repeated_after_the_upgrade_is_known(runs: SqlRuns) -> None:
    with runs.read() as work:
        known = work.runs_of_key(TeamName("vision"), "key-1")

    assert (Request(replace(SPEC, not_before=NOON), seeds=(1, 2)).digest(), ["run-queued"]) == known


def test_manifests_and_what_they_are_written_from_are_kept(tmp_path: Path) -> None:
    store = SqlEvents(restored("telemetry_0002.sql", tmp_path, "mosaic_telemetry.adapters.migrations"))

    written, (due,) = store.finished_run("run-ended"), store.stale_manifests()

    assert written is not None
    assert ("sha256:1", "/x/run-ended.json") == (written.digest, written.path)
    spec = replace(SPEC, name="second", continues="run-x")
    kept = due.finished.run.spec
    assert (spec.run_digest, spec.labels, spec.resources) == (kept.run_digest, kept.labels, kept.resources)
    assert ("run-due", RunState.SUCCEEDED, NOON) == (
        due.finished.run.run_id,
        due.finished.run.state,
        due.finished.run.ended_at,
    )
    (attempt,) = due.finished.attempts
    assert (41, 0, ("gpu-1",)) == (attempt.last_seq, attempt.exit_code, attempt.lease.gpu_ids)
