from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import BadInput
from mosaic.worker import TelemetryEmitter, WandBMetadata, WorkerAnalyticsManifest, WorkerCLI, run_worker


@dataclass
class Config:
    run_id: str
    seed: int | None = None
    steps: int = 1
    worker_id: str | None = None

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise ValueError("steps must not be negative")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Config:
        return cls(**{key: value for key, value in data.items() if key in cls.__dataclass_fields__})


class Silent:
    """Says nothing of its life."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def run(self) -> dict[str, Any]:
        return {"steps": self.config.steps}


class Talkative(Silent):
    def run(self) -> dict[str, Any]:
        emitter = TelemetryEmitter(self.config.run_id)
        emitter.run_started({"own": True})
        emitter.metric("loss", 1.0, 1)
        emitter.run_completed({"own": True})
        return {}


class Failing(Silent):
    def run(self) -> dict[str, Any]:
        raise RuntimeError("out of cheese")


@pytest.fixture
def run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MOSAIC_RUN_DIR", str(tmp_path))
    monkeypatch.setenv("MOSAIC_HEARTBEAT_S", "0")
    return tmp_path


class Outcome:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.err = err
        self.lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        self.events = [line["event"] for line in self.lines if "event" in line]

    def payload(self, event: str) -> dict[str, Any]:
        (found,) = (line["payload"] for line in self.lines if line.get("event") == event)
        return found  # type: ignore[no-any-return]


@pytest.fixture
def launch(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def _launch(runtime: Any, *arguments: str, **config: Any) -> Outcome:
        path = run_dir / "config.json"
        path.write_text(json.dumps({"run_id": "R1", **config}))
        code = run_worker(Config, runtime, ["--config", str(path), *arguments], worker_type="test")
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return _launch


def test_the_life_of_a_silent_runtime_is_told_for_it(launch: Any, run_dir: Path) -> None:
    outcome = launch(Silent, seed=3)

    assert 0 == outcome.code
    assert ["run_started", "run_completed"] == outcome.events
    assert 3 == outcome.payload("run_started")["seed"]
    manifest = WorkerAnalyticsManifest.load(run_dir / "analytics.json")
    assert ("R1", "test", {"steps": 1}) == (manifest.run_id, manifest.worker_type, manifest.metadata["summary"])


def test_a_runtime_that_tells_its_own_life_is_not_repeated(launch: Any) -> None:
    outcome = launch(Talkative)

    assert ["run_started", "metric", "run_completed"] == outcome.events
    assert {"own": True} == outcome.payload("run_started")


def test_the_start_comes_before_anything_else_a_runtime_says(launch: Any) -> None:
    class OnlyMetrics(Silent):
        def __init__(self, config: Config, emitter: TelemetryEmitter) -> None:
            super().__init__(config)
            self.emitter = emitter

        def run(self) -> dict[str, Any]:
            self.emitter.metric("loss", 1.0, 1)
            return {}

    assert ["run_started", "metric", "run_completed"] == launch(OnlyMetrics).events


def test_what_the_runtime_found_out_is_told_when_it_starts(launch: Any, run_dir: Path) -> None:
    class Drawing(Silent):
        def __init__(self, config: Config) -> None:
            super().__init__(replace(config, seed=7))

    outcome = launch(Drawing, steps=2)

    started = outcome.payload("run_started")
    assert (7, 7) == (started["seed"], started["config"]["seed"])
    assert {"value": 2, "origin": "asked"} == started["settings"]["steps"]
    assert 7 == WorkerAnalyticsManifest.load(run_dir / "analytics.json").metadata["seed"]


def test_a_crash_is_reported_once_with_its_traceback(launch: Any, run_dir: Path) -> None:
    outcome = launch(Failing)

    assert 1 == outcome.code
    assert ["run_started", "run_failed"] == outcome.events
    assert ("out of cheese", "RuntimeError") == (
        outcome.payload("run_failed")["error"],
        outcome.payload("run_failed")["error_type"],
    )
    assert 1 == outcome.err.count("RuntimeError: out of cheese")
    assert not (run_dir / "analytics.json").exists()


def test_a_runtime_that_cannot_be_built_has_failed(launch: Any) -> None:
    def broken(config: Config) -> Any:
        raise ImportError("no torch")

    outcome = launch(broken)

    assert 1 == outcome.code
    assert ["run_started", "run_failed"] == outcome.events


def test_bad_input_found_by_the_runtime_is_bad_input(launch: Any) -> None:
    class Choosy(Silent):
        def run(self) -> dict[str, Any]:
            raise BadInput("env_id", ["no such environment"])

    outcome = launch(Choosy)

    assert 2 == outcome.code
    assert "run_failed" == outcome.events[-1]
    assert "env_id: no such environment\n" == outcome.err


@pytest.mark.parametrize(
    ("leaving", "code", "last"),
    [(None, 0, "run_completed"), (0, 0, "run_completed"), (7, 7, "run_failed"), ("text", 1, "run_failed")],
)
def test_sys_exit_inside_means_what_it_means_outside(launch: Any, leaving: Any, code: int, last: str) -> None:
    class Leaving(Silent):
        def run(self) -> dict[str, Any]:
            raise SystemExit(leaving)

    outcome = launch(Leaving)

    assert (code, last) == (outcome.code, outcome.events[-1])


@pytest.mark.parametrize(
    ("status", "code", "last"),
    [("completed", 0, "run_completed"), ("failed", 1, "run_failed"), ("cancelled", 0, "run_cancelled")],
)
def test_the_status_of_the_summary_decides(launch: Any, status: str, code: int, last: str) -> None:
    class Saying(Silent):
        def run(self) -> dict[str, Any]:
            return {"status": status}

    outcome = launch(Saying)

    assert (code, ["run_started", last]) == (outcome.code, outcome.events)


def test_a_summary_may_be_a_dataclass(launch: Any) -> None:
    class Returning(Silent):
        def run(self) -> Any:
            return Config("R1", seed=9)

    assert 9 == launch(Returning).payload("run_completed")["seed"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_asks_a_stoppable_runtime_to_stop(launch: Any, number: signal.Signals) -> None:
    class Stopping(Silent):
        is_stopped = False

        def request_stop(self) -> None:
            self.is_stopped = True

        def run(self) -> dict[str, Any]:
            os.kill(os.getpid(), number)
            assert self.is_stopped
            return {"steps": 5}

    outcome = launch(Stopping)

    assert 128 + number == outcome.code
    assert ["run_started", "run_cancelled"] == outcome.events
    assert {"reason": f"ended by {number.name}", "steps": 5} == outcome.payload("run_cancelled")


def test_a_signal_ends_a_runtime_that_cannot_be_asked(launch: Any) -> None:
    class Deaf(Silent):
        def run(self) -> dict[str, Any]:
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            except Exception:
                return {"swallowed": True}
            return {}

    outcome = launch(Deaf)

    assert 143 == outcome.code
    assert ["run_started", "run_cancelled"] == outcome.events


def test_the_second_signal_does_not_ask(launch: Any) -> None:
    class Stubborn(Silent):
        def request_stop(self) -> None:
            pass

        def run(self) -> dict[str, Any]:
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)
            return {"never": "reached"}

    outcome = launch(Stubborn)

    assert 130 == outcome.code
    assert "never" not in outcome.payload("run_cancelled")


def test_finishing_in_spite_of_a_signal_is_finishing(launch: Any) -> None:
    class Almost(Talkative):
        def request_stop(self) -> None:
            pass

        def run(self) -> dict[str, Any]:
            os.kill(os.getpid(), signal.SIGTERM)
            return super().run()

    outcome = launch(Almost)

    assert (0, "run_completed") == (outcome.code, outcome.events[-1])


def test_a_pausable_runtime_is_paused_and_continued(launch: Any) -> None:
    class Pausing(Silent):
        def request_pause(self, paused: bool) -> None:
            self.wishes = [*getattr(self, "wishes", []), paused]

        def run(self) -> dict[str, Any]:
            os.kill(os.getpid(), signal.SIGTSTP)
            os.kill(os.getpid(), signal.SIGCONT)
            return {"wishes": self.wishes}

    assert [True, False] == launch(Pausing).payload("run_completed")["wishes"]


def test_the_handlers_of_before_are_put_back(launch: Any) -> None:
    before = signal.getsignal(signal.SIGTERM)

    launch(Silent)

    assert before is signal.getsignal(signal.SIGTERM)


def test_a_resumable_runtime_goes_on_from_the_checkpoint(
    launch: Any, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Resuming(Talkative):
        def resume_from(self, checkpoint: Path) -> None:
            self.checkpoint = checkpoint

    monkeypatch.setenv("MOSAIC_RESUME_FROM", str(run_dir))

    outcome = launch(Resuming)

    assert ["run_started", "checkpoint_loaded", "metric", "run_completed"] == outcome.events
    assert {"checkpoint_path": str(run_dir)} == outcome.payload("checkpoint_loaded")


def test_a_runtime_that_cannot_resume_starts_anew(launch: Any, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOSAIC_RESUME_FROM", str(run_dir))

    outcome = launch(Silent)

    assert (0, ["run_started", "run_completed"]) == (outcome.code, outcome.events)


def test_heartbeats_say_how_long_the_runtime_was_quiet(launch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Waiting(Silent):
        def __init__(self, config: Config, emitter: TelemetryEmitter) -> None:
            super().__init__(config)
            self.beats = threading.Semaphore(0)
            beat = emitter.heartbeat
            emitter.heartbeat = lambda payload: (beat(payload), self.beats.release())  # type: ignore[method-assign, assignment]

        def run(self) -> dict[str, Any]:
            assert all(self.beats.acquire(timeout=30) for _ in range(2))
            return {}

    monkeypatch.setenv("MOSAIC_HEARTBEAT_S", "0.02")

    outcome = launch(Waiting)

    assert ["run_started", "heartbeat"] == outcome.events[:2]
    beats = [line["payload"] for line in outcome.lines if line["event"] == "heartbeat"]
    assert beats[-1]["quiet_s"] > beats[0]["quiet_s"]
    assert {"uptime_s", "quiet_s", "memory_mb"} == set(beats[0])


def test_a_heartbeat_of_the_runtime_itself_ends_the_quiet(launch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Beating(Silent):
        def run(self) -> dict[str, Any]:
            emitter = TelemetryEmitter(self.config.run_id)
            for step in range(10):
                emitter.heartbeat({"step": step})
                threading.Event().wait(0.02)
            return {}

    monkeypatch.setenv("MOSAIC_HEARTBEAT_S", "0.02")

    outcome = launch(Beating)

    beats = [line["payload"] for line in outcome.lines if line["event"] == "heartbeat"]
    assert 0 in [beat["quiet_s"] for beat in beats if "quiet_s" in beat]


def test_a_manifest_the_runtime_wrote_is_left_alone(launch: Any, run_dir: Path) -> None:
    class Writing(Silent):
        def run(self) -> dict[str, Any]:
            (run_dir / "analytics.json").write_text("own")
            return {}

    launch(Writing)

    assert "own" == (run_dir / "analytics.json").read_text()


def test_a_manifest_of_an_earlier_attempt_is_replaced(launch: Any, run_dir: Path) -> None:
    (run_dir / "analytics.json").write_text("old")
    (run_dir / "checkpoints").mkdir()
    (run_dir / "checkpoints" / "1.pt").touch()
    (run_dir / "tensorboard").mkdir()
    (run_dir / "tensorboard" / "events.out.tfevents.1").touch()

    launch(Silent)

    artifacts = WorkerAnalyticsManifest.load(run_dir / "analytics.json").to_dict()["artifacts"]
    assert ["1.pt"] == artifacts["checkpoints"]["files"]
    assert "tensorboard" == artifacts["tensorboard"]["log_dir"]


def test_a_manifest_claims_no_folder_in_which_there_is_nothing(launch: Any, run_dir: Path) -> None:
    for name in ("checkpoints", "tensorboard/empty", "logs", "videos"):
        (run_dir / name).mkdir(parents=True)
    (run_dir / "tensorboard" / "notes.txt").touch()
    (run_dir / "videos" / "1.mp4").touch()

    launch(Silent)

    manifest = WorkerAnalyticsManifest.load(run_dir / "analytics.json").to_dict()
    assert {"videos_dir": "videos"} == manifest["artifacts"]


def test_a_manifest_tells_where_wandb_has_the_curves(launch: Any, run_dir: Path) -> None:
    class Tracked(Silent):
        def run(self) -> dict[str, Any]:
            return {"wandb": {"project": "p", "entity": "ann", "run_id": "x1", "url": "https://w/x1", "mode": "online"}}

    launch(Tracked)

    wandb = WorkerAnalyticsManifest.load(run_dir / "analytics.json").artifacts.wandb
    assert WandBMetadata("p", "ann", "x1", "R1", "https://w/x1", enabled=True) == wandb


def test_a_worker_is_called_as_the_fleet_calls_it(launch: Any, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOSAIC_WORKER", "corridor")

    outcome = launch(Silent)

    assert "corridor" == outcome.payload("run_started")["worker_type"]
    assert "corridor" == WorkerAnalyticsManifest.load(run_dir / "analytics.json").worker_type


def test_a_manifest_that_cannot_be_written_does_not_undo_the_training(
    launch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A name so long that even looking whether it is there fails.
    monkeypatch.setenv("MOSAIC_RUN_DIR", "x" * 300)

    outcome = launch(Silent)

    assert (0, ["run_started", "run_completed"]) == (outcome.code, outcome.events)


def test_a_config_that_cannot_tell_itself_is_told_for_it(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Mute(Config):
        def to_dict(self) -> dict[str, Any]:
            raise RuntimeError("not now")

    (run_dir / "config.json").write_text('{"run_id": "R1", "seed": 3}')

    code = run_worker(Mute, Silent, ["--config", str(run_dir / "config.json")])

    outcome = Outcome(code, *capsys.readouterr())
    assert (0, ["run_started", "run_completed"]) == (outcome.code, outcome.events)
    assert 3 == outcome.payload("run_started")["config"]["seed"]


def test_a_config_class_without_a_seed_is_refused_by_name(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    @dataclass
    class Seedless:
        run_id: str

        def to_dict(self) -> dict[str, Any]:
            return asdict(self)

        @classmethod
        def from_dict(cls, data: dict[str, Any]) -> Seedless:
            return cls(data["run_id"])

    (run_dir / "config.json").write_text('{"run_id": "R1"}')

    code = run_worker(Seedless, Silent, ["--config", str(run_dir / "config.json")])

    told = capsys.readouterr()
    assert (2, "") == (code, told.out)
    assert "config class Seedless: has no 'seed'; add it\n" in told.err


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"run_id": ""}, "run_id: must not be empty"),
        ({"steps": -1}, "steps must not be negative"),
        ({"stesp": 1}, "stesp: is not a known field, did you mean 'steps'?"),
        ({"steps": "x"}, 'steps: must be an integer, is "x"'),
    ],
)
def test_bad_input_is_one_message_and_nothing_is_written(
    launch: Any, run_dir: Path, config: dict[str, Any], words: str
) -> None:
    outcome = launch(Silent, **config)

    assert 2 == outcome.code
    assert [] == outcome.lines
    assert 1 == len(outcome.err.splitlines())
    assert words in outcome.err
    assert ["config.json"] == [path.name for path in run_dir.iterdir()]


@pytest.mark.parametrize(
    ("variable", "value"),
    [("MOSAIC_HEARTBEAT_S", "soon"), ("MOSAIC_HEARTBEAT_S", "-1"), ("MOSAIC_RESUME_FROM", "/nowhere/at/all")],
)
def test_a_bad_environment_is_bad_input(
    launch: Any, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)

    outcome = launch(Silent)

    assert 2 == outcome.code
    assert f"{variable}: " in outcome.err


@pytest.mark.parametrize("flag", ["--bogus", "--interactive", "--conf=x"])
def test_unknown_flags_end_with_2(launch: Any, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        launch(Silent, flag)

    assert 2 == caught.value.code
    assert "unrecognized arguments" in capsys.readouterr().err


def test_a_dry_run_trains_nothing(launch: Any, run_dir: Path) -> None:
    outcome = launch(Failing, "--dry-run", "--emit-summary", "--worker-id", "w3")

    assert 0 == outcome.code
    plan = {"config": asdict(Config("R1", worker_id="w3"))}
    assert {"status": "completed", "dry_run": True, "plan": plan} == outcome.lines[0]["summary"]
    assert ["config.json"] == [path.name for path in run_dir.iterdir()]


def test_a_runtime_that_knows_dry_runs_does_its_own(launch: Any) -> None:
    class Trying(Silent):
        def __init__(self, config: Config, *, dry_run: bool = False) -> None:
            super().__init__(config)
            self.dry_run = dry_run

        def run(self) -> dict[str, Any]:
            return {"status": "dry-run" if self.dry_run else "completed"}

    assert {"status": "dry-run"} == launch(Trying, "--dry-run").payload("run_completed")


def test_flags_of_older_launchers_are_accepted(launch: Any) -> None:
    assert 0 == launch(Silent, "--grpc", "--grpc-target", "127.0.0.1:1", "-v").code


def test_interactive_is_offered_by_runtimes_that_have_it(launch: Any) -> None:
    class Interactive(Failing):
        def run_interactive(self) -> dict[str, Any]:
            return {"mode": "interactive"}

    assert {"mode": "interactive"} == launch(Interactive, "--interactive").payload("run_completed")


class Player(Silent):
    def __init__(self, config: Config, emitter: TelemetryEmitter) -> None:
        super().__init__(config)
        self.emitter = emitter

    def evaluate(self, checkpoint: Path, seeds: Sequence[int]) -> dict[str, Any]:
        for index, seed in enumerate(seeds):
            self.emitter.episode(index, 1.0, 5, seed=seed)
        return {"checkpoint": checkpoint.name, "mean_return": 1.0}


def test_a_checkpoint_is_played_instead_of_training(
    launch: Any, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run_dir / "model.pt").touch()
    (run_dir / "analytics.json").write_text("of the training")
    monkeypatch.setenv("MOSAIC_RESUME_FROM", str(run_dir / "nowhere.pt"))

    outcome = launch(Player, "--evaluate", str(run_dir / "model.pt"), "--episodes", "3", "--seed", "7")

    assert (0, ["run_started", "episode", "episode", "episode", "run_completed"]) == (outcome.code, outcome.events)
    assert [7, 8, 9] == [line["payload"]["seed"] for line in outcome.lines if line["event"] == "episode"]
    assert {"mode": "evaluation", "checkpoint": "model.pt", "mean_return": 1.0} == outcome.payload("run_completed")
    assert "of the training" == (run_dir / "analytics.json").read_text()


def test_playing_a_checkpoint_that_is_not_there_is_bad_input(launch: Any, run_dir: Path) -> None:
    outcome = launch(Player, "--evaluate", str(run_dir / "gone.pt"))

    assert (2, []) == (outcome.code, outcome.lines)
    assert "--evaluate: there is no checkpoint at" in outcome.err


@pytest.mark.parametrize("arguments", [["--episodes", "0"], ["--episodes", "x"]])
def test_a_number_of_episodes_that_makes_no_sense_is_refused(
    launch: Any, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        launch(Player, *arguments)

    assert "must be a whole number of at least 1" in capsys.readouterr().err


def test_a_runtime_that_cannot_evaluate_has_no_such_flag(launch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        launch(Silent, "--evaluate", "model.pt")

    assert "unrecognized arguments: --evaluate" in capsys.readouterr().err


def test_an_open_line_of_a_library_is_ended_first(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Printing(Silent):
        def run(self) -> dict[str, Any]:
            sys.stdout.write("progress 10%")
            return {}

    (run_dir / "config.json").write_text('{"run_id": "R1"}')
    run_worker(Config, Printing, ["--config", str(run_dir / "config.json")])

    lines = capsys.readouterr().out.splitlines()
    assert "progress 10%" == lines[0]
    assert "run_started" == json.loads(lines[1])["event"]


def test_the_base_parser_has_upstreams_options() -> None:
    options = WorkerCLI.create_base_parser("prog", "words").parse_args(["--config", "c.json"])

    assert {
        "config": Path("c.json"),
        "verbose": False,
        "dry_run": False,
        "worker_id": None,
        "grpc": False,
        "grpc_target": "127.0.0.1:50055",
    } == vars(options)


def test_a_signal_before_there_is_a_runtime_cancels_the_run(launch: Any) -> None:
    def slow(config: Config) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("not reached")

    outcome = launch(slow)

    assert (143, ["run_started", "run_cancelled"]) == (outcome.code, outcome.events)


def test_a_signal_after_the_run_changes_nothing(launch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def save_and_be_signalled(manifest: WorkerAnalyticsManifest, path: Path) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(WorkerAnalyticsManifest, "save", save_and_be_signalled)

    outcome = launch(Silent)

    assert (0, ["run_started", "run_completed"]) == (outcome.code, outcome.events)


def test_an_emitter_made_before_the_run_keeps_its_place(launch: Any) -> None:
    early = TelemetryEmitter("R1")

    class Borrowing(Silent):
        def run(self) -> dict[str, Any]:
            early.metric("loss", 1.0, 1)
            return {}

    assert ["run_started", "metric", "run_completed"] == launch(Borrowing).events
