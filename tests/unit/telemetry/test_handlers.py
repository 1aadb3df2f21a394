from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from mosaic.errors import NotFound, RunNotFound
from mosaic.hosting.database import open_engine
from mosaic_telemetry.adapters.live_feed import InProcessFeed
from mosaic_telemetry.adapters.sql_events import SqlEvents
from mosaic_telemetry.domain.manifest import is_genuine
from mosaic_telemetry.domain.series import LEVELS, SeriesKey
from mosaic_telemetry.handlers.curves import Curve, read_curve, summarise
from mosaic_telemetry.handlers.finish import manifest_of, seal, write_when_ready
from mosaic_telemetry.handlers.ingest import IngestReport, ingest
from mosaic_telemetry.handlers.lines import Lines, follow_lines, read_lines
from mosaic_telemetry.handlers.logs import follow_logs, read_logs
from mosaic_telemetry.ports import Position, StepRange
from tests.fakes.databases import migrated_file
from tests.fakes.telemetry import (
    NOON,
    RUN,
    InMemoryManifests,
    SteppedClock,
    a_seal,
    episode,
    line,
    metric,
    metrics,
    packed,
)

START = Position(0, 0)
PATIENCE = timedelta(seconds=30)


class Desk:
    """The use cases over one store, with a clock that stands still."""

    def __init__(self, store: SqlEvents) -> None:
        self.store = store
        self.feed = InProcessFeed()
        self.clock = SteppedClock()
        self.manifests = InMemoryManifests()

    def put(self, *bodies: bytes) -> IngestReport:
        return ingest(bodies, store=self.store, feed=self.feed)

    def seal(self, *last_seqs: int) -> None:
        seal(a_seal(*last_seqs), store=self.store, clock=self.clock, patience=PATIENCE)

    def write(self) -> list[datetime | None]:
        return [
            write_when_ready(sealed, store=self.store, manifests=self.manifests, feed=self.feed, clock=self.clock)
            for sealed in self.store.stale_seals()
        ]

    def curve(self, resolution: int = 0, wanted: StepRange = StepRange(), attempt: int = 0) -> Curve:  # noqa: B008
        key = SeriesKey("loss")
        return read_curve(RUN, key, resolution=resolution, wanted=wanted, attempt=attempt, store=self.store)

    def follow(self, start: Position = START, kinds: frozenset[str] = frozenset()) -> Iterator[Lines]:
        return follow_lines(RUN, start, kinds=kinds, store=self.store, feed=self.feed)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    engine = open_engine(migrated_file("mosaic_telemetry.adapters.migrations", tmp_path / "events.db"))
    yield Desk(SqlEvents(engine))
    engine.dispose()


def test_a_frame_nobody_can_read_is_refused_and_the_others_are_stored(desk: Desk) -> None:
    report = desk.put(packed(metrics(2)), b"rubbish", packed(metrics(2, first=2), first_seq=2))

    assert [1] == list(report.refused)
    assert "not a frame of telemetry" in report.refused[1]
    assert report.stored_lines == 4


def test_a_manifest_is_written_as_soon_as_its_last_event_is_here(desk: Desk) -> None:
    desk.put(packed(metrics(5)))
    desk.seal(9)

    assert desk.write() == [NOON + PATIENCE]
    assert {} == desk.manifests.written

    desk.put(packed(metrics(5, first=5), first_seq=5))

    assert desk.write() == [None]
    (text,) = desk.manifests.written[RUN]
    assert json.loads(text)["is_complete"] is True
    assert is_genuine(json.loads(text))


def test_when_patience_ends_the_manifest_is_written_with_its_gaps(desk: Desk) -> None:
    desk.put(packed(metrics(5)))
    desk.seal(9)

    desk.clock.advance(seconds=31)
    desk.write()

    (text,) = desk.manifests.written[RUN]
    assert [[5, 9]] == json.loads(text)["attempts"][0]["gaps"]


def test_late_events_write_the_manifest_again(desk: Desk) -> None:
    desk.seal(4)
    desk.clock.advance(seconds=31)
    desk.write()

    desk.put(packed(metrics(5)))
    desk.write()
    desk.write()

    old, new = map(json.loads, desk.manifests.written[RUN])
    assert (0, 5) == (old["events"]["total"], new["events"]["total"])
    assert new["digest"] == manifest_of(RUN, store=desk.store).digest


def test_a_manifest_that_is_not_there_says_why(desk: Desk) -> None:
    with pytest.raises(RunNotFound):
        manifest_of(RUN, store=desk.store)

    desk.put(packed(metrics(1)))
    with pytest.raises(NotFound, match="it has not ended"):
        manifest_of(RUN, store=desk.store)

    desk.seal(9)
    with pytest.raises(NotFound, match="still on their way"):
        manifest_of(RUN, store=desk.store)


def test_a_follower_gets_what_comes_and_ends_when_the_run_is_sealed(desk: Desk) -> None:
    desk.put(packed(metrics(3)))
    following = desk.follow()
    assert [0, 1, 2] == [one.seq for one in next(following).lines]

    desk.put(packed(metrics(2, first=3), first_seq=3))
    assert [3, 4] == [one.seq for one in next(following).lines]

    desk.seal(4)
    desk.write()
    assert next(following).is_end
    assert [] == list(following)


def test_a_follower_waits_for_late_lines_before_it_goes_on(desk: Desk) -> None:
    desk.put(packed(metrics(2, first=5), first_seq=5))
    late = threading.Timer(0.1, lambda: desk.put(packed(metrics(5))))
    late.start()

    numbers = [one.seq for one in next(desk.follow()).lines]
    late.join()

    assert [0, 1, 2, 3, 4] == numbers


