"""Look at one worker from inside its own environment: ``python -m mosaic.worker.trial.inspection NAME``.

Prints one JSON document as its last line. Runs in a subprocess, because importing a worker
imports its library, and a library may hang, crash or print.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, is_dataclass
from importlib import import_module
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from mosaic.errors import WorkerBroken
from mosaic.worker import WorkerConfig
from mosaic.worker.anatomy import (
    DRIVER,
    OPTIONAL_METHODS,
    find_config_class,
    launch_arguments,
    optional_protocols,
)
from mosaic.worker.discovery import installed_entry_points, load_worker
from mosaic.worker.schema import config_schema
from mosaic.worker.trial.short_config import short_config

Facts = dict[str, Any]


def inspect_worker(name: str, run_id: str) -> Facts:
    """Return what is known about the worker *name*: an entry point, a package or a distribution.

    Never raises for what the worker does wrong: every fault becomes an entry of the result.
    """
    points = installed_entry_points()
    found = _matching(name, points)
    facts: Facts = {"known": sorted({point.name for point in points}), "found": found is not None}
    if found is not None:
        facts |= _discovery_facts(found)
        facts["location"] = _location(found.module.partition(".")[0])
        facts |= _launch_facts(found.module.partition(".")[0])
        facts |= _config_facts(found.module.partition(".")[0], run_id)
    return facts


def _matching(name: str, points: Iterable[EntryPoint]) -> EntryPoint | None:
    candidates = list(points)
    for answer in (
        lambda point: point.name == name,
        lambda point: point.module.partition(".")[0] == name.replace("-", "_"),
        lambda point: point.dist is not None and _normal(point.dist.name) == _normal(name),
    ):
        for point in candidates:
            if answer(point):
                return point
    return None


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _discovery_facts(point: EntryPoint) -> Facts:
    facts: Facts = {"name": point.name, "entry_point": point.value, "package": point.module.partition(".")[0]}
    started = time.monotonic()
    try:
        worker = load_worker(point)
    except WorkerBroken as broken:
        return {**facts, "discovery_fault": f"{point.value} {broken.why}"}
    except BaseException as error:
        return {**facts, "discovery_fault": f"{point.value} raised {type(error).__name__}: {error}"}
    seconds = time.monotonic() - started
    described = {"metadata": asdict(worker.metadata), "capabilities": asdict(worker.capabilities)}
    return {**facts, **described, "load_seconds": seconds}


def _location(package: str) -> str:
    """Return the directory or file that is imported as *package*."""
    try:
        spec = find_spec(package)
    except Exception:
        return ""
    places = list((spec and spec.submodule_search_locations) or ())
    return str(places[0] if places else (spec and spec.origin) or "")


def _launch_facts(package: str) -> Facts:
    _, *launch = launch_arguments(package) or ("-m", DRIVER, package)
    return {"launch": launch, "is_driven": launch[0] == DRIVER}


def _config_facts(package: str, run_id: str) -> Facts:
    try:
        module = import_module(package)
        config_class = find_config_class(package)
        schema = _schema(module, config_class)
        own = hasattr(module, "get_check_config")
        given = module.get_check_config() if own else short_config(schema, run_id) if schema else None
    except BaseException as error:
        return {"config_fault": f"{type(error).__name__}: {error}"}
    facts: Facts = {"schema": schema, "methods": _optional_methods(package)}
    if given is not None:
        facts["config"] = {**given, "run_id": run_id}
        facts["config_source"] = "get_check_config()" if own else "the schema"
    if config_class is None:
        facts["config_fault"] = f"{package} has no *Config dataclass with run_id and from_dict"
    elif given is not None:
        facts["round_trip_faults"] = round_trip_faults(config_class, facts["config"])
    return facts


def _schema(module: ModuleType, config_class: type | None) -> Facts:
    if hasattr(module, "get_config_schema"):
        published: Facts = module.get_config_schema()
        return published
    return dict(config_schema(config_class)) if config_class is not None else {}


def _optional_methods(package: str) -> list[str]:
    protocols = optional_protocols(package)
    return [method for method, protocol in OPTIONAL_METHODS.items() if protocol in protocols]


def round_trip_faults(config_class: Any, config: Facts) -> list[str]:
    """Say how ``from_dict`` and ``to_dict`` of *config_class* lose or change *config* on its way through JSON."""
    try:
        given = _through_json(config)
        first = config_class.from_dict(given)
        written = _through_json(first.to_dict())
        second = config_class.from_dict(_through_json(written))
        again = _through_json(second.to_dict())
    except Exception as error:
        return [f"{config_class.__name__} could not take {config}: {type(error).__name__}: {error}"]
    faults = [] if isinstance(first, WorkerConfig) else ["it lacks run_id, seed, to_dict or from_dict"]
    faults += [
        f"{name}: given {value!r}, read back {written.get(name)!r}"
        for name, value in given.items()
        if written.get(name) != value
    ]
    if again != written or (is_dataclass(first) and second != first):
        faults.append("from_dict(to_dict()) is not the config it came from")
    return faults


def _through_json(document: Facts) -> Facts:
    """Return *document* as a file would give it back: its tuples are lists then."""
    read: Facts = json.loads(json.dumps(document))
    return read


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(inspect_worker(sys.argv[1], sys.argv[2]), default=str) + "\n")
    sys.stdout.flush()
    # A worker may have left threads behind that would keep the process alive.
    os._exit(0)
