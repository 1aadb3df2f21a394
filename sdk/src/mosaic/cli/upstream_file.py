"""Files that upstream writes: a worker's config, direct or nested, and a whole TrainRunConfig."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mosaic.errors import BadInput
from mosaic.model.variables import is_key
from mosaic.worker.config import extract_worker_config
from mosaic.worker.upstream_names import OTHER_NAMES
from mosaic.worker.validation import validate_config

_OBJECT: Mapping[str, Any] = {"type": "object"}
_FLAG: Mapping[str, Any] = {"type": "boolean"}
_TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1}


def _closed(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": properties, "additionalProperties": False}


#: Upstream's own rules for a TrainRunConfig.
_SCHEMA = _closed(
    ("run_name", "entry_point", "arguments", "environment", "resources", "artifacts"),
    run_name={**_TEXT, "maxLength": 120},
    entry_point=_TEXT,
    arguments={"type": "array", "items": {"type": "string"}},
    environment={**_OBJECT, "additionalProperties": {"type": "string"}},
    resources=_closed(
        ("cpus", "memory_mb", "gpus"),
        cpus={"type": "integer", "minimum": 1},
        memory_mb={"type": "integer", "minimum": 256},
        gpus=_closed(("requested",), requested={"type": "integer", "minimum": 0, "maximum": 8}, mandatory=_FLAG),
    ),
    artifacts=_closed((), output_prefix=_TEXT, persist_logs=_FLAG, keep_checkpoints=_FLAG),
    metadata=_OBJECT,
    schedule=_closed(
        (),
        max_duration_seconds={"type": "integer", "minimum": 1},
        max_steps={"type": "integer", "minimum": 1},
    ),
)

#: What only a TrainRunConfig has.
_SIGNS_OF_A_RUN = ("run_name", "entry_point")
#: What only the config of a worker has at its top.
_SIGNS_OF_A_CONFIG = ("run_id", "env_id", "agent_id", "worker_id", "extras", "algo_params", *OTHER_NAMES)
#: Packages of upstream that have another name here; ``NAME_worker`` is NAME otherwise.
_WORKERS = {"ray_worker": "rllib", "ray": "rllib", "mosaic_llm_worker": "llm", "mosaic_vlm_worker": "vlm"}
#: What the platform itself sets for every run.
_SET_HERE = frozenset(
    {
        *("CLEANRL_RUN_ID", "XUANCE_RUN_ID", "MOSAIC_RUN_ID", "MOSAIC_RUN_DIR", "MOSAIC_CHECKPOINT_DIR"),
        *("MOSAIC_CONFIG_FILE", "MOSAIC_CUSTOM_SCRIPTS_DIR", "XUANCE_TENSORBOARD_DIR", "CUDA_VISIBLE_DEVICES"),
    }
)
_DRY_RUN = frozenset({"--dry-run", "--emit-summary"})


@dataclass(frozen=True)
class UpstreamFile:
    """What such a file asks for."""

    #: By the names of a run file.
    told: Mapping[str, Any]
    #: It asks only for a rehearsal.
    dry_run: bool = False
    #: Variables whose values must come from a secret.
    withheld: tuple[str, ...] = ()
    #: What became of what has no counterpart.
    remarks: tuple[str, ...] = field(default=())


def read_upstream(source: str, data: Mapping[Any, Any], worker: str) -> UpstreamFile | None:
    """Return what *data* asks for if upstream wrote it, with *worker* where it names none; None if it did not.

    Raises:
        BadInput: it is upstream's, and cannot be used.
    """
    if any(sign in data for sign in _SIGNS_OF_A_RUN):
        return _run(data, worker)
    metadata = data.get("metadata")
    is_nested = isinstance(metadata, Mapping) and "worker" in metadata
    if not is_nested and ("worker" in data or not any(sign in data for sign in _SIGNS_OF_A_CONFIG)):
        return None
    section = metadata["worker"] if isinstance(metadata, Mapping) and is_nested else {}
    config = extract_worker_config(dict(data))
    if not isinstance(section, Mapping) or not isinstance(config, Mapping) or (is_nested and "config" not in section):
        raise BadInput(source, ["metadata.worker.config: must be there, and an object"])
    named = worker or _worker_of(section)
    if not named:
        raise BadInput(source, ["is the config of a worker and does not say of which; add --worker NAME"])
    return UpstreamFile(_of_config(config) | {"worker": named})


def _of_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a config says about the run itself, and the rest of it."""
    told: dict[str, Any] = {"config": {name: config[name] for name in config if name not in ("run_id", "seed")}}
    if config.get("run_id"):
        told["name"] = str(config["run_id"])
    if config.get("seed") is not None:
        told["seed"] = config["seed"]
    return told


