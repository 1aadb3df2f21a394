"""Every number that is shown of a run is what the formula of its environment says, with every library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from mosaic.client import Mosaic
from mosaic.lifecycle import RunState
from mosaic.worker.library.evaluation import evaluation_seeds
from tests.stack.embedded import Machine
from tests.stack.runs import wait_for_end, wait_for_manifest
from tests.workers.conftest import InstalledWorker
from tests.workers.linked import machine_with
from tests.workers.oracle import surfaces
from tests.workers.oracle.expected import (
    AGENT,
    CURVE,
    EVALUATION,
    TRAINING,
    Episode,
    Point,
    confusions,
    numbers_of,
    smoothed,
)
from tests.workers.oracle.games.oracle_formula import AGENTS, shares
from tests.workers.oracle.scenarios import GAMES, SCENARIOS, SEED, Scenario
from tests.workers.oracle.surfaces import CURVES, Sight, printed

pytestmark = pytest.mark.slow

#: All runs wait for each other on two cores.
PATIENCE_S = 420.0

#: Everything that shows single numbers.
SHOWN_NUMBERS: Mapping[str, Callable[[Sight], Mapping[str, Any]]] = {
    "follow": surfaces.follow,
    "runs": surfaces.runs,
    "show": surfaces.show,
    "client-summary": surfaces.summary,
    "manifest": surfaces.manifest_numbers,
}
FORMATS = ("jsonl", "csv", "parquet")


@pytest.fixture(scope="module")
def workers(installed_worker: Callable[[str], InstalledWorker]) -> dict[str, InstalledWorker]:
    """Every worker, by name."""
    return {name: installed_worker(name) for name in ("reference", "cleanrl", "xuance", "rllib", "sb3")}


@pytest.fixture(scope="module")
def machine(workers: dict[str, InstalledWorker], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine with every worker, on which the platform is up."""
    machine = machine_with(list(workers.values()), tmp_path_factory.mktemp("oracle"), visible=GAMES)
    machine.up()
    yield machine
    machine.platform.stop()


@pytest.fixture(scope="module")
def mosaic(machine: Machine) -> Iterator[Mosaic]:
    """A client of the platform."""
    with machine.connect() as client:
        yield client


@pytest.fixture(scope="module")
def submitted(mosaic: Mosaic, request: pytest.FixtureRequest) -> dict[str, str]:
    """The id of the run of each scenario that is asked for; they go on while those before them are looked at."""
    asked = (item.callspec.params.get("scenario") for item in request.session.items if hasattr(item, "callspec"))
    names = [name for name in dict.fromkeys(asked) if name]
    return {name: mosaic.submit(SCENARIOS[name].submission())[0].run_id for name in names}


@pytest.fixture(scope="module", params=SCENARIOS)
def scenario(request: pytest.FixtureRequest) -> Scenario:
    """One scenario after the other."""
    return SCENARIOS[request.param]


@pytest.fixture(scope="module")
def sight(
    machine: Machine,
    mosaic: Mosaic,
    submitted: dict[str, str],
    scenario: Scenario,
    tmp_path_factory: pytest.TempPathFactory,
) -> Sight:
    """The run of the scenario, once it has succeeded."""
    run_id = submitted[scenario.name]
    detail = wait_for_end(mosaic, run_id, seconds=PATIENCE_S)
    assert RunState.SUCCEEDED is detail.run.state, detail.run.reason
    assert (1 if scenario.plan.killed_in is None else 2) == len(detail.attempts)
    wait_for_manifest(mosaic, run_id)
    return Sight(machine, mosaic, run_id, tmp_path_factory.mktemp("exports"))


@pytest.fixture(scope="module", params=FORMATS)
def form(sight: Sight, request: pytest.FixtureRequest) -> str:
    """A format in which the run was exported."""
    form: str = request.param
    sight.typed("export", sight.run_id, "--to", str(sight.exports), "--format", form)
    return form


@pytest.mark.parametrize("name", SCENARIOS)
def test_whatever_is_mixed_up_shows(name: str) -> None:
    right = SCENARIOS[name].expected
    shown = {key: printed(right.numbers[key]) for key in ("mean_return", "best_return")}

    for what, wrong in confusions(right):
        unnoticed = [key for key in shown if printed(wrong[key]) == shown[key]]
        assert [] == unnoticed, what


@pytest.mark.parametrize("surface", SHOWN_NUMBERS)
def test_numbers_are_those_of_the_formula(scenario: Scenario, sight: Sight, surface: str) -> None:
    right = scenario.expected.numbers
    shown = SHOWN_NUMBERS[surface](sight)

    assert {name: printed(right[name]) if isinstance(shown[name], str) else right[name] for name in shown} == shown


def test_the_client_reads_every_episode_of_each_kind(scenario: Scenario, sight: Sight) -> None:
    assert _episodes(scenario) == surfaces.episodes(sight)


def test_what_was_lost_is_told_on_request_only(scenario: Scenario, sight: Sight, mosaic: Mosaic) -> None:
    right = scenario.expected
    lost = [one for one in right.lost if isinstance(one, Episode) and one.kind == TRAINING]
    everything = sorted([*right.episodes(), *lost], key=lambda one: one.attempt)

    told = mosaic.episodes(sight.run_id, include_lost=True)
    first = sight.document("metrics", sight.run_id, "--attempt", "1")[sight.run_id]["episode_return"]

    assert [(one.episode_return, one in right.counted) for one in everything] == [
        (one.episode_return, one.counted) for one in told
    ]
    assert [one.episode_return for one in everything if one.attempt == 1] == first[1]


