"""The scheduler's store: the same behaviour on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine

from mosaic.errors import BadInput
from mosaic.hosting.database import open_engine
from mosaic.ids import AgentId, GpuId, NodeId, RunId, TeamName, UserName, WorkerName
from mosaic.lifecycle import AttemptState, RunState
from mosaic_scheduler.adapters.sql_runs import SqlRuns
from mosaic_scheduler.adapters.tables import metadata
from mosaic_scheduler.domain.entries import AttemptEntry, HistoryEntry, RunEntry, RunSpec, Wish
from mosaic_scheduler.domain.run import GpuShare, Lease, PriorityClass, Requirements
from mosaic_scheduler.domain.snapshot import Quota, Team, Usage
from mosaic_scheduler.ports import OutboxMessage, RunFilter, RunStore

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, migrated_url: Callable[[str, str], str]) -> Iterator[Engine]:
    opened = open_engine(migrated_url(request.param, "mosaic_scheduler.adapters.migrations"))
    yield opened
    opened.dispose()


@pytest.fixture
def store(engine: Engine) -> RunStore:
    return SqlRuns(engine)


def a_run(run_id: str = "01A", **changes: object) -> RunEntry:
    spec = RunSpec(
        WorkerName("toy"),
        {"env_id": "CartPole-v1", "nested": {"lr": 0.1}},
        TeamName("vision"),
        UserName("ada"),
        seed=3,
        priority=PriorityClass.HIGH,
        requirements=Requirements(2, 1024, 1),
        max_wall=timedelta(hours=2),
        labels={"sweep": "7"},
        secrets={"KEY": "name"},
    )
    entry = RunEntry(RunId(run_id), spec, RunState.QUEUED, NOON, NOON, evicted_for=frozenset({RunId("01Z")}))
    return replace(entry, **changes)  # type: ignore[arg-type]


def an_attempt(run_id: str = "01A", number: int = 1, **changes: object) -> AttemptEntry:
    lease = Lease(2.0, 1024, (GpuShare(GpuId("gpu-1"), 0.5, 8000),))
    entry = AttemptEntry(
        RunId(run_id),
        number,
        AttemptState.ADMITTED,
        AgentId("a1"),
        NodeId("n1"),
        lease,
        NOON,
        NOON + timedelta(seconds=30),
    )
    return replace(entry, **changes)  # type: ignore[arg-type]


def save(store: RunStore, run: RunEntry, *attempts: AttemptEntry) -> RunEntry:
    with store.write() as work:
        saved = work.save_run(run)
        for attempt in attempts:
            work.save_attempt(attempt)
    return saved


def test_what_is_saved_is_read_back_whole(store: RunStore) -> None:
    attempt = an_attempt(wish=Wish.PAUSE, versions={"python": "3.11"}, exit_code=-9, claimed_at=NOON)
    run = save(store, a_run(attempt=1, not_before=NOON), attempt)

    with store.read() as work:
        assert run == work.run(RunId("01A"))
        assert [attempt] == work.attempts(RunId("01A"))


def test_saving_again_replaces(store: RunStore) -> None:
    first = save(store, a_run())
    second = save(store, replace(first, state=RunState.CANCELLED, reason="enough"))

    with store.read() as work:
        assert second == work.run(RunId("01A"))
    assert second.revision > first.revision


def test_changes_are_told_from_a_revision_on_with_the_attempt_that_counts(store: RunStore) -> None:
    old = save(store, a_run("01A"))
    save(store, a_run("01B", attempt=2), an_attempt("01B", 1), an_attempt("01B", 2))

    with store.read() as work:
        changed = work.changed_since(old.revision)

    assert [("01B", 2)] == [(run.run_id, attempt.attempt) for run, attempt in changed if attempt]


def test_a_transaction_that_fails_leaves_nothing(store: RunStore) -> None:
    def fail() -> None:
        with store.write() as work:
            work.save_run(a_run())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    with store.read() as work:
        assert work.run(RunId("01A")) is None


def test_ended_runs_are_not_active(store: RunStore) -> None:
    save(store, a_run("01A"))
    save(store, a_run("01B", state=RunState.SUCCEEDED))

    with store.read() as work:
        assert ["01A"] == [run.run_id for run, _ in work.active()]


def test_lists_are_newest_first_filtered_and_paged(store: RunStore) -> None:
    for number in range(5):
        save(store, a_run(f"01{number}", state=RunState.QUEUED if number % 2 else RunState.FAILED))

    with store.read() as work:
        queued = work.list_runs(RunFilter(states=frozenset({RunState.QUEUED})), limit=10, before="")
        page = work.list_runs(RunFilter(team="vision", labels={"sweep": "7"}), limit=2, before="013")
        nobody = work.list_runs(RunFilter(labels={"sweep": "8"}), limit=10, before="")

    assert ["013", "011"] == [run.run_id for run in queued]
    assert ["012", "011"] == [run.run_id for run in page]
    assert [] == nobody


def test_leases_are_extended_without_telling_anybody(store: RunStore) -> None:
    run = save(store, a_run(attempt=1), an_attempt())
    later = NOON + timedelta(minutes=5)

    store.extend_leases([(RunId("01A"), 1)], later)

    with store.read() as work:
        attempt = work.attempt(RunId("01A"), 1)
        assert attempt is not None
        assert later == attempt.lease_until
        assert [] == work.changed_since(run.revision)
        assert [] == work.overdue(NOON + timedelta(minutes=4))
        assert [attempt] == work.overdue(NOON + timedelta(minutes=6))


def test_the_outbox_keeps_what_was_not_sent_in_order(store: RunStore) -> None:
    with store.write() as work:
        first = work.send_later(OutboxMessage("ring", RunId("01A"), 1, {"agent_id": "a1"}))
        second = work.send_later(OutboxMessage("seal", RunId("01A"), 1, {"outcome": "failed"}))

    assert [first, second] == store.outbox(10)
    store.sent([first.message_id])

    assert [second] == store.outbox(10)


def test_history_is_kept_in_order(store: RunStore) -> None:
    entries = [
        HistoryEntry(RunId("01A"), number, NOON, "requeued", "running", "queued", "scheduler", "lost")
        for number in (1, 2)
    ]
    with store.write() as work:
        work.add_history(entries)

    with store.read() as work:
        assert entries == work.history(RunId("01A"))


def test_keys_teams_and_usage_are_remembered(store: RunStore) -> None:
    team = Team(TeamName("vision"), weight=2.0, quota=Quota(gpus=4), max_wall=timedelta(hours=1))
    usage = Usage(NOON, {team.name: 0.5}, {(team.name, UserName("ada")): 0.25})
    with store.write() as work:
        work.remember_key(team.name, "nightly", "digest", [RunId("01A")])
        work.save_team(team)
    store.save_usage(usage)

    with store.read() as work:
        assert ("digest", ["01A"]) == work.runs_of_key(team.name, "nightly")
        assert work.runs_of_key(TeamName("other"), "nightly") is None
        assert [team] == work.teams()
        assert usage == work.usage()


def test_the_migrations_make_the_tables_that_the_code_uses(engine: Engine) -> None:
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": "scheduler_version"})

        assert [] == compare_metadata(context, metadata)


def test_a_text_that_postgresql_cannot_keep_is_the_callers_fault(migrated_url: Callable[[str, str], str]) -> None:
    engine = open_engine(migrated_url("postgresql", "mosaic_scheduler.adapters.migrations"))
    store = SqlRuns(engine)

    with pytest.raises(BadInput, match=r"cannot keep it.*NUL"), store.read() as work:
        work.run(RunId("01\0"))
    with pytest.raises(BadInput, match=r"cannot keep it.*NUL"):
        save(store, a_run(reason="\0"))
    engine.dispose()


def test_the_beginning_or_the_end_of_an_id_finds_at_most_two(store: RunStore) -> None:
    for run_id in ("01AAA", "01AAB", "01AAC", "01B7"):
        save(store, a_run(run_id))

    with store.read() as work:
        assert 2 == len(work.runs_like("01AA"))
        assert [["01B7"], ["01B7"], ["01AAC"], []] == [
            [run.run_id for run in work.runs_like(part)] for part in ("01B", "B7", "AC", "1AA")
        ]


def test_waiting_runs_are_counted_by_user(store: RunStore) -> None:
    for run_id in ("01A", "01B"):
        save(store, a_run(run_id))

    with store.read() as work:
        assert {"ada": 2} == work.count_queued(TeamName("vision"))
        assert {} == work.count_queued(TeamName("nlp"))