def test_a_follower_that_nobody_wants_any_more_leaves(desk: Desk) -> None:
    following = follow_lines(RUN, START, store=desk.store, feed=desk.feed, is_wanted=lambda: False)

    assert [] == list(following)


def test_a_retried_run_is_followed_into_its_new_attempt(desk: Desk) -> None:
    desk.put(packed([*metrics(2), line("attempt_ended", outcome="failed")]))
    desk.seal(2)
    desk.write()
    desk.put(packed(metrics(1), attempt=2))

    following = desk.follow()

    assert [1, 2] == [next(following).attempt, next(following).attempt]


def test_only_the_wanted_kinds_are_read(desk: Desk) -> None:
    lines = [b"text", metric(1, 1), episode(0, 1.0), b'{"no":"event"}', line("heartbeat"), line("log", text="x")]
    desk.put(packed([*lines, line("step", step_index=1), line("unheard_of"), line("metric")]))

    found = [one for chunk in read_lines(RUN, START, store=desk.store) for one in chunk.lines]
    texts = [one.seq for chunk in read_lines(RUN, START, kinds={"text"}, store=desk.store) for one in chunk.lines]

    kinds = ["text", "metric", "episode", "text", "heartbeat", "log", "step", "custom", "violation"]
    assert kinds == [one.kind for one in found]
    assert [0, 3] == texts


def test_logs_are_what_was_printed_and_what_the_worker_says(desk: Desk) -> None:
    said = line("log", text="disk is slow", level="warning", stream="stderr")
    desk.put(packed([b"hello", *metrics(3), said]))

    (entries,) = read_logs(RUN, store=desk.store)

    assert [("stdout", "info", "hello"), ("stderr", "warning", "disk is slow")] == [
        (entry.stream, entry.level, entry.text) for entry in entries
    ]


def test_the_tail_of_the_logs_comes_from_the_end(desk: Desk) -> None:
    for number in range(6):
        desk.put(packed([b"a%d" % number, b"b%d" % number], first_seq=2 * number))

    (entries,) = read_logs(RUN, tail=3, store=desk.store)

    assert ["b4", "a5", "b5"] == [entry.text for entry in entries]


def test_logs_are_followed_from_their_tail(desk: Desk) -> None:
    desk.put(packed([b"one", b"two"]))
    following = follow_logs(RUN, tail=1, store=desk.store, feed=desk.feed)
    assert ["two"] == [entry.text for entry in next(following)]

    desk.put(packed([b"three"], first_seq=2))

    assert ["three"] == [entry.text for entry in next(following)]


@pytest.mark.parametrize("resolution", [10, 100, 1000])
def test_a_long_curve_keeps_its_extremes_at_any_resolution(desk: Desk, resolution: int) -> None:
    values = [float(number % 97) for number in range(30_000)]
    values[12_345], values[777] = 1e6, -1e6
    lines = [metric(value, step) for step, value in enumerate(values)]
    desk.put(*(packed(lines[begin : begin + 5000], first_seq=begin) for begin in range(0, 30_000, 5000)))

    curve = desk.curve(resolution)

    assert len(curve.buckets) <= resolution
    assert len(curve.buckets) > resolution * 0.7
    assert (1e6, -1e6) == (
        max(bucket.maximum for bucket in curve.buckets), min(bucket.minimum for bucket in curve.buckets),
    )  # fmt: skip
    assert sum(bucket.points for bucket in curve.buckets) == curve.total_points == 30_000


def test_a_part_of_a_curve_holds_only_its_points(desk: Desk) -> None:
    count = LEVELS[-1] * 4
    desk.put(packed(metrics(count)))

    curve = desk.curve(8, StepRange(1000, count - 1001))

    assert sum(bucket.points for bucket in curve.buckets) == count - 2000
    assert curve.buckets[0].step_first == 1000
    assert curve.buckets[-1].step_last == count - 1001


def test_the_curve_of_a_run_shows_each_step_as_the_newest_attempt_has_it(desk: Desk) -> None:
    desk.put(packed([metric(1.0, step) for step in range(10)], attempt=1))
    desk.put(packed([metric(2.0, step) for step in range(6, 12)], attempt=2))

    curve = desk.curve()

    assert list(range(12)) == [bucket.middle for bucket in curve.buckets]
    assert [1.0] * 6 + [2.0] * 6 == [bucket.mean for bucket in curve.buckets]
    assert [1.0] * 10 == [bucket.mean for bucket in desk.curve(attempt=1).buckets]


def test_a_repeated_attempt_replaces_long_curves_too(desk: Desk) -> None:
    count = LEVELS[0] * 40
    half = count // 2 + 7
    desk.put(packed(metrics(count)))
    desk.put(packed([metric(-1.0, step) for step in range(half, count)], attempt=2))

    curve = desk.curve(20)

    assert sum(bucket.points for bucket in curve.buckets) == count
    assert all(bucket.minimum == -1.0 for bucket in curve.buckets if bucket.step_first >= half)


def test_a_series_that_is_not_there_suggests_the_nearest(desk: Desk) -> None:
    desk.put(packed(metrics(1, name="losses/value_loss")))

    with pytest.raises(NotFound, match="losses/value_loss"):
        read_curve(RUN, SeriesKey("losses/valu_loss"), resolution=0, wanted=StepRange(), store=desk.store)


def test_a_run_in_one_row(desk: Desk) -> None:
    desk.put(packed([*metrics(10), *(episode(number, number, step=100) for number in range(4))], time=50.0))

    summary, nobody = summarise([RUN, "nobody"], store=desk.store)

    assert (14, 100.0, 4, 1.5, 50.0, False) == (
        summary.events, summary.last_step, summary.episodes, summary.mean_return,
        summary.last_event_time, summary.is_sealed,
    )  # fmt: skip
    assert (0, None) == (nobody.events, nobody.mean_return)
