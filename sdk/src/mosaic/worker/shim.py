"""What every package around a library says of itself and how it starts: metadata, schema of the settings, main."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NoReturn

from mosaic.worker.branches import branch_of, branch_of_others, parameters_of
from mosaic.worker.command import run_worker
from mosaic.worker.environments import missing_from
from mosaic.worker.library.config import LibrarySettings
from mosaic.worker.library.extras import add_other_names
from mosaic.worker.library.runtime import LibraryRuntime
from mosaic.worker.metadata import WorkerCapabilities, WorkerMetadata
from mosaic.worker.schema import config_schema

#: Families of environments that Gymnasium makes, with the packages that every library worker installs.
GYMNASIUM_FAMILIES = ("gymnasium", "classic_control", "toy_text", "box2d", "mujoco", "atari", "minigrid", "babyai")


def main(config_class: type[LibrarySettings], runtime_class: type[LibraryRuntime]) -> NoReturn:
    """Be the ``main`` of the worker of *runtime_class*."""
    sys.exit(run_worker(config_class, runtime_class, worker_type=runtime_class.worker))


def installed_version(distribution: str) -> str | None:
    """Return the version of *distribution* in this environment, if it is there."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def described(
    worker: str, *, name: str, version: str, description: str, homepage: str, library: str, **more: Any
) -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Say who a worker is and what it can do; *more* are capabilities beyond those of one agent in Gymnasium."""
    metadata = WorkerMetadata(
        name=name,
        version=version,
        description=description,
        author="MOSAIC Fleet",
        homepage=homepage,
        upstream_library=library,
        upstream_version=installed_version(library),
        license="MIT",
    )
    able: dict[str, Any] = {
        "supported_paradigms": ("single_agent", "sequential", "training", "evaluation"),
        "env_families": GYMNASIUM_FAMILIES,
        "action_spaces": ("discrete", "continuous"),
        "observation_spaces": ("vector", "image"),
        "supports_checkpointing": True,
        "supports_pause_resume": True,
        "estimated_memory_mb": 1024,
    }
    return metadata, WorkerCapabilities(worker_type=worker, **{**able, **more})


def published_schema(
    config_class: type[LibrarySettings],
    names: Sequence[str],
    parameters: Callable[[str], Mapping[str, Any]],
    abilities: Callable[[str], Mapping[str, Any]],
    *,
    short_names: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the schema of a run: the fields of *config_class*, and what each of the algorithms *names* adds to them.

    *parameters* returns the schema of the hyper-parameters of one, *abilities* what it can act on and see;
    *short_names* are those of *names* that mean another.
    """
    schema, meant = config_schema(config_class), short_names or {}
    schema["properties"]["algo"]["enum"] = list(names)
    schema["$defs"] = {name: parameters(name) for name in names if name not in meant}
    add_other_names(schema["properties"])
    takes = {name: parameters_of(meant.get(name, name), schema) for name in names}
    branches = [branch_of(name, takes[name], schema["properties"]) for name in names]
    schema["anyOf"] = [*branches, branch_of_others(names)]
    schema["x-algorithms"] = {name: {**abilities(meant.get(name, name)), "max_agents": 1} for name in names}
    schema["x-missing-environments"] = missing_from(import_module("gymnasium").registry)
    return schema
