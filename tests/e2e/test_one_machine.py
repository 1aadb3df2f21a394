"""Everything on one machine, as a person types it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest

from mosaic.lifecycle import RunState
from tests.stack.embedded import Machine
from tests.stack.evidence import compare
from tests.stack.runs import submit, undisturbed_result, wait_for_end, wait_for_manifest, wait_for_state

SMALL = ("--cpus", "0.1", "--memory-mb", "16")
ENDLESS = ("--set", "episodes=100000", "--set", "pause_ms=50")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine on which the platform is up."""
    machine = Machine(tmp_path_factory.mktemp("machine"))
    machine.up()
    yield machine
    machine.platform.stop()


@pytest.fixture(scope="module")
def ended_run(stack: Machine) -> str:
    """The id of a run of ten episodes that has ended and has its manifest."""
    with stack.connect() as mosaic:
        run = submit(mosaic, episodes=10, checkpoint_every=5, garbage=True)
        wait_for_end(mosaic, run.run_id)
        wait_for_manifest(mosaic, run.run_id)
    return run.run_id


def submitted(stack: Machine, *words: str) -> str:
    """Submit with JSON output and return the run's id."""
    typed = stack.type("submit", "drill", *SMALL, *words, "--json")
    assert 0 == typed.exit_code, typed.errors
    run_id: str = typed.document[0]["run_id"]
    return run_id


def test_a_followed_run_ends_with_its_command(stack: Machine) -> None:
    typed = stack.type("submit", "drill", "--set", "episodes=4", "--seed", "7", *SMALL, "--follow")

    assert 0 == typed.exit_code, typed.output + typed.errors
    assert "succeeded" in typed.output


def test_every_line_of_a_run_is_stored_once(stack: Machine, ended_run: str) -> None:
    with stack.connect() as mosaic:
        [compared] = compare(mosaic, ended_run, stack.runs_root).values()

    assert compared.is_whole, str(compared)


def test_the_exit_code_of_follow_says_how_the_run_ended(stack: Machine) -> None:
    typed = stack.type("submit", "drill", "--set", "always_crash_after=1", "--retries", "0", *SMALL, "--follow")

    assert 10 == typed.exit_code
    assert "crashed as asked" in typed.output


def test_bad_input_is_refused_with_every_fault(stack: Machine) -> None:
    words = ("--set", "episodes=many", "--set", "stepps=3", "--priority", "huge", "--team", "nobodys")

    typed = stack.type("submit", "drill", *words)

    assert 2 == typed.exit_code
    for fault in ("episodes", "did you mean 'steps'", "huge", "nobodys"):
        assert fault in typed.errors


@pytest.mark.parametrize("words", [(), ("--env", "CartPole-v1", "--team", "nobodys")])
def test_an_unknown_worker_is_answered_with_the_nearest(stack: Machine, words: tuple[str, ...]) -> None:
    typed = stack.type("submit", "dril", *words)

    assert 2 == typed.exit_code
    assert "did you mean 'drill'" in typed.errors
    assert ("nobodys" in words) == ("nobodys" in typed.errors)


def test_a_dry_run_says_what_would_happen_and_does_nothing(stack: Machine) -> None:
    before = stack.type("runs", "--json").document

    typed = stack.type("submit", "drill", "--dry-run")

    assert 0 == typed.exit_code, typed.errors
    assert "would be accepted" in typed.output
    assert "drill on this machine says:" in typed.output
    assert before == stack.type("runs", "--json").document


def test_a_dry_run_as_json_has_the_words_of_the_platform_and_the_plan_of_the_worker(stack: Machine) -> None:
    document = stack.type("submit", "drill", "--dry-run", "--json").document

    assert "would be accepted" in document["prediction"][0]
    assert ["drill", {}] == [document["plan"][key] for key in ("worker", "summary")]


def test_only_the_terms_of_a_team_that_are_typed_change(stack: Machine) -> None:
    stack.type("teams", "vision", "--gpus", "4", "--memory-mb", "512", "--lend", "1", "--max-queued-per-user", "3")

    typed = stack.type("teams", "vision", "--weight", "2", "--max-wall", "2h")

    assert 0 == typed.exit_code, typed.errors
    assert (
        "vision  weight 2  guaranteed 4 GPUs and 512 MB, lends at most 1 GPUs, "
        "at most 3 waiting per user, at most 7200 s per attempt"
    ) in typed.output


def test_seeds_give_one_run_each(stack: Machine) -> None:
    typed = stack.type("submit", "drill", "--seed", "1..3", *SMALL, "--json", "--follow")

    assert 0 == typed.exit_code, typed.errors
    runs = typed.document
    assert [1, 2, 3] == [run["spec"]["seed"] for run in runs]
    with stack.connect() as mosaic:
        results = {wait_for_manifest(mosaic, run["run_id"]).content["result"]["result"] for run in runs}
    assert {undisturbed_result(seed=seed, episodes=3, steps=5) for seed in (1, 2, 3)} == results


