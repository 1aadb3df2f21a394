"""The names upstream's workers import resolve from our SDK, and mean the same things."""

from __future__ import annotations

import importlib
import logging
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import gymnasium
import numpy
import pytest

import mosaic.worker

SDK, COMPAT = (Path(__file__).parents[2] / name / "src" for name in ("sdk", "compat"))

IMPORTS = {
    "gym_gui.core.worker": (
        "WorkerConfig WorkerRuntime WorkerCapabilities WorkerMetadata TelemetryEmitter LifecycleEvent "
        "LifecycleEventType WorkerAnalyticsManifest ArtifactsMetadata TensorBoardMetadata WandBMetadata "
        "CheckpointMetadata WorkerCLI load_worker_config_from_file extract_worker_config WorkerDiscovery "
        "DiscoveredWorker discover_workers WORKER_ENTRY_POINT_GROUP"
    ),
    "gym_gui.core.worker.protocol": "WorkerConfig WorkerRuntime WorkerCapabilities WorkerMetadata",
    "gym_gui.core.worker.telemetry": "TelemetryEmitter LifecycleEvent LifecycleEventType",
    "gym_gui.core.worker.analytics": "WorkerAnalyticsManifest ArtifactsMetadata CheckpointMetadata",
    "gym_gui.core.worker.config_loader": "load_worker_config_from_file extract_worker_config",
    "gym_gui.core.worker.discovery": "WorkerDiscovery DiscoveredWorker discover_workers",
    "gym_gui.core.worker.cli_base": "WorkerCLI",
    "gym_gui.logging_config.helpers": "log_constant LogConstantMixin",
    "gym_gui.logging_config.log_constants": "LogConstant get_constant_by_code",
    "gym_gui.config.paths": (
        "VAR_ROOT VAR_TRAINER_DIR VAR_TENSORBOARD_DIR VAR_WANDB_DIR VAR_OPERATORS_TELEMETRY_DIR ensure_var_directories"
    ),
    "gym_gui.telemetry.semconv": "TelemetryEnv VideoModes",
    "gym_gui.services.trainer.proto": "",
    "gym_gui.services.trainer.proto.trainer_pb2": "RegisterWorkerRequest RunStep RunEpisode",
    "gym_gui.services.trainer.proto.trainer_pb2_grpc": "TrainerServiceStub",
    "gym_gui.fastlane": "FastLaneWriter FastLaneConfig FastLaneMetrics",
    "gym_gui.fastlane.buffer": "create_fastlane_name FastLaneBase",
    "gym_gui.fastlane.tiling": "tile_frames",
    "gym_gui.constants.constants_tensorboard": "build_tensorboard_log_dir build_tensorboard_relative_path",
    "gym_gui.core.wrappers.time_limits": "configure_step_limit TimeLimitSeconds EpisodeTimeLimitSeconds",
    "gym_gui.core.enums": "SteppingParadigm",
    "gym_gui.services.actor": "StepSnapshot EpisodeSummary",
}

CLEANRL = (
    "RUNTIME_STARTED RUNTIME_COMPLETED RUNTIME_FAILED MODULE_RESOLVED CONFIG_LOADED TENSORBOARD_ENABLED "
    "WANDB_ENABLED HEARTBEAT SUBPROCESS_STARTED SUBPROCESS_FAILED"
)
BALROG = (
    "RUNTIME_STARTED RUNTIME_STOPPED RUNTIME_ERROR EPISODE_STARTED EPISODE_COMPLETED LLM_REQUEST LLM_RESPONSE "
    "LLM_ERROR ACTION_SELECTED STEP_TELEMETRY EPISODE_TELEMETRY CONFIG_LOADED ENV_CREATED AGENT_CREATED DEBUG"
)
PERCEPTION = (
    "PROMPT_GENERATED OBSERVATION_EGOCENTRIC OBSERVATION_TEAMMATES ACTION_PARSED ACTION_PARSE_FAILED "
    "RUNTIME_INTEGRATION"
)


def counted(prefix: str, first: int, suffixes: str) -> dict[str, str]:
    return {f"{prefix}{suffix}": f"LOG{first + number}" for number, suffix in enumerate(suffixes.split())}


