from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mosaic.errors import BadInput, NotFound, RunNotFound
from mosaic.events.episodes import EPISODE_KINDS
from mosaic.hosting.database import open_engine
from mosaic_telemetry.adapters.live_feed import InProcessFeed
from mosaic_telemetry.adapters.sql_events import SqlEvents
from mosaic_telemetry.domain.facts import EpisodeSummary, Evaluation, Returns
from mosaic_telemetry.domain.manifest import is_genuine
from mosaic_telemetry.domain.series import LEVELS, SeriesKey
from mosaic_telemetry.handlers import ingest as ingesting
from mosaic_telemetry.handlers.curves import Curve, Wanted, read_curve, summarise
from mosaic_telemetry.handlers.episodes import read_episodes
from mosaic_telemetry.handlers.finish import manifest_of, note_finished, write_when_ready
from mosaic_telemetry.handlers.ingest import IngestReport, ingest
from mosaic_telemetry.handlers.lines import Lines, follow_lines, read_lines
from mosaic_telemetry.handlers.logs import follow_logs, read_logs
from mosaic_telemetry.ports import Position
from tests.fakes.databases import migrated_file
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
    resumed,
    saved,
    signed,
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
        return ingest([*map(signed, bodies)], key=KEY, store=self.store, feed=self.feed)

    def finish(self, *last_seqs: int) -> None:
        note_finished(a_finished_run(*last_seqs), store=self.store, clock=self.clock, patience=PATIENCE)

    def write(self) -> list[datetime | None]:
        return [
            write_when_ready(sealed, store=self.store, manifests=self.manifests, feed=self.feed, clock=self.clock)
            for sealed in self.store.stale_manifests()
        ]

    def curve(self, resolution: int = 0, attempt: int = 0, **wanted: Any) -> Curve:
        return read_curve(RUN, SeriesKey("loss"), Wanted(resolution, **wanted), attempt=attempt, store=self.store)

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
    desk.finish(9)

    assert desk.write() == [NOON + PATIENCE]
    assert {} == desk.manifests.written

    desk.put(packed(metrics(5, first=5), first_seq=5))

    assert desk.write() == [None]
    (text,) = desk.manifests.written[RUN]
    assert json.loads(text)["is_complete"] is True
    assert is_genuine(json.loads(text))


def test_when_patience_ends_the_manifest_is_written_with_its_gaps(desk: Desk) -> None:
    desk.put(packed(metrics(5)))
    desk.finish(9)

    desk.clock.advance(seconds=31)
    desk.write()

    (text,) = desk.manifests.written[RUN]
    assert [[5, 9]] == json.loads(text)["attempts"][0]["gaps"]


def test_late_events_write_the_manifest_again(desk: Desk) -> None:
    desk.finish(4)
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
    with pytest.raises(NotFound, match="its end has not been heard of"):
        manifest_of(RUN, store=desk.store)

    desk.finish(9)
    with pytest.raises(NotFound, match="still on their way"):
        manifest_of(RUN, store=desk.store)


def test_a_follower_gets_what_comes_and_ends_when_the_run_is_finished(desk: Desk) -> None:
    desk.put(packed(metrics(3)))
    following = desk.follow()
    assert [0, 1, 2] == [one.seq for one in next(following).lines]

    desk.put(packed(metrics(2, first=3), first_seq=3))
    assert [3, 4] == [one.seq for one in next(following).lines]

    desk.finish(4)
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
    desk.finish(2)
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
    assert len(curve.buckets) > resolution * 0.45
    assert (1e6, -1e6) == (
        max(curve.buckets.maxima), min(curve.buckets.minima),
    )  # fmt: skip
    assert sum(curve.buckets.points) == curve.total_points == 30_000


