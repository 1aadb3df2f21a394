"""The directory, the config, the environment and the artifacts of a run."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from mosaic.agent.execution.artifacts import find_artifacts, kind_of
from mosaic.agent.execution.attempt_store import AttemptStore, FinalReport
from mosaic.agent.telemetry.backlog import Backlog
from mosaic.agent.telemetry.lines import Mask
from mosaic.agent.telemetry.spool import Spool
from mosaic.agent.telemetry.stream import Stream
from mosaic.errors import BadInput
from mosaic.events.attempt import AttemptEnded, AttemptStarted, TelemetryResumed, TelemetryStarved
from mosaic.events.frame import decode
from mosaic.ids import RunId
from mosaic.launching import (
    RunDirectory,
    child_environment,
    mujoco_backend,
    prepare,
    screenless_drawing,
)
from mosaic.model.attempt import Report
from mosaic.model.resources import GpuShare
from mosaic.processes import Birth
from tests.fakes.agent import a_launch


def test_the_config_is_flat_and_names_run_and_seed(tmp_path: Path) -> None:
    launch = a_launch(config={"lr": 0.1, "run_id": "forged"}, seed=0)

    _, path = prepare(tmp_path, launch)

    assert {"lr": 0.1, "run_id": "run-1", "seed": 0} == json.loads(path.read_text())


def test_without_a_seed_the_config_keeps_its_own(tmp_path: Path) -> None:
    _, path = prepare(tmp_path, a_launch(config={"seed": 5}))

    assert 5 == json.loads(path.read_text())["seed"]


def test_an_environment_is_an_allow_list_and_what_the_run_asked_for() -> None:
    ours = {"PATH": "/bin", "LC_ALL": "C", "NVIDIA_VISIBLE_DEVICES": "all", "MOSAIC_BROKER_URL": "x"}
    ours |= {"MOSAIC_WORKER_ENV_HTTPS_PROXY": "proxy:3128"}
    launch = a_launch(environment={"A": "1"}, secrets={"KEY": "s"}, cpus=0.5, team="vision", user="ada")

    environment = child_environment(ours, launch, RunDirectory(Path("/runs/run-1")), heartbeat_s=2.5)

    assert ("1", "run-1") == (environment["A"], environment["MOSAIC_RUN_ID"])
    assert "KEY" not in environment  # handed over by a descriptor
    assert ("1", "2.5") == (environment["OMP_NUM_THREADS"], environment["MOSAIC_HEARTBEAT_S"])
    assert "" == environment["CUDA_VISIBLE_DEVICES"]
    assert ("vision", "ada") == (environment["MOSAIC_TEAM"], environment["MOSAIC_USER"])
    assert {"PATH", "LC_ALL", "NVIDIA_VISIBLE_DEVICES"} <= environment.keys()
    assert "MOSAIC_BROKER_URL" not in environment
    assert "MOSAIC_RESUME_FROM" not in environment
    assert "proxy:3128" == environment["HTTPS_PROXY"]


@pytest.mark.parametrize("name", ["MOSAIC_RUN_ID", "PYTHONWARNINGS", "LD_PRELOAD", "BROWSER", "A=B", ""])
def test_what_was_stored_before_it_was_refused_is_refused_again_where_it_would_run(name: str) -> None:
    directory = RunDirectory(Path("/runs/run-1"))

    with pytest.raises(BadInput):
        child_environment({}, a_launch(environment={name: "1"}), directory, heartbeat_s=1)
    with pytest.raises(BadInput):
        child_environment({}, a_launch(secrets={name: "1"}), directory, heartbeat_s=1)


def test_libraries_are_told_to_draw_without_a_screen_unless_somebody_knows_better() -> None:
    directory = RunDirectory(Path("/runs/run-1"))

    plain = child_environment({}, a_launch(), directory, heartbeat_s=1)
    machine = child_environment({"MUJOCO_GL": "osmesa"}, a_launch(), directory, heartbeat_s=1)
    run = child_environment({}, a_launch(environment={"SDL_VIDEODRIVER": "x11"}), directory, heartbeat_s=1)

    assert screenless_drawing().items() <= plain.items()
    assert ("osmesa", "x11") == (machine["MUJOCO_GL"], run["SDL_VIDEODRIVER"])


@pytest.mark.parametrize(
    ("libraries", "backend"),
    [
        ({"EGL", "GL"}, "egl"),
        ({"EGL", "GL", "OSMesa"}, "egl"),
        ({"EGL", "OSMesa"}, "osmesa"),
        ({"OSMesa"}, "osmesa"),
        ({"EGL"}, None),
        ({"GL"}, None),
        (set(), None),
    ],
)
def test_mujoco_is_told_to_draw_only_with_libraries_that_are_there(libraries: set[str], backend: str | None) -> None:
    assert backend == mujoco_backend(lambda name: f"lib{name}.so.1" if name in libraries else None)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("checkpoints/step-10/state.npz", "checkpoint"),
        ("runs/exp/model.cleanrl_model", "checkpoint"),
        ("tensorboard/a/events.out.tfevents.1", "tensorboard"),
        ("videos/1.mp4", "video"),
        ("wandb/run/files/config.yaml", "wandb"),
        ("logs/worker.txt", "log"),
        ("train.log", "log"),
        ("analytics.json", "analytics"),
        ("01J_analytics.json", "analytics"),
        ("logs/x_analytics.json", "log"),
        ("config/attempt-1.json", "config"),
        ("notes.txt", "file"),
    ],
)
def test_a_file_is_known_by_where_it_lies(path: str, kind: str) -> None:
    assert kind == kind_of(path)


def test_artifacts_have_sizes_and_hashes_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "a.pt").write_bytes(b"state")
    (tmp_path / "checkpoints" / "latest.pt").symlink_to("a.pt")

    [artifact] = find_artifacts(tmp_path)

    assert ("checkpoints/a.pt", 5) == (artifact.path, artifact.size_bytes)
    assert hashlib.sha256(b"state").hexdigest() == artifact.sha256


@pytest.mark.parametrize(("text", "content"), [('{"run_id": "a"}', {"run_id": "a"}), ("[1]", None), ("{", None)])
def test_the_manifest_of_a_worker_is_carried_along(tmp_path: Path, text: str, content: object) -> None:
    (tmp_path / "analytics.json").write_text(text)

    [artifact] = find_artifacts(tmp_path)

    assert ("analytics", content) == (artifact.kind, artifact.content)


def test_without_time_an_artifact_has_no_hash(tmp_path: Path) -> None:
    (tmp_path / "a.pt").write_bytes(b"state")

    [artifact] = find_artifacts(tmp_path, budget_s=-1)

    assert artifact.sha256 is None


def test_a_directory_that_is_not_there_has_no_artifacts(tmp_path: Path) -> None:
    assert [] == find_artifacts(tmp_path / "nowhere")


def test_the_ledger_forgets_secrets_and_remembers_the_rest(tmp_path: Path) -> None:
    launch = a_launch(gpus=(GpuShare("GPU-1", 0.5),), secrets={"KEY": "swordfish"}, control_token="token")
    home = AttemptStore(tmp_path).home("run-1", 1)

    home.save_entry(launch, "mark")
    home.save_process(Birth(123, "boot", 456))
    entry = home.entry()

    assert entry is not None
    assert a_launch(gpus=(GpuShare("GPU-1", 0.5),), control_token="token") == entry.launch
    assert ("mark", Birth(123, "boot", 456)) == (entry.mark, entry.child)
    assert 0o600 == (home.path / "attempt.json").stat().st_mode & 0o777


def test_a_farewell_is_kept_word_for_word_whatever_its_bytes(tmp_path: Path) -> None:
    home = AttemptStore(tmp_path).home("run-1", 1)
    home.save_entry(a_launch(), "mark")
    final_report = FinalReport(Report(RunId("run-1"), 1, "token", "failed", reason="ü"), (b"\xff\n", b"{}\n"))

    home.save_final_report(final_report)
    home.acknowledge()

    assert final_report == home.final_report()
    assert home.is_acknowledged


def test_a_reason_holds_nothing_that_a_database_refuses(tmp_path: Path) -> None:
    stream = Stream(Spool(tmp_path, "run-1", 1), mask=Mask(["swordfish"]), backlog=Backlog(10), clock=lambda: 12.5)

    assert "exit \ufffd *** ?" == stream.mask("exit \0 swordfish \ud800")


def test_what_the_agent_says_can_be_read_as_events(tmp_path: Path) -> None:
    stream = Stream(Spool(tmp_path, "run-1", 1), mask=Mask(["swordfish"]), backlog=Backlog(10), clock=lambda: 12.5)
    machine = {"hostname": "node-1", "cpus": 8, "memory_mb": 16_000, "gpu_models": ["A100"]}
    placement = {"node": "node-1", "gpus": ["GPU-1"], "versions": {"numpy": "2"}, "machine": machine}

    started = stream.line("attempt_started", {"attempt": 1, "pid": 3, "agent": "agent-1", **placement})
    ended = stream.line("attempt_ended", {"outcome": "failed", "reason": "swordfish", **placement})
    starved = stream.line("telemetry_starved", {"spool_bytes": 11, "limit_bytes": 10, "keep_every": 100})
    resumed = stream.line("telemetry_resumed", {"dropped_steps": 7})

    assert ["GPU-1"] == AttemptStarted.model_validate_json(started).payload.gpus
    assert "***" == AttemptEnded.model_validate_json(ended).payload.reason
    assert machine == AttemptEnded.model_validate_json(ended).model_dump()["payload"]["machine"]
    assert 100 == TelemetryStarved.model_validate_json(starved).payload.keep_every
    assert 7 == TelemetryResumed.model_validate_json(resumed).payload.dropped_steps


def test_a_burst_of_empty_lines_on_stderr_makes_no_frame_that_telemetry_would_refuse(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "01JD0000000000000000BURST0", 1)
    stream = Stream(spool, mask=Mask([]), backlog=Backlog(10**9), clock=lambda: 1763265600.123456)
    stream.hear_stderr(b"\n" * 65_536)
    spool.flush()

    frames = [decode(frame.body) for frame in spool.take(frames=1000, size_bytes=10**9)]

    assert 65_536 == sum(len(frame.lines) for frame in frames)
