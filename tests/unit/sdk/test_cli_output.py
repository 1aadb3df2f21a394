"""What the command line prints: strict JSON, nothing a worker wrote as markup or as a command to the terminal."""

from __future__ import annotations

import io
import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from mosaic.cli import fleet, results
from mosaic.cli.envs import Worker, chosen, details, family_table
from mosaic.cli.follow import follow_runs
from mosaic.cli.plot import Line, plot
from mosaic.cli.render import display, document, no_plan
from mosaic.cli.settings import settings_table, takes
from mosaic.client import Agent, Fleet, Node, Run, RunSpec, Summary
from mosaic.errors import NotFound
from mosaic.lifecycle import RunState
from mosaic.worker.environments import catalog, families, find
from mosaic_console.adapters.messages import team_request


def printed(markup: object, *, terminal: bool = False, width: int = 80) -> str:
    """Return what a console of that kind makes of *markup*."""
    file = io.StringIO()
    Console(file=file, force_terminal=terminal, color_system=None, width=width, highlight=False).print(markup)
    return file.getvalue()


TERMINAL = Console(file=io.StringIO(), force_terminal=True)
PIPE = Console(file=io.StringIO(), force_terminal=False)


@pytest.mark.parametrize("name", ["loss[actor]", "a[/b]", "[red]x[/red]", "a[/]", "tail\\", "[link=http://x]y[/link]"])
def test_names_are_drawn_as_they_are_written(name: str) -> None:
    drawn = printed(plot([Line(name, [0, 1], [1.0, 2.0])], title=name, unit=name, width=40, height=2))

    assert 3 == drawn.count(name.rstrip("\\")), drawn


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        pytest.param("\x1b]0;owned\x07", "\\x1b]0;owned\\x07", id="a title of the window"),
        pytest.param("exe.\u202egnp", "exe.\\u202egnp", id="the other direction"),
        pytest.param("\x1b[2J\x1b[H", "\\x1b[2J\\x1b[H", id="an empty screen"),
        pytest.param("\x9b2J", "\\x9b2J", id="the same in one character"),
        pytest.param("a\x08b\x00", "a\\x08b\\x00", id="a backspace and a zero"),
        pytest.param("\x1b[1;31mred\x1b[0m", "red", id="colours"),
        pytest.param("tab\tand ü", "tab\tand ü", id="ordinary text"),
    ],
)
def test_text_cannot_control_a_terminal(text: str, seen: str) -> None:
    assert seen == display(text, TERMINAL).replace("\\[", "[")
    assert text == display(text, PIPE).replace("\\[", "["), "a pipe gets what the worker wrote"


@dataclass(frozen=True)
class Told:
    """Values that JSON has no words for."""

    value: float
    at: datetime
    where: Path


def test_a_document_is_strict_json(capsys: pytest.CaptureFixture[str]) -> None:
    document(
        {
            "a": [float("nan"), float("-inf"), 1.5],
            "b": Told(float("inf"), datetime(2030, 1, 1, tzinfo=timezone.utc), Path("x")),
        }
    )

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    read = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert {
        "a": ["NaN", "-Infinity", 1.5],
        "b": {"value": "Infinity", "at": "2030-01-01T00:00:00+00:00", "where": "x"},
    } == read


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 10**9}, "integer 1 to 1,000,000,000"),
        ({"type": ["number", "null"], "exclusiveMinimum": 0}, "number or null > 0"),
        ({"enum": ["a", None, 3]}, "a, None, 3"),
        ({"enum": list(range(20))}, "0, 1, 2, 3, 4, 5, 6, 7 and 12 more"),
        ({"anyOf": [{"type": "string"}, {"enum": [1]}]}, "string or 1"),
        ({"type": "array", "items": {"type": "integer"}}, "array of integer"),
        ({}, "anything"),
    ],
)
def test_a_setting_says_what_it_takes(setting: dict[str, object], words: str) -> None:
    assert words == takes(setting)


def test_the_settings_of_a_worker_fit_into_80_columns() -> None:
    schema = {
        "required": ["target"],
        "properties": {
            "run_id": {"type": "string"},
            "seed": {"type": "integer"},
            "target": {"type": "string", "description": "What to reach [bold]"},
            "epsilon_decay_fraction": {"type": "number", "default": 0.5, "description": "Part of the run " * 8},
            "sizes": {"type": "array", "items": {"type": "integer"}, "default": [64] * 20},
        },
    }

    drawn = printed(settings_table(schema))

    assert max(map(len, drawn.splitlines())) <= 80
    assert "run_id" not in drawn
    assert [] == [word for word in ("must be set", "epsilon_decay_fraction", "[bold]", "0.5") if word not in drawn]