#: Every constant that upstream's workers import, and its code.
CODES = {
    **counted("LOG_WORKER_CLEANRL_", 431, CLEANRL),
    "LOG_WORKER_CLEANRL_ANALYTICS_MANIFEST_CREATED": "LOG443",
    "LOG_WORKER_CLEANRL_EPISODE_AUTO_RESET": "LOG1063",
    "LOG_WORKER_POLICY_EVAL_STARTED": "LOG918",
    "LOG_WORKER_POLICY_EVAL_COMPLETED": "LOG919",
    "LOG_WORKER_POLICY_EVAL_BATCH_STARTED": "LOG961",
    "LOG_WORKER_POLICY_EVAL_BATCH_COMPLETED": "LOG962",
    "LOG_WORKER_RAY_RUNTIME_STARTED": "LOG446",
    "LOG_WORKER_RAY_RUNTIME_COMPLETED": "LOG447",
    "LOG_WORKER_RAY_RUNTIME_FAILED": "LOG448",
    "LOG_WORKER_RAY_CLUSTER_STARTED": "LOG449",
    "LOG_WORKER_RAY_RLLIB_TRAINING_STARTED": "LOG453",
    "LOG_WORKER_RAY_CHECKPOINT_SAVED": "LOG455",
    "LOG_WORKER_RAY_TENSORBOARD_ENABLED": "LOG457",
    "LOG_WORKER_RAY_WANDB_ENABLED": "LOG458",
    "LOG_WORKER_RAY_HEARTBEAT": "LOG459",
    "LOG_WORKER_RAY_ANALYTICS_MANIFEST_CREATED": "LOG460",
    "LOG_WORKER_RAY_LOG_FILE_CREATED": "LOG461",
    "LOG_WORKER_RAY_ALGORITHM_BUILT": "LOG462",
    "LOG_WORKER_XUANCE_RUNTIME_STARTED": "LOG1016",
    "LOG_WORKER_XUANCE_RUNTIME_STOPPED": "LOG1017",
    "LOG_WORKER_XUANCE_RUNTIME_ERROR": "LOG1018",
    "LOG_WORKER_XUANCE_TRAINING_STARTED": "LOG1021",
    "LOG_WORKER_XUANCE_TRAINING_COMPLETED": "LOG1023",
    "LOG_WORKER_XUANCE_CONFIG_LOADED": "LOG1024",
    "LOG_WORKER_XUANCE_AGENT_CREATED": "LOG1026",
    "LOG_WORKER_XUANCE_DEBUG": "LOG1029",
    "LOG_OPERATOR_VIEW_SIZE_CONFIGURED": "LOG739",
    **counted("LOG_WORKER_BALROG_", 1001, BALROG),
    "LOG_WORKER_BALROG_EPISODE_AUTO_RESET": "LOG1059",
    "LOG_WORKER_BALROG_ACTION_DEFAULTED": "LOG1060",
    **counted("LOG_WORKER_MOSAIC_", 1038, PERCEPTION),
    **counted("LOG_MOSAIC_WORKER_LLM_", 1044, BALROG.replace("LLM_", "")),
    "LOG_MOSAIC_WORKER_LLM_EPISODE_AUTO_RESET": "LOG1061",
    "LOG_MOSAIC_WORKER_LLM_ACTION_DEFAULTED": "LOG1062",
    **counted("LOG_MOSAIC_WORKER_VLM_", 1071, BALROG.replace("LLM_", "")),
    "LOG_MOSAIC_WORKER_VLM_EPISODE_AUTO_RESET": "LOG1086",
    "LOG_MOSAIC_WORKER_VLM_ACTION_DEFAULTED": "LOG1087",
}


@pytest.mark.parametrize("module", sorted(IMPORTS))
def test_every_name_that_workers_import_is_there(module: str) -> None:
    loaded = importlib.import_module(module)

    assert [] == [name for name in IMPORTS[module].split() if not hasattr(loaded, name)]


@pytest.mark.parametrize("name", IMPORTS["gym_gui.core.worker"].split())
def test_the_contract_is_the_same_object_under_both_names(name: str) -> None:
    alias = importlib.import_module("gym_gui.core.worker")

    assert getattr(mosaic.worker, name) is getattr(alias, name)
    assert set(IMPORTS["gym_gui.core.worker"].split()) == set(alias.__all__)