def test_a_run_can_be_described_in_a_file(stack: Machine, tmp_path: Path) -> None:
    described = tmp_path / "run.yaml"
    described.write_text("worker: drill\nseeds: [4, 5]\nconfig: {episodes: 2}\nresources: {cpus: 0.1, memory_mb: 16}\n")

    typed = stack.type("submit", str(described), "--json")
    with_another_seed = stack.type("submit", str(described), "--seed", "7", "--json")

    assert 0 == typed.exit_code, typed.errors
    assert [4, 5] == [run["spec"]["seed"] for run in typed.document]
    assert [7] == [run["spec"]["seed"] for run in with_another_seed.document]


def test_a_run_is_cancelled(stack: Machine) -> None:
    run_id = submitted(stack, *ENDLESS)

    assert 0 == stack.type("cancel", run_id, "--reason", "enough").exit_code

    followed = stack.type("follow", run_id, "--json")
    assert 11 == followed.exit_code
    assert ["cancelled"] == [run["state"] for run in followed.document]


def test_a_run_is_paused_and_resumed(stack: Machine) -> None:
    run_id = submitted(stack, *ENDLESS)
    with stack.connect() as mosaic:
        wait_for_state(mosaic, run_id, RunState.RUNNING)

        assert f"run {run_id} is asked to pause\n" == stack.type("pause", run_id).output
        wait_for_state(mosaic, run_id, RunState.PAUSED)
        assert f"run {run_id} is asked to go on\n" == stack.type("resume", run_id).output
        wait_for_state(mosaic, run_id, RunState.RUNNING)

        stack.type("cancel", run_id)
        assert RunState.CANCELLED == wait_for_end(mosaic, run_id).run.state


def test_nothing_is_cancelled_when_one_of_the_names_is_wrong(stack: Machine) -> None:
    run_id = submitted(stack, *ENDLESS)

    typed = stack.type("cancel", run_id, "NOSUCHRUN", "NORTHISONE")

    assert 3 == typed.exit_code
    for word in ("'NOSUCHRUN'", "'NORTHISONE'", "nothing was done to the others"):
        assert word in typed.errors
    assert stack.type("show", run_id, "--json").document["run"]["state"] not in {"stopping", "cancelled"}
    assert 0 == stack.type("cancel", run_id).exit_code


def test_what_was_done_is_told_beside_what_was_refused(stack: Machine, ended_run: str) -> None:
    run_id = submitted(stack, *ENDLESS)
    with stack.connect() as mosaic:
        wait_for_state(mosaic, run_id, RunState.RUNNING)

        typed = stack.type("pause", ended_run, run_id)

        assert 4 == typed.exit_code
        assert f"run {run_id} is asked to pause\n" == typed.output
        assert ended_run in typed.errors
        mosaic.cancel(run_id)


def test_every_verb_takes_the_short_id_that_is_shown(stack: Machine, ended_run: str) -> None:
    assert stack.type("follow", ended_run).output.startswith(ended_run[-8:])
    assert ended_run in stack.type("show", ended_run[-8:]).output


def test_show_tells_every_attempt(stack: Machine) -> None:
    typed = stack.type("submit", "drill", "--set", "crash_after=1", *SMALL, "--follow", "--json")
    [run] = typed.document

    shown = stack.type("show", run["run_id"]).output

    assert "succeeded" == run["state"], "--follow --json tells the end"
    attempts = shown[shown.index("attempts") : shown.index("history")]
    assert [] == [word for word in ("1  failed", "exit code", "crash", "2  succeeded", "on ") if word not in attempts]


def test_an_ended_run_is_tried_again_as_a_new_one(stack: Machine, ended_run: str) -> None:
    typed = stack.type("retry", ended_run, "--json")

    [run] = typed.document
    assert ended_run != run["run_id"]
    assert ended_run == run["spec"]["labels"]["retry_of"]


def test_explain_says_how_a_run_stands(stack: Machine, ended_run: str) -> None:
    typed = stack.type("explain", ended_run)

    assert 0 == typed.exit_code
    assert "it has ended: succeeded" in typed.output


@pytest.mark.parametrize(
    ("words", "exit_code"),
    [
        pytest.param(("show", "NOSUCHRUN"), 3, id="no such run"),
        pytest.param(("runs", "--state", "runing"), 2, id="no such state"),
        pytest.param(("pause", "ENDED"), 4, id="an ended run cannot be paused"),
        pytest.param(("up",), 4, id="the platform runs already"),
        pytest.param(("drain", "nobody"), 3, id="no such machine"),
        pytest.param(("workers", "show", "dril"), 3, id="no such worker"),
        pytest.param(("submit", "drill", "--retries", "1000000000000"), 2, id="too many retries"),
        pytest.param(("submit", "drill", "--gpus", "1.5"), 2, id="one GPU and a half"),
        pytest.param(("export", "ENDED", "--to", "x", "--format", "xml"), 2, id="no such format"),
    ],
)
def test_exit_codes_say_what_went_wrong(stack: Machine, ended_run: str, words: tuple[str, ...], exit_code: int) -> None:
    typed = stack.type(*(ended_run if word == "ENDED" else word for word in words))

    assert exit_code == typed.exit_code, typed.errors
    assert typed.errors.startswith("error: ")