def a_listed_run(seed: int, *, name: str = "", reason: str = "") -> Run:
    """Return a run as `mosaic runs` gets it."""
    now = datetime.now(timezone.utc)
    spec = RunSpec("reference", name=name, team="default", user="ada", seed=seed)
    return Run(f"01M7K9EGFBN1PBVB4AF7TNTME{seed}", spec, RunState.SUCCEEDED, now, now, attempt=1, reason=reason)


def test_a_worker_that_lists_its_environments_trains_on_no_others() -> None:
    worker = Worker({}, {"properties": {"env_id": {"enum": ["CartPole-v1"]}}})
    envs = {env.env_id: env for env in catalog()}

    assert worker.why_not(envs["CartPole-v1"]) is None
    assert "not among the environments" in str(worker.why_not(envs["Acrobot-v1"]))
    assert Worker({}, {}).why_not(envs["Acrobot-v1"]) is None


@pytest.mark.parametrize("family", families())
def test_environments_of_a_family_are_listed_in_80_columns_without_breaking_a_word(family: str) -> None:
    workers = {name: Worker({"max_agents": 99}, {}) for name in ("cleanrl", "reference", "rllib", "xuance")}
    members = chosen({}, family=family)
    table = family_table(members, workers)

    narrow, wide = (printed(table, width=width) for width in (80, 300))

    assert sorted(wide.split()) == sorted(narrow.split())
    assert [family, *(env.env_id for env in members)] == [row.split()[0] for row in wide.splitlines()]


def test_all_about_one_environment_is_said_with_the_reason_of_each_worker() -> None:
    env = find("simple_speaker_listener_v4")
    assert env is not None

    told = printed(details(env, {"a": Worker({"max_agents": 2}, {}), "b": Worker({}, {})})).splitlines()

    assert [line.split() for line in told] == [
        ["agents", "1", "speaker,", "1", "listener"],
        ["sees", "speaker:", "3", "numbers"],
        ["listener:", "11", "numbers"],
        ["does", "speaker:", "3", "choices"],
        ["listener:", "5", "choices"],
        ["episode", "at", "most", "25", "steps"],
        ["needs", "mpe2", "or", "pettingzoo[mpe]"],
        ["a", "can", "train", "on", "it"],
        ["b", "cannot:", "simple_speaker_listener_v4", "has", "2", "agents;", "it", "takes", "1"],
    ]


def test_a_family_or_worker_that_does_not_exist_is_told_with_the_nearest() -> None:
    with pytest.raises(NotFound, match="no family is called 'mujco', did you mean 'mujoco'"):
        chosen({}, family="mujco")
    with pytest.raises(NotFound, match="no worker is called 'cleanlr', did you mean 'cleanrl'"):
        chosen({"cleanrl": Worker({}, {})}, worker="cleanlr")


def test_only_what_a_worker_can_train_on_is_chosen() -> None:
    discrete = {"d": Worker({"action_spaces": ["discrete"]}, {})}

    assert ["CartPole-v1", "Acrobot-v1", "MountainCar-v0"] == [
        env.env_id for env in chosen(discrete, family="classic_control", worker="d")
    ]


def test_only_the_terms_that_are_given_are_sent() -> None:
    sent = team_request("vision", {"gpus": 4, "weight": 2.0, "max_running": None})

    assert ("vision", 2.0, 4) == (sent.team.name, sent.team.weight, sent.team.quota.gpus)
    assert ["quota.gpus", "weight", "max_running"] == list(sent.terms)
    assert not sent.team.HasField("max_running")


def an_agent(agent_id: str, node_id: str, **changes: Any) -> Agent:
    agent = Agent(agent_id, node_id, "reference", "0.1.0", 8, "queue", "MOSAIC/2.0", datetime.now(timezone.utc))
    return replace(agent, **changes)


def test_the_fleet_fits_a_narrow_terminal_and_no_id_is_folded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pod = "agent-reference-7c9f8-x2x4q"
    nodes = [Node(node_id, "host", 16, 65_536, (), False, True) for node_id in ("n1", pod)]
    agents = [
        an_agent("n1-cleanrl", "n1", worker="cleanrl", worker_version="1.10.0", draining=True),
        an_agent(f"{pod}-reference", pod, slots=1),
        an_agent(f"{'very-' * 20}long", "n1", alive=False),
    ]
    monkeypatch.setattr(fleet, "connect", lambda: nullcontext(Known(Fleet(tuple(nodes), tuple(agents), (), 1))))
    monkeypatch.setenv("COLUMNS", "80")

    fleet.fleet()

    lines = capsys.readouterr().out.splitlines()
    assert f"{pod}  16 CPUs, 64.0 GiB, 0 GPUs" == lines[0]
    assert f"  ready       1 slot   reference 0.1.0  {pod}-reference" == lines[1]
    assert "n1  16 CPUs, 64.0 GiB, 0 GPUs" == lines[2]
    assert "  draining    8 slots  cleanrl 1.10.0   n1-cleanrl" == lines[3]
    assert "  silent      8 slots  reference 0.1.0  " + agents[2].agent_id == lines[4]
    assert max(map(len, lines[:4])) <= 80