@pytest.mark.parametrize("name", sorted(CODES))
def test_known_log_constants_have_upstreams_codes(name: str) -> None:
    constants = importlib.import_module("gym_gui.logging_config.log_constants")

    constant = getattr(constants, name)

    assert 94 == len(CODES)
    assert CODES[name] == constant.code
    assert constants.get_constant_by_code(CODES[name]) == constant


def test_the_ray_constant_is_described_as_upstreams_tests_want() -> None:
    from gym_gui.logging_config.log_constants import LOG_WORKER_RAY_RUNTIME_STARTED as STARTED

    assert ("Worker", "RayRuntime") == (STARTED.component, STARTED.subcomponent)
    assert "lifecycle" in STARTED.tags


def test_a_log_constant_nobody_knows_does_not_silence_a_worker() -> None:
    from gym_gui.logging_config.log_constants import LOG_SOMETHING_NEW_FAILED, LogConstant

    assert isinstance(LOG_SOMETHING_NEW_FAILED, LogConstant)
    assert logging.ERROR == LOG_SOMETHING_NEW_FAILED.level
    with pytest.raises(ImportError):
        from gym_gui.logging_config.log_constants import NOT_A_CONSTANT  # noqa: F401


def test_logging_a_constant_keeps_its_code_and_the_callers_fields(caplog: pytest.LogCaptureFixture) -> None:
    from gym_gui.logging_config.helpers import LogConstantMixin
    from gym_gui.logging_config.log_constants import LOG_WORKER_RAY_RUNTIME_FAILED

    class Service(LogConstantMixin):
        _logger = logging.getLogger("test.alias")

    with caplog.at_level(logging.DEBUG, logger="test.alias"):
        Service().log_constant(LOG_WORKER_RAY_RUNTIME_FAILED, message="oh", extra={"run_id": "R", "name": "x"})

    (record,) = caplog.records
    assert re.fullmatch(r"LOG448 .+ \| oh", record.getMessage())
    assert ("R", "test.alias", "LOG448") == (record.run_id, record.name, record.log_code)  # type: ignore[attr-defined]


def test_paths_follow_the_environment_and_nothing_is_made_by_looking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gym_gui.config import paths
    from gym_gui.constants.constants_tensorboard import build_tensorboard_log_dir, build_tensorboard_relative_path

    monkeypatch.setenv("MOSAIC_VAR_ROOT", str(tmp_path / "var"))

    assert tmp_path / "var" / "trainer" / "runs" == paths.VAR_TENSORBOARD_DIR
    assert tmp_path / "var/trainer/runs/R/tensorboard" == build_tensorboard_log_dir("R")
    assert "var/trainer/runs/R/tensorboard" == build_tensorboard_relative_path("R")
    assert [] == list(tmp_path.iterdir())
    paths.ensure_var_directories()
    assert (tmp_path / "var" / "operators" / "telemetry").is_dir()
    assert not (tmp_path / "var" / "trainer" / "trainer.sqlite").exists()