def _worker_of(section: Mapping[str, Any]) -> str:
    package = str(section.get("module") or "").partition(".")[0]
    return _WORKERS.get(package) or package.removesuffix("_worker").removeprefix("mosaic_")


def _run(data: Mapping[Any, Any], worker: str) -> UpstreamFile:
    faults = validate_config(_SCHEMA, data)
    if faults:
        raise BadInput("Invalid TrainRunConfig", faults)
    metadata = data.get("metadata") or {}
    section = metadata.get("worker") or {}
    config = section.get("config") or {}
    named = worker or _worker_of(section)
    arguments = list(section.get("arguments") or ())
    if not isinstance(config, Mapping):
        faults.append("metadata.worker.config: must be an object")
    if not named and section.get("script"):
        faults.append("metadata.worker.script: scripts are not run; make it a worker (mosaic workers new)")
    elif not named:
        faults.append("metadata.worker.module: does not say which worker; add it, or --worker NAME")
    faults += [
        f"metadata.worker.arguments: {argument} cannot be passed on; write it into metadata.worker.config"
        for argument in arguments
        if argument not in _DRY_RUN
    ]
    if faults:
        raise BadInput("Invalid TrainRunConfig", faults)
    told = _of_config(config) | {"worker": named, "name": data["run_name"]} | _needs(data)
    told["config"] = _with_ids(told["config"], section, metadata.get("ui") or {})
    notes = (metadata.get("artifacts") or {}).get("notes")
    if notes:
        told["config"] = {"notes": notes, **told["config"]}
    told["environment"] = {
        name: value for name, value in data["environment"].items() if name not in _SET_HERE and not is_key(name)
    }
    withheld = tuple(name for name, value in data["environment"].items() if value and is_key(name))
    return UpstreamFile(told, bool(_DRY_RUN & set(arguments)), withheld, tuple(_remarks(data)))


def _needs(data: Mapping[Any, Any]) -> dict[str, Any]:
    resources, schedule = data["resources"], data.get("schedule") or {}
    told = {
        "cpus": resources["cpus"],
        "memory_mb": resources["memory_mb"],
        "gpus": resources["gpus"]["requested"],
        "max_wall": schedule.get("max_duration_seconds"),
        "steps": schedule.get("max_steps"),
    }
    return {name: value for name, value in told.items() if value}


def _with_ids(config: Mapping[str, Any], *sections: Mapping[str, Any]) -> dict[str, Any]:
    ids = {
        name: section[name]
        for section in reversed(sections)
        for name in ("agent_id", "worker_id")
        if isinstance(section, Mapping) and section.get(name)
    }
    return {**ids, **{name: value for name, value in config.items() if name not in ids or value}}


def _remarks(data: Mapping[Any, Any]) -> list[str]:
    artifacts, gpus = data["artifacts"], data["resources"]["gpus"]
    told = ["artifacts.output_prefix: files go into the run directory"] if artifacts.get("output_prefix") else []
    if artifacts.get("persist_logs") is False:
        told.append("artifacts.persist_logs: logs are always kept")
    if artifacts.get("keep_checkpoints") is False:
        told.append("artifacts.keep_checkpoints: the last ones are kept; keep_checkpoints of the config says how many")
    if gpus["requested"] and not gpus.get("mandatory"):
        told.append("resources.gpus.mandatory: the run waits for the GPUs that it asks for")
    ours = sorted(_SET_HERE & set(data["environment"]))
    return told + [f"environment.{name}: is set by the platform" for name in ours]
