"""One run with everything in it, through the real service and the real client: every surface tells the same numbers.

Attempt 1 plays ten training episodes of a team of two, is judged once, saves after the sixth and is lost after the
tenth. Attempt 2 goes on from there with returns of its own and is judged at its end.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

import grpc
import pyarrow.parquet
import pytest
from rich.text import Text

from mosaic.cli.curves import Curves
from mosaic.client import Mosaic, Run, write_csv, write_jsonl, write_parquet
from mosaic.errors import BadInput
from mosaic.hosting.access import needs
from mosaic.hosting.grpc_server import GrpcServer, Registration
from mosaic.model.identity import Permission
from mosaic.testing.certificates import certificates
from mosaic.wire.codec import to_timestamp
from mosaic.wire.v1 import scheduler_pb2 as wire
from mosaic.wire.v1.scheduler_pb2_grpc import SchedulerServicer, add_SchedulerServicer_to_server
from mosaic_telemetry.entrypoints.service import build
from mosaic_telemetry.settings import Settings
from tests.fakes.front_door import client_of
from tests.fakes.telemetry import EVENT_KEY, RUN, a_finished_run, encoded, episode, line, metric, resumed, saved

#: The team's return of episode N is N in the first attempt and 100 + N in the second.
COUNTED = [float(number) for number in range(6)] + [100.0 + number for number in range(6, 12)]
LOST = [6.0, 7.0, 8.0, 9.0]


def played(number: int, team: float) -> list[bytes]:
    step = 10.0 * (number + 1)
    told = [episode(number, team, step=step), metric(team, step, "episode_return_mean")]
    return [*told, *(episode(number, team / 2, step=step, agent_id=agent) for agent in ("a", "b"))]


def judged(score: float, step: float) -> list[bytes]:
    team = [episode(number, score, step=step, evaluation=True) for number in range(3)]
    return [*team, *(episode(number, score / 2, step=step, evaluation=True, agent_id="a") for number in range(3))]


FIRST = [
    line("attempt_started", resumed_from=None),
    *(one for number in range(6) for one in played(number, float(number))),
    *judged(-7.0, 60.0),
    saved(60.0),
    *(one for number in range(6, 10) for one in played(number, float(number))),
]
SECOND = [
    *resumed(60.0),
    *(one for number in range(6, 12) for one in played(number, 100.0 + number)),
    *judged(500.0, 120.0),
]


class OneRun(SchedulerServicer):
    """A scheduler that knows one run of two attempts, under whatever name."""

    @needs(Permission.RUNS_READ)
    def GetRun(self, request: wire.GetRunRequest, context: grpc.ServicerContext) -> wire.RunDetail:
        then = to_timestamp(_moment())
        state = wire.RUN_STATE_SUCCEEDED
        run = wire.Run(run_id=RUN, attempt=2, state=state, submitted_at=then, updated_at=then, spec=wire.RunSpec())
        run.spec.worker, run.spec.name, run.spec.seed, run.spec.config_json = "xuance", "spread", 5, '{"lr": 0.1}'
        attempt = wire.Attempt(state=wire.ATTEMPT_STATE_SUCCEEDED, admitted_at=then, lease_until=then)
        attempt.lease.SetInParent()
        attempts = [wire.Attempt(attempt=number) for number in (1, 2)]
        for one in attempts:
            one.MergeFrom(attempt)
        return wire.RunDetail(run=run, attempts=attempts)


def _moment() -> datetime:
    return datetime(2026, 11, 16, tzinfo=UTC)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosaic]:
    folder = tmp_path_factory.mktemp("telemetry")
    database = f"sqlite:///{folder}/e.db"
    service = build(Settings(database_url=database, manifest_root=str(folder / "manifests"), event_key=EVENT_KEY))
    scheduler = Registration("mosaic.wire.v1.Scheduler", OneRun(), add_SchedulerServicer_to_server)
    server = GrpcServer([*service.registrations(), scheduler], "127.0.0.1:0", certificates().every())
    server.start()
    service.start()
    service.ingest.send([encoded(FIRST), encoded(SECOND, attempt=2)])
    service.run_finished(a_finished_run(len(FIRST) - 1, len(SECOND) - 1))
    with client_of(server.address) as client:
        yield client
    server.stop(0)
    service.stop()


@pytest.fixture(scope="module")
def run(fleet: Mosaic) -> Run:
    return fleet.run(RUN).run


def test_the_summary_is_of_what_counts(fleet: Mosaic) -> None:
    summary = fleet.summaries([RUN])[RUN]

    assert (12, fmean(COUNTED), 111.0, "training", 120.0) == (
        summary.episodes, summary.mean_return, summary.best_return, summary.returns_of, summary.last_step,
    )  # fmt: skip
    assert summary.evaluation is not None
    assert (6, 3, 500.0, 120.0) == (
        summary.evaluation.count, summary.evaluation.episodes, summary.evaluation.mean_return, summary.evaluation.step,
    )  # fmt: skip


def test_the_client_gives_training_episodes_that_count_and_others_on_request(fleet: Mosaic) -> None:
    everything = fleet.episodes(RUN, include_lost=True)

    assert COUNTED == [one.episode_return for one in fleet.episodes(RUN)]
    assert LOST == [one.episode_return for one in everything if not one.counted]
    assert [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, *LOST] == [one.episode_return for one in fleet.episodes(RUN, attempt=1)]
    assert [-7.0] * 3 + [500.0] * 3 == [one.episode_return for one in fleet.episodes(RUN, kind="evaluation")]
    assert 24 == len(fleet.episodes(RUN, kind="agent"))
    assert {"training", "agent", "evaluation", "evaluation_agent"} == {
        one.kind for one in fleet.episodes(RUN, kind="all")
    }
    with pytest.raises(BadInput, match="'train' is none"):
        fleet.episodes(RUN, kind="train")


def test_a_series_is_told_once_with_what_counts_of_it(fleet: Mosaic) -> None:
    (series,) = fleet.series(RUN)
    (first,) = fleet.series(RUN, attempt=1)

    assert (12, 0.0, 111.0) == (series.count, series.min_value, series.max_value)
    assert (10, 0.0, 9.0) == (first.count, first.min_value, first.max_value)
    assert COUNTED == list(fleet.curve(RUN, "episode_return_mean", resolution=0).means)


def test_results_become_data_frames(fleet: Mosaic) -> None:
    episodes = fleet.episodes(RUN).to_pandas()
    curve = fleet.curve(RUN, "episode_return_mean", resolution=0).to_pandas()

    assert COUNTED == list(episodes["episode_return"]) == list(curve["value"])
    assert {"training"} == set(episodes["kind"])
    assert list(episodes.columns) == list(fleet.episodes(RUN, kind="training", last=0).to_pandas().columns)


def test_metrics_as_json_are_the_very_values(fleet: Mosaic, run: Run) -> None:
    told = Curves(fleet, [run]).document()[RUN]

    assert {"episode_return"} == told.keys(), "what is shown if nothing is named"
    assert COUNTED == told["episode_return"][1]
    assert "env_steps" == told["episode_return"][2]


def test_a_lost_stretch_is_shown_on_request(fleet: Mosaic, run: Run) -> None:
    first = Curves(fleet, [run], attempt=1).document()[RUN]["episode_return"]
    each = Curves(fleet, [run], ["episode_return_mean"], all_attempts=True).document()[RUN]

    assert LOST == first[1][-4:]
    assert LOST == each["episode_return_mean (attempt 1)"][1][-4:]
    assert 106.0 == each["episode_return_mean (attempt 2)"][1][0]


def test_a_picture_says_what_was_smoothed(fleet: Mosaic, run: Run) -> None:
    def title(*names: str) -> str:
        return Text.from_markup(Curves(fleet, [run], names).picture()).plain.splitlines()[0]

    assert ["episode_return, mean of 20", "episode_return_mean"] == [title(), title("episode_return_mean")]


def test_runs_in_one_picture_are_told_apart_without_colours(fleet: Mosaic, run: Run) -> None:
    drawn = Text.from_markup(Curves(fleet, [run, run]).picture()).plain.splitlines()

    assert "● spread seed 5 run-1   ▲ spread seed 5 run-1" == drawn[-1]
    assert [] == [marker for marker in "●▲" if not any(marker in row for row in drawn[1:-1])]


def test_the_manifest_tells_the_same(fleet: Mosaic) -> None:
    manifest = fleet.manifest(RUN).content
    episodes = manifest["episodes"]
    (mean,) = manifest["metrics"]

    assert (12, fmean(COUNTED), 111.0) == (episodes["count"], episodes["mean_return"], episodes["best_return"])
    assert {"count": 6, "episodes": 3, "mean_return": 500.0, "step": 120.0} == episodes["evaluation"]
    assert {"a": 12, "b": 12} == {name: share["count"] for name, share in episodes["agents"].items()}
    assert (12, {"value": 111.0, "step": 120.0}) == (mean["count"], mean["best"])


def test_an_export_of_several_runs_holds_what_counts(fleet: Mosaic, tmp_path: Path) -> None:
    written = {path.name: rows for path, rows in write_csv(fleet, [RUN, RUN], tmp_path)}

    with (tmp_path / "episodes.csv").open(newline="") as file:
        episodes = list(csv.DictReader(file))
    with (tmp_path / "runs.csv").open(newline="") as file:
        runs = list(csv.DictReader(file))
    assert {"runs.csv": 2, "events.csv": 2 * len(FIRST + SECOND), "episodes.csv": 2 * 48, "metrics.csv": 24} == written
    assert COUNTED * 2 == [float(row["episode_return"]) for row in episodes if row["kind"] == "training"]
    assert {RUN} == {row["run_id"] for row in episodes}
    assert {"True"} == {row["counted"] for row in episodes}
    assert ("spread", "5", {"lr": 0.1}) == (runs[0]["name"], runs[0]["seed"], json.loads(runs[0]["config"]))


def test_an_export_of_all_attempts_tells_which_episodes_count(fleet: Mosaic, tmp_path: Path) -> None:
    list(write_jsonl(fleet, RUN, tmp_path, all_attempts=True))

    episodes = [json.loads(row) for row in (tmp_path / "episodes.jsonl").read_text().splitlines()]
    metrics = [json.loads(row) for row in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    training = [row for row in episodes if row["kind"] == "training"]
    assert LOST == [row["episode_return"] for row in training if not row["counted"]]
    assert (10, 6) == tuple(sum(row["attempt"] == attempt for row in metrics) for attempt in (1, 2))


def test_parquet_has_the_same_columns(fleet: Mosaic, tmp_path: Path) -> None:
    written = {path.name: rows for path, rows in write_parquet(fleet, RUN, tmp_path)}

    columns = pyarrow.parquet.read_schema(tmp_path / "episodes.parquet").names
    assert 48 == written["episodes.parquet"]
    assert {"run_id", "kind", "attempt", "counted", "episode_return", "step"} <= set(columns)