def test_a_part_of_a_curve_comes_in_whole_buckets(desk: Desk) -> None:
    desk.put(packed(metrics(16_384)))

    part, whole = desk.curve(8, first=1000, last=15_000), desk.curve(8)

    assert [2048] * 8 == part.buckets.points.tolist(), "as wide as those of the whole, so each is the same"
    assert whole.buckets.means.tolist() == part.buckets.means.tolist()
    closer = desk.curve(8, first=4096, last=5000).buckets
    assert [128] * 8 == closer.points.tolist()
    assert 4096.0 == closer.first[0]


def test_a_curve_that_grows_does_not_move(desk: Desk) -> None:
    desk.put(packed(metrics(3000)))
    before = desk.curve(100).buckets
    desk.put(packed(metrics(37, first=3000), first_seq=3000))

    after = desk.curve(100).buckets

    settled = len(before) - 1
    assert before.taken(slice(settled)).middles.tolist() == after.taken(slice(settled)).middles.tolist()
    assert before.means[:settled].tolist() == after.means[:settled].tolist()


def test_a_very_long_curve_is_made_of_rollups_and_is_the_same(desk: Desk) -> None:
    count = LEVELS[0] * 16 * 4
    desk.put(packed(metrics(count)))

    of_rollups, of_points = desk.curve(4).buckets, desk.curve(4, smoothing=0.5).buckets

    assert of_points.points.tolist() == of_rollups.points.tolist()
    assert of_points.means.tolist() == of_rollups.means.tolist()
    assert [False] * 4 == np.isfinite(of_rollups.lasts).tolist(), "rollups do not know it"


def test_a_curve_is_drawn_over_time_as_well(desk: Desk) -> None:
    desk.put(packed(metrics(2), time=1000.0))
    desk.put(packed(metrics(2, first=2), first_seq=2, time=1060.0))

    assert [1000.0, 1000.0, 1060.0, 1060.0] == desk.curve(x="time").buckets.middles.tolist()
    assert [0.0, 0.0, 60.0, 60.0] == desk.curve(x="relative").buckets.middles.tolist()
    assert [1.0, 1.5] == desk.curve(x="relative", first=50.0).buckets.means.tolist()


def test_steps_at_zero_are_not_on_a_logarithmic_axis(desk: Desk) -> None:
    desk.put(packed(metrics(4097)))

    curve = desk.curve(24, is_log=True)

    assert 4097 == curve.total_points
    assert 4096 == sum(curve.buckets.points)
    ratios = curve.buckets.first[1:] / curve.buckets.first[:-1]
    assert ratios.max() / ratios.min() < 1.5


def test_what_cannot_be_wanted_of_a_curve_is_said(desk: Desk) -> None:
    with pytest.raises(BadInput) as refused:
        desk.curve(x="tme", smoothing=1.0)

    assert 2 == len(refused.value.faults)


def test_the_curve_of_a_run_shows_each_step_as_the_newest_attempt_has_it(desk: Desk) -> None:
    desk.put(
        packed([*(metric(1.0, step) for step in range(6)), saved(5), *(metric(1.0, step) for step in range(6, 10))])
    )
    desk.put(packed([*resumed(5), *(metric(2.0, step) for step in range(6, 12))], attempt=2))

    curve = desk.curve()

    assert list(range(12)) == curve.buckets.middles.tolist()
    assert [1.0] * 6 + [2.0] * 6 == curve.buckets.means.tolist()
    assert curve.total_points == 12
    assert [1.0] * 10 == desk.curve(attempt=1).buckets.means.tolist()


def test_a_repeated_attempt_replaces_long_curves_too(desk: Desk) -> None:
    count = LEVELS[0] * 40
    half = count // 2 + 7
    desk.put(packed([*metrics(count), saved(half - 1)]))
    desk.put(packed([*resumed(half - 1), *(metric(-1.0, step) for step in range(half, count))], attempt=2))

    curve = desk.curve(20)

    assert sum(curve.buckets.points) == curve.total_points == count
    assert {-1.0} == set(curve.buckets.minima[curve.buckets.first >= half].tolist())


