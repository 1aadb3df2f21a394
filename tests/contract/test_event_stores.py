"""One behaviour of the event store, on SQLite and on PostgreSQL."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import text

from mosaic.events.episodes import EPISODE_KINDS
from mosaic.hosting.database import open_engine
from mosaic_telemetry.adapters.live_feed import InProcessFeed
from mosaic_telemetry.adapters.sql_events import SqlEvents
from mosaic_telemetry.adapters.tables import finished_runs, metadata
from mosaic_telemetry.domain.counting import NOTHING, Counted, Cut
from mosaic_telemetry.domain.series import LEVELS, SeriesKey
from mosaic_telemetry.domain.tally import Tally
from mosaic_telemetry.domain.timeline import Hearing, StreamId
from mosaic_telemetry.handlers.finish import write_when_ready
from mosaic_telemetry.handlers.ingest import IngestReport, ingest
from mosaic_telemetry.handlers.lines import read_lines
from mosaic_telemetry.ports import EpisodeFilter, EventStore, Position, StepRange
from tests.fakes.telemetry import (
    KEY,
    NOON,
    RUN,
    InMemoryManifests,
    SteppedClock,
    a_finished_run,
    episode,
    line,
    metric,
    metrics,
    packed,
    signed,
)

START = Position(0, 0)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, migrated_url: Callable[[str, str], str]) -> Iterator[EventStore]:
    engine = open_engine(migrated_url(request.param, "mosaic_telemetry.adapters.migrations"))
    yield SqlEvents(engine)
    engine.dispose()


def put(store: EventStore, *bodies: bytes) -> IngestReport:
    return ingest([*map(signed, bodies)], key=KEY, store=store, feed=InProcessFeed())


def stored_lines(store: EventStore, start: Position = START) -> list[tuple[int, int, bytes]]:
    return [(chunk.attempt, one.seq, one.line) for chunk in read_lines(RUN, start, store=store) for one in chunk.lines]


def test_lines_come_back_as_they_were_with_their_numbers(store: EventStore) -> None:
    lines = [b"plain text", b"\xff\x00\xfe", b"", metric(1.0, 2.0)]

    put(store, packed(lines, first_seq=5))

    assert [(1, 5 + number, one) for number, one in enumerate(lines)] == stored_lines(store)


@pytest.mark.parametrize("letter", [r"\u0000", r"\ud800"])
def test_letters_that_no_database_takes_stop_nothing(store: EventStore, letter: str) -> None:
    lines = [
        metric(1.0, 2.0, "lossX", agent="aX", unit="uX"),
        metric(1.0, 2.0, agent="aX", unit="uX"),
        line("episode", total_reward=1.0, agent_id="aX"),
        line("checkpoint_saved", checkpoint_path="checkpoints/X.pt"),
        line("artifact", path="X.log", kind="X"),
        line("run_failed", error="X"),
        line("log", text="X"),
        line("X", anything="X"),
        b"[PROGRESS] timesteps=1 reward_mean=X",
        b'{"event": "metric", "payload": {"name": "X"',
    ]
    hostile = [one.replace(b"X", letter.encode()) for one in lines]

    put(store, packed(hostile))
    store.put_finished(a_finished_run(len(lines) - 1, reason="exit \0", reason_code="\0"), NOON)
    (sealed,) = store.stale_manifests()
    manifests = InMemoryManifests()
    write_when_ready(sealed, store=store, manifests=manifests, feed=InProcessFeed(), clock=SteppedClock())

    assert hostile == [one for _, _, one in stored_lines(store)]
    assert store.stale_manifests() == []
    manifests.written[RUN][0].encode()


def test_a_frame_sent_twice_is_stored_once(store: EventStore) -> None:
    body = packed(metrics(10))

    first = put(store, body, body)
    second = put(store, body)

    assert (first.stored_lines, first.repeated_lines) == (10, 10)
    assert (second.stored_lines, second.repeated_lines) == (0, 10)
    assert store.timelines(RUN)[0].counts == {"metric": 10}
    assert store.series(RUN)[0].count == 10


def test_of_a_frame_that_is_partly_known_the_rest_is_stored(store: EventStore) -> None:
    lines = metrics(30)
    put(store, packed(lines[10:20], first_seq=10))

    report = put(store, packed(lines))

    assert (report.stored_lines, report.repeated_lines) == (20, 10)
    assert [(1, number, one) for number, one in enumerate(lines)] == stored_lines(store)
    assert store.series(RUN)[0].count == 30


def test_frames_in_any_order_and_number_give_the_same_store(store: EventStore) -> None:
    lines = metrics(200) + [episode(number, number) for number in range(50)]
    cuts = [0, 7, 20, 64, 65, 130, 200, 231, 250]
    frames = [packed(lines[first:last], first_seq=first) for first, last in pairwise(cuts)]
    shuffled = frames * 3
    random.Random(4).shuffle(shuffled)

    for begin in range(0, len(shuffled), 4):
        put(store, *shuffled[begin : begin + 4])

    timeline = store.timelines(RUN)[0]
    assert timeline.heard.ranges == ((0, 249),)
    assert timeline.counts == {"metric": 200, "episode": 50}
    assert [(1, number, one) for number, one in enumerate(lines)] == stored_lines(store)
    assert store.series(RUN)[0].count == 200
    assert list(range(50)) == [one.number for one in store.episodes(RUN, EpisodeFilter())]


def test_a_gap_is_visible_until_it_is_filled(store: EventStore) -> None:
    put(store, packed(metrics(5)), packed(metrics(5, first=8), first_seq=8))

    assert store.timelines(RUN)[0].gaps() == [(5, 7)]
    assert store.timelines(RUN)[0].gaps(20) == [(5, 7), (13, 20)]

    put(store, packed(metrics(3, first=5), first_seq=5))

    assert store.timelines(RUN)[0].gaps() == []


def test_reading_begins_in_the_middle_of_a_frame(store: EventStore) -> None:
    put(store, packed(metrics(10)), packed(metrics(10, first=10), first_seq=10))
    put(store, packed(metrics(3), attempt=2))

    numbers = [(attempt, seq) for attempt, seq, _ in stored_lines(store, Position(1, 17))]

    assert numbers == [(1, 17), (1, 18), (1, 19), (2, 0), (2, 1), (2, 2)]


def test_many_frames_are_read_in_pages(store: EventStore) -> None:
    put(store, *(packed([b"x"], first_seq=number) for number in range(50)))

    assert list(range(50)) == [seq for _, seq, _ in stored_lines(store)]
    assert [frame.first_seq for frame in store.frames_backwards(RUN)][:3] == [49, 48, 47]
    assert len(list(store.frames_backwards(RUN))) == 50


def test_frames_without_the_wanted_kinds_are_left_out(store: EventStore) -> None:
    put(store, packed(metrics(3)), packed([b"text"], first_seq=3), packed([episode(0, 1.0)], first_seq=4))

    wanted = [frame.first_seq for frame in store.frames(RUN, START, kinds={"text", "episode"})]

    assert wanted == [3, 4]


def test_series_know_their_ends_and_extremes(store: EventStore) -> None:
    values = [3.0, -1.0, math.nan, 9.0, 2.0]
    put(store, packed([metric(value, step * 10, unit="updates") for step, value in enumerate(values)]))

    series = store.series(RUN)[0]

    assert SeriesKey("loss") == series.key
    assert series.unit == "updates"
    assert (series.count, series.last_step, series.last_value) == (5, 40.0, 2.0)
    assert series.lowest == (-1.0, 10.0)
    assert series.highest == (9.0, 30.0)


def test_points_come_back_exactly_even_those_that_are_no_numbers(store: EventStore) -> None:
    lines = [metric(value, step) for step, value in enumerate([1.5, math.nan, math.inf, -math.inf, 0.1])]
    put(store, packed(lines))

    steps, values, times = store.points(store.series(RUN)[0], StepRange())

    assert list(steps) == [0, 1, 2, 3, 4]
    assert [1.5, math.inf, -math.inf, 0.1] == [value for value in values if value == value]
    assert math.isnan(values[1])
    assert [1000.0] * 5 == times.tolist()


def test_points_of_a_range_of_steps(store: EventStore) -> None:
    put(store, packed(metrics(100)), packed(metrics(100, first=100), first_seq=100))
    series = store.series(RUN)[0]

    steps = store.points(series, StepRange(95, 104)).steps
    before = store.points(series, StepRange(95, 104, before=98)).steps

    assert list(range(95, 105)) == list(steps)
    assert list(before) == [95, 96, 97]


def test_points_of_a_range_of_steps_that_go_back_and_forth(store: EventStore) -> None:
    put(store, packed([metric(step, step) for step in (5, 1, 9, 3, 7, 5)]))

    steps, values, _ = store.points(store.series(RUN)[0], StepRange(3, 5))

    assert [5, 3, 5] == list(steps) == list(values)


@pytest.mark.parametrize("level", LEVELS)
def test_buckets_hold_every_point_however_the_points_came(store: EventStore, level: int) -> None:
    generator = random.Random(level)
    sent = 0
    while sent < 9000:
        size = generator.choice([1, 255, 256, 2000])
        put(store, packed(metrics(size, first=sent), first_seq=sent))
        sent += size

    buckets = store.buckets(store.series(RUN)[0], level, StepRange())

    assert sent == sum(bucket.points for bucket in buckets)
    assert [level] * (len(buckets) - 1) == [bucket.points for bucket in buckets[:-1]]
    for bucket in buckets:
        assert bucket.step_first * 0.5 == bucket.minimum
        assert bucket.step_last * 0.5 == bucket.maximum
        assert bucket.mean == pytest.approx((bucket.minimum + bucket.maximum) / 2)


def test_a_bucket_without_numbers_says_so(store: EventStore) -> None:
    put(store, packed([metric(math.nan, 1.0)]))

    bucket = store.buckets(store.series(RUN)[0], LEVELS[0], StepRange())[0]

    assert (bucket.points, bucket.numbers) == (1, 0)
    assert math.isnan(bucket.mean)


def test_episodes_are_read_behind_a_position_and_from_the_end(store: EventStore) -> None:
    put(store, packed([episode(number, number * 2.0, step=number) for number in range(10)]))
    put(store, packed([episode(3, 50.0)], attempt=2))

    assert [one.number for one in store.episodes(RUN, EpisodeFilter(), after=Position(1, 7))] == [8, 9, 3]
    assert [one.number for one in store.episodes(RUN, EpisodeFilter(), last=2)] == [9, 3]
    assert store.newest_returns(RUN, EpisodeFilter(), 2) == [18.0, 50.0]
    assert [one.number for one in store.episodes(RUN, EpisodeFilter(attempt=1), after=Position(1, 8))] == [9]


def test_episodes_are_read_by_kind_and_agent_and_as_far_as_they_count(store: EventStore) -> None:
    told = [episode(0, 3.0, step=10), episode(0, 1.0, agent_id="a"), episode(0, 2.0, agent_id="b")]
    judged = [episode(0, 9.0, evaluation=True), episode(0, 8.0, evaluation=True, agent_id="a")]
    put(store, packed([*told, *judged, episode(1, 4.0, step=20)]))

    def returns(**wanted: Any) -> list[float]:
        return [one.episode_return for one in store.episodes(RUN, EpisodeFilter(**wanted))]

    kinds = [returns(kinds=frozenset({kind})) for kind in EPISODE_KINDS]
    assert [[3.0, 4.0], [1.0, 2.0], [9.0], [8.0]] == kinds
    assert [1.0, 8.0] == returns(agent="a")
    assert ["a", "b"] == store.agents(RUN, EpisodeFilter(kinds=frozenset({"agent"})))
    assert [3.0, 1.0] == returns(counted=Counted({1: Cut(1, 10.0)}))
    assert [3.0, 1.0, 2.0, 9.0, 8.0] == returns(counted=Counted({1: Cut(None, 10.0)}))
    assert [] == returns(counted=Counted({1: NOTHING}))


def test_a_tally_is_the_same_whether_it_was_kept_or_is_read(store: EventStore) -> None:
    returns = [2.0, math.nan, 7.0, 7.0, -1.0]
    lines = [episode(number, value, step=number * 10) for number, value in enumerate(returns)]
    put(store, packed(lines[3:], first_seq=3))
    put(store, packed(lines[:3]))

    (timeline,) = store.timelines(RUN)

    wanted = EpisodeFilter(frozenset({"training"}))
    assert Tally(5, 4, 7.0, 20.0, 2) == timeline.episodes.of("training") == store.tally(RUN, wanted)
    assert Tally() == store.tally("nobody", wanted)


def test_rare_events_are_kept_as_facts_with_their_stamp(store: EventStore) -> None:
    lines = [
        *metrics(3),
        line("checkpoint_saved", checkpoint_path="checkpoints/1.pt", step=3),
        line("iteration_finished", anything=1),
    ]
    put(store, packed(lines, first_seq=20, time=77.0))

    (fact,) = store.facts(RUN)

    assert (StreamId(RUN, 1), 23, 77.0, "checkpoint_saved") == (fact.stream, fact.seq, fact.time, fact.kind)
    assert fact.payload["checkpoint_path"] == "checkpoints/1.pt"


def test_an_event_after_the_seal_makes_the_manifest_stale(store: EventStore) -> None:
    put(store, packed(metrics(3)))
    store.put_finished(a_finished_run(5), NOON)
    (sealed,) = store.stale_manifests()
    store.manifest_written(sealed, "{}", "sha256:1", "somewhere")
    assert store.stale_manifests() == []

    report = put(store, packed(metrics(3, first=3), first_seq=3))

    assert report.stale_manifests == 1
    (stale,) = store.stale_manifests()
    assert (stale.revision, stale.written_revision, stale.digest) == (1, 0, "sha256:1")


def test_a_repeated_frame_leaves_the_manifest_as_it_is(store: EventStore) -> None:
    assert put(store, packed(metrics(3))).stale_manifests == 0
    store.put_finished(a_finished_run(2), NOON)
    store.manifest_written(store.stale_manifests()[0], "{}", "sha256:1", "somewhere")

    report = put(store, packed(metrics(3)))

    assert report.stale_manifests == 0
    assert store.stale_manifests() == []


def test_an_event_during_the_writing_of_a_manifest_is_not_forgotten(store: EventStore) -> None:
    store.put_finished(a_finished_run(5), NOON)
    (sealed,) = store.stale_manifests()

    put(store, packed(metrics(3)))
    store.manifest_written(sealed, "{}", "sha256:old", "somewhere")

    assert len(store.stale_manifests()) == 1


def test_a_damaged_seal_keeps_no_other_run_from_its_manifest(store: EventStore) -> None:
    assert isinstance(store, SqlEvents)
    store.put_finished(a_finished_run(5, run_id="damaged"), NOON)
    store.put_finished(a_finished_run(5), NOON + timedelta(seconds=1))
    with store.engine.begin() as connection:
        connection.execute(
            finished_runs.update().where(finished_runs.c.run_id == "damaged").values(finished='{"run_id": ')
        )

    (sealed,) = store.stale_manifests()

    assert sealed.finished.run.run_id == RUN


def test_a_finished_run_that_comes_twice_changes_nothing_and_a_retry_replaces_it(store: EventStore) -> None:
    store.put_finished(a_finished_run(5), NOON)
    store.put_finished(a_finished_run(5), NOON + timedelta(hours=1))
    sealed = store.finished_run(RUN)
    assert sealed is not None
    assert (sealed.due_at, sealed.revision) == (NOON, 0)

    store.put_finished(a_finished_run(5, 9), NOON)
    store.put_finished(a_finished_run(5), NOON)

    sealed = store.finished_run(RUN)
    assert sealed is not None
    assert len(sealed.finished.attempts) == 2


def test_two_writers_of_one_stream_take_turns(store: EventStore) -> None:
    frames = [packed(metrics(10, first=number * 10), first_seq=number * 10) for number in range(20)]
    reports: list[IngestReport] = []

    def write(own: list[bytes]) -> None:
        reports.extend(put(store, body) for body in own)

    writers = [threading.Thread(target=write, args=(frames[::step],)) for step in (1, -1)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert sum(report.stored_lines for report in reports) == 200
    assert store.series(RUN)[0].count == 200
    assert store.timelines(RUN)[0].heard.ranges == ((0, 199),)


def test_a_transaction_that_fails_leaves_nothing(store: EventStore) -> None:
    def write_and_fail() -> None:
        with store.writing([StreamId(RUN, 1)]) as writer:
            writer.put_timeline(writer.timeline(StreamId(RUN, 1)).hear(Hearing(0, 9, 1.0, 2.0, {})))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()

    assert store.timelines(RUN) == []


def test_a_run_nobody_spoke_of_is_empty(store: EventStore) -> None:
    assert store.timelines("nobody") == []
    assert store.series("nobody") == []
    assert store.facts("nobody") == []
    assert store.finished_run("nobody") is None
    assert store.episodes("nobody", EpisodeFilter()) == []
    assert store.fault() is None


def test_the_migrations_make_what_the_code_expects(store: EventStore) -> None:
    assert isinstance(store, SqlEvents)
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_object": _is_ours})
        differences = compare_metadata(context, metadata)

    assert [] == differences


def _is_ours(_thing: object, name: str | None, kind: str, *_: object) -> bool:
    return kind != "table" or name != "telemetry_schema_version"


def test_an_older_database_learns_which_episodes_are_of_evaluations(store: EventStore) -> None:
    assert isinstance(store, SqlEvents)
    put(store, packed([episode(0, 2.0, step=5), episode(1, math.nan), episode(0, 1.0, agent_id="a")]))
    put(store, packed([episode(0, 7.0, step=9, evaluation=True), episode(1, 7.0, evaluation=True)], attempt=2))
    before = store.timelines(RUN), store.episodes(RUN, EpisodeFilter())

    _revise(store, command.downgrade, "0001")
    with store.engine.connect() as connection:
        old = connection.execute(text("SELECT agent FROM telemetry_episodes ORDER BY attempt, seq")).scalars().all()
    SqlEvents(store.engine)

    assert ["", "", "a", "evaluation", "evaluation"] == old
    after = store.timelines(RUN), store.episodes(RUN, EpisodeFilter())
    assert str(before) == str(after), "NaN differs from itself"


def _revise(store: SqlEvents, change: Callable[[Config, str], None], revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(files("mosaic_telemetry.adapters.migrations")))
    with store.engine.begin() as connection:
        config.attributes["connection"] = connection
        change(config, revision)