@dataclass
class Known:
    """A platform that knows its fleet, and nothing else."""

    machines: Fleet

    def fleet(self) -> Fleet:
        return self.machines


class Slow:
    """A platform with one run whose curve comes at the third look, if it comes; the run ends at the fourth."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._looks = 0

    def run(self, run_id: str) -> Any:
        self._looks += 1
        state = RunState.RUNNING if self._looks < 5 else RunState.SUCCEEDED
        return SimpleNamespace(run=replace(a_listed_run(1), run_id=run_id, state=state))

    def series(self, run_id: str, *, attempt: int = 0) -> list[Any]:
        return [SimpleNamespace(name=self._name)] if self._looks > 3 else []

    def curve(self, run_id: str, name: str, *, attempt: int = 0, resolution: int) -> Any:
        return SimpleNamespace(steps=[1.0], means=[2.0], counts=[1], unit="env_steps")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "connect", lambda: nullcontext(Slow("loss")))
    monkeypatch.setattr(results, "_REFRESH_S", 0.0)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.usefixtures("slow")
def test_who_watches_a_curve_waits_until_there_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    results.metrics(["01A"], name=["loss"], watch=True, as_json=True)

    told, aside = capsys.readouterr()
    points = [len(json.loads(line)["01A"]["loss"][0]) for line in told.splitlines()]
    assert [0, 0, 1, 1] == points
    assert "run 01A has no curve 'loss' yet; waiting for it" == aside.strip()


@pytest.mark.usefixtures("slow")
def test_a_picture_is_drawn_again_when_its_curve_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    results.metrics(["01A"], name=["loss"], watch=True)

    assert "loss" in capsys.readouterr().out


@pytest.mark.usefixtures("slow")
def test_a_curve_that_never_came_is_an_error_when_the_run_has_ended() -> None:
    with pytest.raises(NotFound, match="run 01A has no curve 'los', did you mean 'loss'"):
        results.metrics(["01A"], name=["los"], watch=True)


@pytest.mark.timeout(10)
def test_who_follows_a_run_hears_of_whatever_broke_the_watching() -> None:
    def watch(*_args: object, **_kwargs: object) -> object:
        raise BrokenPipeError("the reader has gone")

    platform: Any = SimpleNamespace(watch=watch)

    with pytest.raises(BrokenPipeError, match="the reader has gone"):
        follow_runs(platform, ["run-1"], quiet=True)


def test_who_followed_a_run_that_failed_reads_the_sentence_and_where_the_rest_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    why = "ValueError: no angle\nTraceback (most recent call last):\n  train()"
    run = replace(a_listed_run(1, reason=why), state=RunState.FAILED)
    platform: Any = SimpleNamespace(watch=lambda *_args, **_kwargs: iter([run]))

    follow_runs(platform, [run.run_id], quiet=False)

    said = capsys.readouterr().out
    assert f"run {run.run_id} failed: ValueError: no angle\n" in said
    assert "Traceback" not in said
    assert "why: mosaic logs" in said


@pytest.mark.timeout(10)
def test_who_follows_a_run_that_never_said_a_word_hears_of_its_silence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mosaic.cli.follow._LOOK_SELDOM_S", 0.01)
    started_at = datetime.now(timezone.utc) - timedelta(minutes=5)
    run = replace(a_listed_run(1), state=RunState.RUNNING, started_at=started_at)
    looks, looked_twice = itertools.count(1), threading.Event()

    def summaries(_run_ids: object) -> dict[str, Summary]:
        if next(looks) > 1:
            looked_twice.set()
        return {}

    def watch(*_args: object, **_kwargs: object) -> Iterator[Run]:
        yield run
        looked_twice.wait()
        yield replace(run, state=RunState.SUCCEEDED)

    platform: Any = SimpleNamespace(watch=watch, summaries=summaries, telemetry_fault=lambda: "")
    follow_runs(platform, [run.run_id], quiet=False)

    assert 1 == capsys.readouterr().err.count(f"nothing was heard of run {run.run_id} for 5m")


def test_a_worker_that_is_not_here_is_named_with_the_command_that_shows_its_plan(
    capsys: pytest.CaptureFixture[str],
) -> None:
    no_plan("cleanrl", ("-m", "mosaic_cleanrl"))

    said = capsys.readouterr().out
    assert "cleanrl is not installed on this machine" in said
    assert "`python -m mosaic_cleanrl --config FILE --dry-run` shows it" in said