def test_a_series_that_is_not_there_suggests_the_nearest(desk: Desk) -> None:
    desk.put(packed(metrics(1, name="losses/value_loss")))

    with pytest.raises(NotFound, match="losses/value_loss"):
        read_curve(RUN, SeriesKey("losses/valu_loss"), Wanted(), store=desk.store)


def test_a_step_number_in_the_name_of_a_metric_costs_curves_and_not_the_service(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingesting, "MAX_SERIES", 5)
    names = [f"loss_{number}" for number in range(20)]
    report = desk.put(packed([metric(1.0, 1, name) for name in names]))
    more = desk.put(packed([metric(2.0, 2, "loss_0"), metric(2.0, 2, "loss_99")], first_seq=20))
    desk.finish(21)
    desk.write()

    assert (20, 2) == (report.stored_lines, more.stored_lines), "every line is kept"
    assert names[:5] == sorted(series.key.name for series in desk.store.series(RUN))
    (told,) = json.loads(desk.manifests.written[RUN][-1])["violations"]
    assert ("too_many_metrics", 5) == (told["kind"], told["seq"])


def test_facts_without_end_and_without_measure_cost_the_manifest_and_not_the_service(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingesting, "MAX_FACTS", 2)
    huge = saved(9, "x" * 20_000)
    for first in range(0, 8, 2):
        desk.put(packed([saved(first), saved(first + 1)], first_seq=first))
    report = desk.put(packed([huge, b'{"event": "metric"}', resumed(1)[0]], first_seq=8))
    told = [fact.kind for fact in desk.store.facts(RUN)]

    assert 3 == report.stored_lines, "every line is kept"
    assert ["checkpoint_saved"] * 2 == told[:2], "those of the first frame, as many as there may be"
    assert "checkpoint_saved" not in told[2:]
    assert "attempt_started" in told, "what the agent says is always heard"


