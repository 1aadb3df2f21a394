"""The names, fields and signatures that workers rely on, written down so that none can slip."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, FrozenInstanceError, fields
from typing import Any

import pytest

import mosaic.worker
from mosaic.worker import (
    Evaluable,
    Pausable,
    Resumable,
    Stoppable,
    TelemetryEmitter,
    WorkerCapabilities,
    WorkerConfig,
    WorkerMetadata,
    WorkerRuntime,
)
from mosaic.worker.protocol import OPTIONAL_PROTOCOLS

UPSTREAM_NAMES = {
    "WorkerConfig",
    "WorkerRuntime",
    "WorkerCapabilities",
    "WorkerMetadata",
    "TelemetryEmitter",
    "LifecycleEvent",
    "LifecycleEventType",
    "WorkerAnalyticsManifest",
    "ArtifactsMetadata",
    "TensorBoardMetadata",
    "WandBMetadata",
    "CheckpointMetadata",
    "WorkerCLI",
    "load_worker_config_from_file",
    "extract_worker_config",
    "WorkerDiscovery",
    "DiscoveredWorker",
    "discover_workers",
    "WORKER_ENTRY_POINT_GROUP",
}
OUR_NAMES = {"Stoppable", "Pausable", "Resumable", "Evaluable", "config_schema", "validate_config", "run_worker"}

FIELDS = {
    "WorkerMetadata": "name version description author homepage upstream_library upstream_version license",
    "WorkerCapabilities": (
        "worker_type supported_paradigms env_families action_spaces observation_spaces max_agents "
        "supports_self_play supports_population supports_checkpointing supports_pause_resume requires_gpu "
        "gpu_memory_mb cpu_cores estimated_memory_mb resume_grade"
    ),
    "LifecycleEvent": "event run_id timestamp payload",
    "TensorBoardMetadata": "log_dir enabled port url",
    "WandBMetadata": "project entity run_id run_name url enabled",
    "CheckpointMetadata": "directory format files best_checkpoint final_checkpoint",
    "ArtifactsMetadata": "tensorboard wandb checkpoints logs_dir videos_dir",
    "WorkerAnalyticsManifest": "run_id worker_type artifacts metadata",
    "DiscoveredWorker": "worker_id metadata capabilities entry_point_name module_path",
}

SIGNATURES = {
    "TelemetryEmitter.__init__": "(self, run_id, *, sink=None, logger=None)",
    "TelemetryEmitter.run_started": "(self, payload, *, constant=None)",
    "TelemetryEmitter.run_completed": "(self, payload, *, constant=None)",
    "TelemetryEmitter.run_failed": "(self, payload, *, constant=None, exc_info=None)",
    "TelemetryEmitter.run_cancelled": "(self, payload, *, constant=None)",
    "TelemetryEmitter.heartbeat": "(self, payload=None, *, constant=None)",
    "TelemetryEmitter.checkpoint_saved": "(self, payload, *, constant=None)",
    "TelemetryEmitter.checkpoint_loaded": "(self, payload, *, constant=None)",
    "TelemetryEmitter.metric": "(self, name, value, step, *, unit='env_steps', agent=None)",
    "WorkerCLI.create_base_parser": "(prog, description)",
    "WorkerCLI.setup_logging": "(verbose=False)",
    "WorkerCLI.load_and_validate_config": "(config_path, config_class)",
    "WorkerDiscovery.discover_all": "(self, *, force_reload=False)",
    "WorkerDiscovery.get_worker": "(self, worker_id)",
    "WorkerDiscovery.list_worker_ids": "(self)",
    "WorkerDiscovery.has_worker": "(self, worker_id)",
    "WorkerDiscovery.get_capabilities": "(self, worker_id)",
    "WorkerDiscovery.filter_by_paradigm": "(self, paradigm)",
    "WorkerDiscovery.filter_by_env_family": "(self, env_family)",
    "WorkerDiscovery.clear_cache": "(self)",
    "WorkerAnalyticsManifest.save": "(self, path)",
    "WorkerAnalyticsManifest.load": "(path)",
    "WorkerAnalyticsManifest.from_dict": "(data)",
    "WorkerAnalyticsManifest.to_dict": "(self)",
    "load_worker_config_from_file": "(path, config_class)",
    "extract_worker_config": "(payload)",
    "discover_workers": "()",
    "run_worker": "(config_class, runtime_class, argv=None, *, worker_type=None)",
}


def without_types(function: Any) -> str:
    signature = inspect.signature(function)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def test_the_public_names_are_upstreams_nineteen_and_ours() -> None:
    assert 19 == len(UPSTREAM_NAMES)
    assert UPSTREAM_NAMES | OUR_NAMES == set(mosaic.worker.__all__)
    assert "1.0.0" == mosaic.worker.__version__
    assert "mosaic.workers" == mosaic.worker.WORKER_ENTRY_POINT_GROUP


@pytest.mark.parametrize("name", sorted(UPSTREAM_NAMES | OUR_NAMES))
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(mosaic.worker, name) is not None
    assert name in dir(mosaic.worker)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Wroker'"):
        _ = mosaic.worker.Wroker


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_fields_and_their_order_are_frozen(name: str) -> None:
    kind = getattr(mosaic.worker, name)

    assert FIELDS[name].split() == [field.name for field in fields(kind)]
    assert kind.__dataclass_params__.frozen


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_signatures_are_frozen(name: str) -> None:
    target: Any = mosaic.worker
    for part in name.split("."):
        target = getattr(target, part)

    assert SIGNATURES[name] == without_types(target)


def test_metadata_has_no_defaults_and_capabilities_need_only_a_type() -> None:
    assert all(field.default is MISSING for field in fields(WorkerMetadata))
    assert WorkerCapabilities("x") == WorkerCapabilities(
        "x", (), (), (), (), 1, False, False, False, False, False, None, 1, 512
    )


def test_capabilities_answer_questions() -> None:
    capabilities = WorkerCapabilities("x", ("sequential",), ("atari",), max_agents=2)

    assert capabilities.supports_paradigm("sequential")
    assert not capabilities.supports_paradigm("self_play")
    assert capabilities.supports_env_family("atari")
    assert not capabilities.supports_env_family("mujoco")
    assert capabilities.is_multi_agent()
    with pytest.raises(FrozenInstanceError):
        capabilities.max_agents = 1  # type: ignore[misc]


class Whole:
    run_id = "r"
    seed = None

    def to_dict(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Whole:
        return cls()

    def run(self) -> dict[str, Any]:
        return {}


def test_protocols_are_checked_by_their_names_at_run_time() -> None:
    assert isinstance(Whole(), WorkerConfig)
    assert isinstance(Whole(), WorkerRuntime)
    assert not isinstance(object(), WorkerRuntime)
    with pytest.raises(TypeError):
        issubclass(Whole, WorkerConfig)


@pytest.mark.parametrize(
    ("protocol", "method"),
    [
        (Stoppable, "request_stop"),
        (Pausable, "request_pause"),
        (Resumable, "resume_from"),
        (Evaluable, "evaluate"),
    ],
)
def test_optional_protocols_have_one_method_each(protocol: type, method: str) -> None:
    fitting = type("Fitting", (Whole,), {method: lambda self: None})

    assert isinstance(fitting(), protocol)
    assert not isinstance(Whole(), protocol)
    assert protocol in OPTIONAL_PROTOCOLS.values()


def test_private_attributes_that_workers_touch_are_there() -> None:
    emitter = TelemetryEmitter("R1")

    assert "R1" == emitter._run_id
    assert emitter._logger is None
    with emitter._lock:
        assert emitter._sink is not None