def test_the_client_reads_every_point(scenario: Scenario, sight: Sight) -> None:
    assert _curves(scenario) == surfaces.curves(sight)


def test_metrics_as_json_are_raw_and_those_that_count(scenario: Scenario, sight: Sight) -> None:
    training = [(one.step, one.episode_return) for one in scenario.expected.episodes()]

    assert {"episode_return": training, **_curves(scenario)} == surfaces.metrics_json(sight)


def test_the_picture_says_that_it_is_smoothed_and_of_what_counts(scenario: Scenario, sight: Sight) -> None:
    drawn = smoothed(scenario.expected.episodes())
    means = [one.episode_return for one in drawn]
    right = {
        "title": f"episode_return, mean of {CURVE}",
        "y": (f"{min(means):.4g}", f"{max(means):.4g}"),
        "x": (f"{drawn[0].step}", f"{drawn[-1].step}"),
    }

    assert right == surfaces.picture(sight)


def test_metrics_are_listed_once_with_what_counts_of_them(scenario: Scenario, sight: Sight) -> None:
    points = {name: curve for name, curve in _curves(scenario).items() if curve}
    rows = {
        name: {
            "count": len(curve),
            "last_step": curve[-1][0],
            "last_value": curve[-1][1],
            "min_value": min(value for _, value in curve),
            "max_value": max(value for _, value in curve),
        }
        for name, curve in points.items()
    }
    texts = {
        name: (f"{row['count']:,}", printed(row["last_value"]), printed(row["last_step"])) for name, row in rows.items()
    }

    assert {name: [rows[name]] if name in rows else [] for name in CURVES} == surfaces.metrics_list_json(sight)
    assert {name: [texts[name]] if name in texts else [] for name in CURVES} == surfaces.metrics_list(sight)


def test_an_export_has_every_episode_and_every_point_that_counts(scenario: Scenario, sight: Sight, form: str) -> None:
    assert _episodes(scenario) == surfaces.exported_episodes(sight, form)
    assert _curves(scenario) == surfaces.exported_curves(sight, form)


def test_the_manifest_has_the_final_and_the_extreme_points_of_each_curve(scenario: Scenario, sight: Sight) -> None:
    listed = {metric["name"]: metric for metric in sight.manifest["metrics"]}
    told = {name: [listed[name][key] for key in ("count", "final", "highest")] for name in CURVES if name in listed}

    assert {name: _final_and_highest(curve) for name, curve in _curves(scenario).items() if curve} == told


def test_the_manifest_has_the_share_of_each_agent(scenario: Scenario, sight: Sight) -> None:
    told = sight.manifest["episodes"]["agents"]
    names = AGENTS if scenario.library.habits.is_team else ()
    right = {name: numbers_of(scenario.expected.episodes(AGENT, name), []) for name in names}

    kept = ("mean_return", "last_return", "best_return", "best_step")
    assert {name: {"count": one["episodes"], **{key: one[key] for key in kept}} for name, one in right.items()} == told


def test_the_file_of_the_evaluation_has_each_of_its_episodes(scenario: Scenario, sight: Sight) -> None:
    if not scenario.plan.eval_episodes:
        assert not (sight.run_dir / "evaluation.json").exists()
        return
    newest = scenario.expected.episodes(EVALUATION)[-scenario.plan.eval_episodes :]
    seeds = evaluation_seeds(SEED, len(newest))
    told = surfaces.evaluation_file(sight)

    assert [(seed, one.episode_return, one.length) for seed, one in zip(seeds, newest, strict=True)] == [
        (row["seed"], row["episode_return"], row["length"]) for row in told
    ]
    if scenario.library.habits.is_team:
        assert [shares(one.episode_return) for one in newest] == [row["agents"] for row in told]


def test_the_files_for_tensorboard_agree(scenario: Scenario, sight: Sight, workers: dict[str, InstalledWorker]) -> None:
    written = scenario.library.tensorboard
    if written is None:
        assert [] == list((sight.run_dir / "tensorboard").iterdir())
        return
    told = surfaces.tensorboard(sight, workers["cleanrl"])
    divisor = len(AGENTS) if written.is_mean_of_agents else 1
    everything = [*scenario.expected.lost, *scenario.expected.counted]
    returns = [
        (one.attempt, one.step + written.step_shift, one.episode_return / divisor)
        for one in everything
        if isinstance(one, Episode) and one.kind == TRAINING
    ]
    means = [
        (one.attempt, one.step, one.value)
        for one in everything
        if isinstance(one, Point) and one.name == "eval/mean_return"
    ]

    for tag, points in ((written.tag, returns), ("eval/mean_return", means)):
        # The last attempt wrote everything; one that was killed could not write what it had kept for later.
        last = [point[1:] for point in points if point[0] == points[-1][0]]
        earlier = [point[1:] for point in points if point[0] < points[-1][0]]
        assert last == [pytest.approx(point, rel=1e-6) for point in told[tag][-len(last) :]]
        assert all(pytest.approx(point, rel=1e-6) in earlier for point in told[tag][: -len(last)])


def _episodes(scenario: Scenario) -> dict[str, list[Episode]]:
    return {kind: scenario.expected.episodes(kind) for kind in (TRAINING, EVALUATION, AGENT)}


def _curves(scenario: Scenario) -> dict[str, list[tuple[float, float]]]:
    return {name: scenario.expected.curve(name) for name in CURVES}


def _final_and_highest(curve: list[tuple[float, float]]) -> list[Any]:
    step, value = max(curve, key=lambda point: point[1])
    return [len(curve), {"value": curve[-1][1], "step": curve[-1][0]}, {"value": value, "step": step}]