def test_frames_that_grow_when_unpacked_lie_in_memory_a_few_at_a_time(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent may send frames of eight megabytes of short lines, and a batch holds sixteen of them."""
    monkeypatch.setattr(ingesting, "_AT_ONCE_BYTES", 100_000)
    told: list[set[str]] = []
    monkeypatch.setattr(desk.feed, "publish", told.append)
    large = [packed([b"x" * 99] * 600, first_seq=number * 600) for number in range(5)]
    small = [packed([b"x"], first_seq=3000 + number) for number in range(5)]

    report = desk.put(*large, b"rubbish", *small)

    assert (3005, {5}) == (report.stored_lines, report.refused.keys())
    assert 6 == len(told), "each large one by itself, the small ones together"


def test_a_run_in_one_row(desk: Desk) -> None:
    desk.put(packed([*metrics(10), *(episode(number, number, step=100) for number in range(4))], time=50.0))

    summary, nobody = summarise([RUN, "nobody"], store=desk.store)

    assert (14, 100.0, 50.0, False) == (
        summary.events, summary.last_step, summary.last_event_time, summary.is_finished,
    )  # fmt: skip
    assert Returns(4, 1.5, 3.0, 3.0, 100.0) == summary.episodes.training
    assert (0, EpisodeSummary()) == (nobody.events, nobody.episodes)


def test_every_point_after_the_checkpoint_is_lost_however_seldom_a_series_is_told(desk: Desk) -> None:
    desk.put(packed([metric(1.0, 100), saved(100), metric(1.0, 110), metric(1.0, 120)]))
    desk.put(packed([*resumed(100), metric(2.0, 150)], attempt=2))

    assert [100, 150] == desk.curve().buckets.middles.tolist()


def test_a_series_that_no_later_attempt_tells_again_is_cut_as_well(desk: Desk) -> None:
    desk.put(packed([metric(1.0, 100), saved(100), metric(1.0, 110)]))
    desk.put(packed([*resumed(100), metric(2.0, 150, name="other")], attempt=2))

    assert [100] == desk.curve().buckets.middles.tolist()


def test_a_point_at_the_very_step_of_the_checkpoint_counts_once(desk: Desk) -> None:
    desk.put(packed([saved(100), metric(1.0, 100)]))
    desk.put(packed([*resumed(100), metric(2.0, 100), metric(2.0, 101)], attempt=2))

    assert [2.0, 2.0] == desk.curve().buckets.means.tolist()


def test_steps_that_count_something_else_are_not_held_against_that_of_the_checkpoint(desk: Desk) -> None:
    updates = [metric(1.0, update, unit="updates") for update in range(1, 5)]
    desk.put(packed([*updates, saved(2), metric(1.0, 5, unit="updates")]))
    desk.put(packed([*resumed(2), metric(2.0, 5, unit="updates")], attempt=2))

    assert [1, 2, 3, 4, 5] == desk.curve().buckets.middles.tolist()
    assert 0.0 == summarise([RUN], store=desk.store)[0].last_step


def test_the_headline_is_of_training_episodes_alone(desk: Desk) -> None:
    told = []
    for number in range(3):
        team = float(-80 - number)
        told += [episode(number, team, step=number)]
        told += [episode(number, team / 2, step=number, agent_id=agent) for agent in ("a", "b")]
    told += [episode(number, 500.0, step=9, evaluation=True) for number in range(4)]
    desk.put(packed(told))

    (summary,) = summarise([RUN], store=desk.store)

    assert Returns(3, -81.0, -82.0, -80.0, 0.0) == summary.episodes.training
    assert Evaluation(4, 4, 500.0, 9.0) == summary.episodes.evaluation
    assert "training" == summary.episodes.returns_of


def test_an_old_line_of_an_evaluation_is_one(desk: Desk) -> None:
    desk.put(packed([episode(0, 1.0), episode(0, 500.0, agent_id="evaluation")]))

    (summary,) = summarise([RUN], store=desk.store)

    assert (1, 1.0) == (summary.episodes.training.count, summary.episodes.training.mean_return)
    assert Evaluation(1, 1, 500.0, None) == summary.episodes.evaluation


def test_the_newest_evaluation_is_told_apart_from_those_before_it(desk: Desk) -> None:
    first = [episode(number, 10.0, step=100, evaluation=True) for number in range(20)]
    second = [episode(number, 20.0, step=200, evaluation=True) for number in range(20)]
    third = [episode(number, 30.0 + number, step=200, evaluation=True) for number in range(20)]
    desk.put(packed([*first, episode(0, 1.0, step=150), *second, *third]))

    (summary,) = summarise([RUN], store=desk.store)

    assert Evaluation(60, 20, 39.5, 200.0) == summary.episodes.evaluation


@pytest.mark.parametrize(("agents", "returns_of"), [(["blue"], "training"), (["blue", "red"], "agents")])
def test_a_run_that_only_names_agents_is_judged_by_them_and_says_so(
    desk: Desk, agents: list[str], returns_of: str
) -> None:
    desk.put(packed([episode(0, 4.0, agent_id=agent) for agent in agents]))

    (summary,) = summarise([RUN], store=desk.store)
    found, total = read_episodes(RUN, store=desk.store)

    assert (len(agents), 4.0, returns_of) == (
        summary.episodes.training.count, summary.episodes.training.mean_return, summary.episodes.returns_of,
    )  # fmt: skip
    assert len(agents) == total == len(found)


def test_after_a_resume_the_lost_stretch_counts_nowhere_and_is_there_on_request(desk: Desk) -> None:
    told = [episode(number, 100.0 + number, step=number * 10.0) for number in range(6)]
    desk.put(packed([*told[:4], saved(30), *told[4:]]))
    again = [episode(number, 1.0 + number, step=number * 10.0) for number in range(4, 8)]
    desk.put(packed([*resumed(30), *again], attempt=2))

    found, total = read_episodes(RUN, store=desk.store)
    everything, _ = read_episodes(RUN, include_lost=True, store=desk.store)
    first, _ = read_episodes(RUN, attempt=1, store=desk.store)
    (summary,) = summarise([RUN], store=desk.store)

    assert list(range(8)) == [one.episode.number for one in found]
    assert (8, True) == (total, all(one.is_counted for one in found))
    assert [4, 5] == [one.episode.number for one in everything if not one.is_counted]
    assert (10, 6) == (len(everything), len(first))
    assert (8, 103.0, 30.0, 70.0) == (
        summary.episodes.training.count, summary.episodes.training.best_return,
        summary.episodes.training.best_step, summary.last_step,
    )  # fmt: skip


def test_a_resumed_run_keeps_its_step_and_its_speed(desk: Desk) -> None:
    desk.put(packed([metric(1.0, 100_000), saved(100_000)]))
    desk.put(packed(resumed(100_000), attempt=2, time=2000.0))

    begun = summarise([RUN], store=desk.store)[0]
    desk.put(packed([metric(1.0, 100_500)], first_seq=2, attempt=2, time=2010.0))
    trained = summarise([RUN], store=desk.store)[0]

    assert (100_000.0, 0.0) == (begun.last_step, begun.steps_per_s)
    assert (100_500.0, 50.0) == (trained.last_step, trained.steps_per_s)


def test_a_kind_of_episodes_that_is_none_suggests_the_nearest(desk: Desk) -> None:
    with pytest.raises(BadInput, match="did you mean 'evaluation'"):
        read_episodes(RUN, kind="evaluatoin", store=desk.store)


def test_each_kind_of_episode_can_be_read_by_itself(desk: Desk) -> None:
    told = [episode(0, 3.0), episode(0, 1.0, agent_id="a"), episode(0, 2.0, agent_id="b")]
    told += [episode(0, 30.0, evaluation=True), episode(0, 10.0, evaluation=True, agent_id="a")]
    desk.put(packed(told))

    def returns(kind: str) -> list[float]:
        return [one.episode.episode_return for one in read_episodes(RUN, kind=kind, store=desk.store)[0]]

    assert [[3.0], [1.0, 2.0], [30.0], [10.0]] == list(map(returns, EPISODE_KINDS))
    assert [3.0, 1.0, 2.0, 30.0, 10.0] == returns("all")


def test_the_manifest_counts_by_the_same_definition(desk: Desk) -> None:
    told = [one for number in range(4) for one in (episode(number, number, step=number), metric(number, number))]
    shares = [episode(3, 1.5, step=3, agent_id=agent) for agent in ("a", "b")]
    lost = [metric(99.0, 4), episode(4, 99.0, step=4)]
    first = [line("attempt_started", resumed_from=None), *told, *shares, saved(3), *lost]
    judged = [episode(number, 7.0, step=6, evaluation=True) for number in range(2)]
    second = [*resumed(3), metric(0.25, 5), episode(4, -1.0, step=5), *judged]
    desk.put(packed(first), packed(second, attempt=2))
    desk.finish(len(first) - 1, len(second) - 1)
    desk.write()

    manifest = json.loads(desk.manifests.written[RUN][0])

    returns = {"count": 5, "mean_return": 1.0, "last_return": -1.0, "best_return": 3.0, "best_step": 3.0}
    share = {"count": 1, "mean_return": 1.5, "last_return": 1.5, "best_return": 1.5, "best_step": 3.0}
    assert {
        **returns,
        "returns_of": "training",
        "evaluation": {"count": 2, "episodes": 2, "mean_return": 7.0, "step": 6.0},
        "agents": {"a": share, "b": share},
    } == manifest["episodes"]
    (loss,) = manifest["metrics"]
    assert (5, {"value": 0.25, "step": 5.0}, {"value": 3.0, "step": 3.0}) == (
        loss["count"], loss["final"], loss["highest"],
    )  # fmt: skip
    assert [{"seq": 11, "step": 3.0}, None] == [attempt["counts_until"] for attempt in manifest["attempts"]]
