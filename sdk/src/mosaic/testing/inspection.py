"""Look at one worker from inside its own environment: ``python -m mosaic.testing.inspection NAME``.

Prints one JSON document as its last line. Runs in a subprocess, because importing a worker
imports its library, and a library may hang, crash or print.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, is_dataclass
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Any

from mosaic.errors import WorkerBroken
from mosaic.testing.pairing import find_pair, has_module
from mosaic.testing.short_config import short_config
from mosaic.worker import WorkerConfig
from mosaic.worker.discovery import installed_entry_points, load_worker
from mosaic.worker.schema import config_schema

#: Methods of a runtime that make it more than runnable.
OPTIONAL_METHODS = ("request_stop", "request_pause", "resume_from", "evaluate")

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


def _launch_facts(package: str) -> Facts:
    for module in (package, f"{package}.cli"):
        if has_module(f"{module}.__main__" if module == package else module):
            return {"launch": [module], "is_driven": False}
    return {"launch": ["mosaic.testing.driver", package], "is_driven": True}


def _config_facts(package: str, run_id: str) -> Facts:
    try:
        module = import_module(package)
        config_class, runtime_class = find_pair(package)
    except BaseException as error:
        return _own_words_only(package, str(error), run_id)
    schema = (
        module.get_config_schema() if hasattr(module, "get_config_schema") else config_schema(config_class)
    )
    own = hasattr(module, "get_check_config")
    config = {**(module.get_check_config() if own else short_config(schema, run_id)), "run_id": run_id}
    return {
        "schema": schema,
        "config": config,
        "config_source": "get_check_config()" if own else "the schema",
        "methods": [name for name in OPTIONAL_METHODS if callable(getattr(runtime_class, name, None))],
        "config_class": config_class.__name__,
        "round_trip_faults": round_trip_faults(config_class, config),
    }


def _own_words_only(package: str, why: str, run_id: str) -> Facts:
    """Return what a package says of itself when its two classes cannot be told apart."""
    facts: Facts = {"pair_fault": why, "schema": {}, "methods": []}
    module = sys.modules.get(package)
    if hasattr(module, "get_config_schema"):
        facts["schema"] = module.get_config_schema()  # type: ignore[union-attr]
    if hasattr(module, "get_check_config"):
        facts["config"] = {**module.get_check_config(), "run_id": run_id}  # type: ignore[union-attr]
        facts["config_source"] = "get_check_config()"
    elif facts["schema"]:
        facts["config"] = short_config(facts["schema"], run_id)
        facts["config_source"] = "the schema"
    return facts


def round_trip_faults(config_class: Any, config: Facts) -> list[str]:
    """Say how ``from_dict`` and ``to_dict`` of *config_class* lose or change *config*."""
    try:
        first = config_class.from_dict(config)
        written = first.to_dict()
        json.dumps(written)
        second = config_class.from_dict(json.loads(json.dumps(written)))
    except Exception as error:
        return [f"{config_class.__name__} could not take {config}: {type(error).__name__}: {error}"]
    faults = [] if isinstance(first, WorkerConfig) else ["it lacks run_id, seed, to_dict or from_dict"]
    faults += [
        f"{name}: given {value!r}, read back {written.get(name)!r}"
        for name, value in config.items()
        if written.get(name) != value
    ]
    if second.to_dict() != written or (is_dataclass(first) and second != first):
        faults.append("from_dict(to_dict()) is not the config it came from")
    return faults


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(inspect_worker(sys.argv[1], sys.argv[2]), default=str) + "\n")