def test_importing_makes_no_file_and_no_third_party_import(tmp_path: Path) -> None:
    light = [name for name in sorted(IMPORTS) if not re.search("proto|tiling|wrappers", name)]
    script = f"import sys, {', '.join(light)}; print([m for m in ('numpy', 'google', 'grpc') if m in sys.modules])"

    ended = subprocess.run(
        [sys.executable, "-S", "-W", "error", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{SDK}{os.pathsep}{COMPAT}"},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ("[]\n", "") == (ended.stdout, ended.stderr)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("order", ["desktop first", "compat first"])
def test_a_real_desktop_gym_gui_wins_wherever_it_stands(order: str, tmp_path: Path) -> None:
    package = tmp_path / "gym_gui" / "core" / "worker"
    package.mkdir(parents=True)
    for folder in (package, package.parent, package.parent.parent):
        (folder / "__init__.py").write_text("DESKTOP = True\n")
    path = [str(tmp_path), str(COMPAT)] if order == "desktop first" else [str(COMPAT), str(tmp_path)]

    ended = subprocess.run(
        [sys.executable, "-S", "-c", "import gym_gui.core.worker as w; print(w.DESKTOP)"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert "True\n" == ended.stdout


def test_nothing_of_ours_imports_the_alias() -> None:
    ours = [path for room in ("sdk", "agent", "testing", "services") for path in (SDK.parents[1] / room).rglob("*.py")]

    importing = [str(path) for path in ours if re.search(r"^\s*(from|import) gym_gui", path.read_text(), re.MULTILINE)]

    assert [] == importing


def test_messages_cross_the_wire_and_a_worker_can_register() -> None:
    from gym_gui.services.trainer.proto import trainer_pb2, trainer_pb2_grpc

    messages: Any = trainer_pb2

    class Trainer(trainer_pb2_grpc.TrainerServiceServicer):
        def RegisterWorker(self, request: Any, context: Any) -> Any:
            return messages.RegisterWorkerResponse(accepted_version=request.proto_version, session_token="t")

        def PublishRunSteps(self, requests: Any, context: Any) -> Any:
            return messages.PublishTelemetryResponse(accepted=sum(1 for _ in requests))

    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    trainer_pb2_grpc.add_TrainerServiceServicer_to_server(Trainer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = trainer_pb2_grpc.TrainerServiceStub(channel)
        registered = stub.RegisterWorker(messages.RegisterWorkerRequest(run_id="R", proto_version="MOSAIC/1.0"))
        published = stub.PublishRunSteps(iter([messages.RunStep(run_id="R", reward=0.5), messages.RunStep()]))
        with pytest.raises(grpc.RpcError) as refused:
            stub.GetHealth(messages.HealthCheckRequest())
    server.stop(0).wait()

    assert ("MOSAIC/1.0", "t") == (registered.accepted_version, registered.session_token)
    assert 2 == published.accepted
    assert grpc.StatusCode.UNIMPLEMENTED == refused.value.code()


def test_messages_have_upstreams_numbers_and_optionals() -> None:
    from gym_gui.services.trainer.proto import trainer_pb2

    messages: Any = trainer_pb2
    record = messages.RunRecord(run_id="R", status=messages.RUN_STATUS_EXEC, gpu_slots=[0, 1])

    assert 4 == record.status
    assert not record.HasField("gpu_slot")
    assert "pause" == messages.ControlEvent(pause=True).WhichOneof("event")
    assert 19 == messages.RunStep.DESCRIPTOR.fields_by_name["worker_id"].number
    assert b"\n\x01R" == messages.HeartbeatRequest(run_id="R").SerializeToString()


def test_frames_are_tiled_near_square_and_padded_black() -> None:
    from gym_gui.fastlane.tiling import tile_frames

    tiled = tile_frames([numpy.full((2, 3, 3), value, numpy.uint8) for value in (1, 2, 3)])

    assert (4, 6, 3) == tiled.shape
    assert [1, 2, 3, 0] == [int(tiled[row, column, 0]) for row in (0, 2) for column in (0, 3)]
    with pytest.raises(ValueError, match="no frame"):
        tile_frames([])
    with pytest.raises(ValueError, match="one shape"):
        tile_frames([numpy.zeros((1, 1, 3)), numpy.zeros((2, 1, 3))])


def test_step_limits_are_set_added_and_lifted() -> None:
    from gym_gui.core.wrappers.time_limits import configure_step_limit

    limited = configure_step_limit(gymnasium.make("CartPole-v1"), 3)
    bare = configure_step_limit(gymnasium.make("CartPole-v1").unwrapped, 2)

    assert (3, 2) == (_steps_until_the_end(limited), _steps_until_the_end(bare))
    assert _steps_until_the_end(configure_step_limit(limited, None)) > 3


def test_an_episode_is_truncated_by_the_clock() -> None:
    from gym_gui.core.wrappers.time_limits import TimeLimitSeconds

    env = TimeLimitSeconds(gymnasium.make("CartPole-v1"), 1e-9)
    env.reset(seed=0)

    *_, truncated, info = env.step(0)

    assert truncated
    assert info["time_limit_reached"]
    with pytest.raises(ValueError, match="must be positive"):
        TimeLimitSeconds(gymnasium.make("CartPole-v1"), 0)


def _steps_until_the_end(env: Any) -> int:
    env.reset(seed=0)
    for step in range(1, 1000):
        _, _, terminated, truncated, _ = env.step(step % 2)
        if terminated or truncated:
            return step
    raise AssertionError("the episode does not end")