def test_who_asks_for_json_gets_errors_as_json(stack: Machine) -> None:
    typed = stack.type("show", "NOSUCHRUN", "--json")

    assert (3, "") == (typed.exit_code, typed.output)
    assert "run_not_found" == json.loads(typed.errors)["error"]["code"]


def test_the_settings_of_a_worker_are_shown_with_and_without_a_platform(stack: Machine, tmp_path: Path) -> None:
    alone = Machine(tmp_path)

    for machine in (stack, alone):
        assert "episodes" in machine.type("workers", "show", "drill").output
    assert (
        alone.type("workers", "show", "drill", "--json").document
        == stack.type("workers", "show", "drill", "--json").document
    )


def test_metrics_are_told_again_until_the_run_ends(stack: Machine) -> None:
    run_id = submitted(stack, "--set", "episodes=40", "--set", "pause_ms=50")
    with stack.connect() as mosaic:
        wait_for_state(mosaic, run_id, RunState.RUNNING)

        typed = stack.type("metrics", run_id, "--watch", "--json")

    told = [curve for line in typed.output.splitlines() for curve in json.loads(line)[run_id].values()]
    assert len(told) > 1
    assert 40 == len(told[-1][0])


def test_without_a_platform_the_exit_code_says_so(tmp_path: Path) -> None:
    typed = Machine(tmp_path).type("runs")

    assert 5 == typed.exit_code
    assert "mosaic up" in typed.errors


def test_what_a_run_said_can_be_read(stack: Machine, ended_run: str) -> None:
    events = [json.loads(line) for line in stack.type("events", ended_run, "--jsonl").output.splitlines()]
    logs = stack.type("logs", ended_run).output
    metrics = stack.type("metrics", ended_run, "--name", "return", "--json").document

    assert list(range(len(events))) == [event["seq"] for event in events]
    assert "plain text" in logs
    assert 10 == len(metrics[ended_run]["return"][1])


def test_metrics_are_drawn_in_the_terminal(stack: Machine, ended_run: str) -> None:
    typed = stack.type("metrics", ended_run)

    assert 0 == typed.exit_code, typed.errors
    assert len(typed.output.splitlines()) > 8


def test_the_manifest_tells_outcome_artifacts_and_versions(stack: Machine, ended_run: str) -> None:
    manifest = stack.type("manifest", ended_run, "--json").document

    assert "succeeded" == manifest["outcome"]
    assert {"checkpoints/episode-5.json", "checkpoints/episode-10.json"} <= {
        artifact["path"] for artifact in manifest["artifacts"]
    }
    assert {"python", "drill-worker"} <= manifest["versions"].keys()
    assert Path(stack.type("manifest", ended_run, "--path").output.strip()).is_file()


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_a_run_is_exported(stack: Machine, ended_run: str, tmp_path: Path, form: str) -> None:
    typed = stack.type("export", ended_run, "--to", str(tmp_path), "--format", form, "--json")

    assert 0 == typed.exit_code, typed.errors
    rows = {Path(file["path"]).name: file["rows"] for file in typed.document}
    assert {f"{table}.{form}" for table in ("runs", "events", "episodes", "metrics")} == rows.keys()
    path = tmp_path / f"episodes.{form}"
    held = {
        "jsonl": lambda: path.read_text().count("\n"),
        "csv": lambda: path.read_text().count("\n") - 1,
        "parquet": lambda: pyarrow.parquet.read_metadata(path).num_rows,
    }[form]()
    assert 10 == rows[path.name] == held


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("place", ["file", "file/below", "/sys/nowhere"])
def test_an_export_to_a_place_that_cannot_be_is_refused_in_a_sentence(
    stack: Machine, ended_run: str, tmp_path: Path, place: str, form: str
) -> None:
    (tmp_path / "file").touch()

    typed = stack.type("export", ended_run, "--to", str(tmp_path / place), "--format", form)

    assert (2, 1) == (typed.exit_code, typed.errors.count("\n")), typed.errors
    assert typed.errors.startswith(f"error: {tmp_path / place}")


def test_the_fleet_and_its_workers_are_shown(stack: Machine) -> None:
    fleet = stack.type("fleet", "--json").document

    assert "drill" in {agent["worker"] for agent in fleet["agents"]}
    assert "session_digest" not in json.dumps(fleet)
    assert "drill" in stack.type("workers", "list").output
