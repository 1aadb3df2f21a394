"""The scheduler's store: the same behaviour on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from importlib.resources import files

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

from mosaic.errors import BadInput
from mosaic.hosting.database import open_engine
from mosaic.ids import AgentId, GpuId, NodeId, RunId, TeamName, UserName, WorkerName
from mosaic.lifecycle import AttemptState, RunState
from mosaic.model.attempt import Attempt, Directive
from mosaic.model.resources import GpuShare, Lease, Resources
from mosaic.model.run import Change, Priority, Run, RunFilter, RunSpec
from mosaic.model.team import Quota, Team
from mosaic_scheduler.adapters.sql_runs import SqlRuns
from mosaic_scheduler.adapters.tables import metadata
from mosaic_scheduler.domain.snapshot import Usage
from mosaic_scheduler.ports import OutboxKind, OutboxMessage, RunStore

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, migrated_url: Callable[[str, str], str]) -> Iterator[Engine]:
    opened = open_engine(migrated_url(request.param, "mosaic_scheduler.adapters.migrations"))
    yield opened
    opened.dispose()


@pytest.fixture
def store(engine: Engine) -> RunStore:
    return SqlRuns(engine)


def a_run(run_id: str = "01A", **changes: object) -> Run:
    spec = RunSpec(
        WorkerName("toy"),
        {"env_id": "CartPole-v1", "nested": {"lr": 0.1}},
        team=TeamName("vision"),
        user=UserName("ada"),
        seed=3,
        priority=Priority.HIGH,
        resources=Resources(2, 1024, 1),
        max_wall=timedelta(hours=2),
        labels={"sweep": "7"},
        secrets={"KEY": "name"},
    )
    entry = Run(RunId(run_id), spec, RunState.QUEUED, NOON, NOON, evicted_for=frozenset({RunId("01Z")}))
    return replace(entry, **changes)  # type: ignore[arg-type]


def an_attempt(run_id: str = "01A", number: int = 1, **changes: object) -> Attempt:
    lease = Lease(2.0, 1024, (GpuShare(GpuId("gpu-1"), 0.5, 8000),))
    entry = Attempt(
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


def save(store: RunStore, run: Run, *attempts: Attempt) -> Run:
    with store.write() as work:
        saved = work.save_run(run)
        for attempt in attempts:
            work.save_attempt(attempt)
    return saved


def test_what_is_saved_is_read_back_whole(store: RunStore) -> None:
    attempt = an_attempt(directive=Directive.PAUSE, versions={"python": "3.11"}, exit_code=-9, claimed_at=NOON)
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
        first = work.send_later(OutboxMessage(OutboxKind.DISPATCH, RunId("01A"), 1, {"agent_id": "a1"}))
        second = work.send_later(OutboxMessage(OutboxKind.RUN_FINISHED, RunId("01A"), 1))

    assert [first, second] == store.outbox(10)
    store.sent([first.message_id])

    assert [second] == store.outbox(10)


def test_what_is_parked_is_kept_and_not_sent_until_it_is_tried_again(store: RunStore) -> None:
    with store.write() as work:
        first = work.send_later(OutboxMessage(OutboxKind.DISPATCH, RunId("01A"), 1, {"agent_id": "a1"}))
        second = work.send_later(OutboxMessage(OutboxKind.RUN_FINISHED, RunId("01A"), 1))

    store.park(first, "too large")

    assert ([second], 1) == (store.outbox(10), store.parked())
    store.unpark()
    assert ([first, second], 0) == (store.outbox(10), store.parked())
    assert [second] == store.outbox(10, after=first.message_id)


def test_history_is_kept_in_order(store: RunStore) -> None:
    entries = [
        Change(RunId("01A"), number, NOON, "requeued", "running", "queued", "scheduler", "lost") for number in (1, 2)
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


def test_runs_are_found_by_their_name(store: RunStore) -> None:
    for run_id, name in (("01A", "sweep"), ("01B", "sweep"), ("01C", "sweep 2"), ("01D", "")):
        save(store, a_run(run_id, spec=replace(a_run().spec, name=name)))

    with store.read() as work:
        assert ["01B", "01A"] == [run.run_id for run in work.list_runs(RunFilter(name="sweep"), limit=10, before="")]


def test_the_names_of_runs_that_were_stored_before_are_found(engine: Engine, store: RunStore) -> None:
    save(store, a_run("01A", spec=replace(a_run().spec, name="x" * 200)))
    with engine.begin() as connection:
        _move(connection, "0003", upgrade=False)
        _move(connection, "0003", upgrade=True)

    with store.read() as work:
        assert ["01A"] == [run.run_id for run in work.list_runs(RunFilter(name="x" * 128), limit=10, before="")]


def _move(connection: Connection, revision: str, *, upgrade: bool) -> None:
    scripts = ScriptDirectory(str(files("mosaic_scheduler.adapters.migrations")))
    module = scripts.get_revision(revision).module
    with Operations.context(MigrationContext.configure(connection)):
        (module.upgrade if upgrade else module.downgrade)()


def test_reasons_to_wait_are_written_where_they_are_news(store: RunStore) -> None:
    for run_id, changes in (
        ("01A", {}),
        ("01B", {"reason_code": "a", "reason": "b"}),
        ("01C", {"state": RunState.RUNNING}),
    ):
        save(store, a_run(run_id, **changes))
    with store.read() as work:
        before = work.revision()

    with store.write() as work:
        work.save_reasons({RunId(run_id): ("a", "b") for run_id in ("01A", "01B", "01C")})

    with store.read() as work:
        assert ["01A"] == [run.run_id for run, _ in work.changed_since(before)]
        assert ("a", "b") == ((run := work.run(RunId("01A"))) and run.reason_code, run and run.reason)
