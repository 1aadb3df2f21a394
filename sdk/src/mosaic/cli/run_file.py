"""A run described in a YAML or JSON file, by the names that the options of ``mosaic submit`` have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from mosaic.cli.options import Faults, read_count, read_limit, read_seeds
from mosaic.cli.upstream_file import UpstreamFile, read_upstream
from mosaic.cli.yaml_values import load
from mosaic.client import Resources, RunSpec
from mosaic.client.checks import faults_of
from mosaic.errors import BadInput, did_you_mean


@dataclass(frozen=True)
class Key:
    """One thing that a file may say."""

    name: str
    #: The option of ``mosaic submit`` that means the same, if it has another name.
    option: str = ""
    #: Other names that are understood.
    also: tuple[str, ...] = ()
    #: Where no option tells it.
    meaning: str = ""


KEYS = (
    Key("worker", meaning="Worker to train with; needed, unless the run continues another."),
    Key("env"),
    Key("algo"),
    Key("steps"),
    Key("config", meaning="Settings of the worker, nested as they are; `mosaic workers show` lists them."),
    Key("seed", also=("seeds",)),
    Key("name"),
    Key("team"),
    Key("priority"),
    Key("cpus"),
    Key("memory_mb"),
    Key("gpus"),
    Key("gpu_memory_mb"),
    Key("resources", meaning="The four above in one place, and `gpu_fraction`."),
    Key("max_wall", also=("max_wall_s",)),
    Key("hang_limit", also=("hang_limit_s",)),
    Key("retries", also=("max_retries",)),
    Key("labels", option="label", also=("label",), meaning="Keys and values, both text, to find it again."),
    Key("secrets", option="secret", also=("secret",), meaning="Variable of the worker: name of the secret in it."),
    Key("environment", meaning="More environment variables of the worker; which ones is listed below."),
    Key("not_before", meaning="Earliest start: 2030-01-31T12:00:00Z."),
    Key("key", also=("idempotency_key",)),
    Key("continue", option="continues", also=("continues",)),
)

_OWN_NAME = {spelt: key.name for key in KEYS for spelt in (key.name, *key.also)}
#: What `RunSpec` calls a key, where that is something else.
_FIELDS = {"retries": "max_retries", "continue": "continues"}
_AMOUNTS = ("cpus", "memory_mb", "gpu_memory_mb")
_COMMON = ("env", "algo")


@dataclass(frozen=True)
class RunFile:
    """What a file asks for."""

    spec: RunSpec
    #: One run for each; none = one run with the seed of the spec.
    seeds: tuple[int, ...] = ()
    idempotency_key: str = ""
    #: ``env``, ``algo`` and ``steps``, which every worker gives a name of its own.
    common: Mapping[str, Any] = field(default_factory=dict)
    #: What an upstream file has beyond a submission.
    upstream: UpstreamFile | None = None


def read_run_file(path: Path, worker: str = "") -> RunFile:
    """Read a whole submission, whose keys are those of `KEYS`, with ``-`` or ``_``; or what upstream writes.

    *worker* goes before what the file names.

    Raises:
        BadInput: lists everything in the file that cannot be used.
    """
    faults = Faults()
    data = read_mapping(path)
    theirs = read_upstream(str(path), data, worker)
    told = _told(data if theirs is None else theirs.told, faults)
    if worker:
        told["worker"] = worker
    common = {name: told.pop(name) for name in _COMMON if name in told}
    faults.add_all(f"{name} must be text, not {value!r}" for name, value in common.items() if not _is_text(value))
    if "steps" in told:
        common["steps"] = faults.read(read_count, "steps", told.pop("steps"))
    needs = _resources(told, faults)
    seed, seeds = _seeds(told.pop("seed", None), faults)
    key = told.pop("key", "")
    for name in ("max_wall", "hang_limit"):
        if name in told:
            told[name] = faults.read(read_limit, name, told[name])
    if told.get("retries") == -1:
        del told["retries"]
    if isinstance(told.get("not_before"), str):
        told["not_before"] = _moment(told["not_before"])
    values = {_FIELDS.get(name, name): value for name, value in told.items()}
    asked = RunSpec(**values, seed=seed, resources=needs)
    faults.add_all(faults_of(asked, seeds=seeds, idempotency_key=key))
    faults.raise_if_any(str(path))
    return RunFile(asked, seeds, key, common, theirs)


def read_mapping(path: Path) -> dict[Any, Any]:
    """Return the keys and values in *path*.

    Raises:
        BadInput: it cannot be read, or holds something else.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(str(path), [f"cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise BadInput(str(path), [f"is neither YAML nor JSON: {error}"]) from error
    data = load(str(path), text)
    if not isinstance(data, dict):
        raise BadInput(str(path), ["must hold keys and values"])
    return data


def _told(data: Mapping[Any, Any], faults: Faults) -> dict[str, Any]:
    """Return what *data* says under our own names; what is empty says nothing."""
    told: dict[str, Any] = {}
    unknown = []
    for key, value in data.items():
        name = _OWN_NAME.get(str(key).replace("-", "_"))
        if name is None:
            unknown.append(f"keys: {key!r} is not known{did_you_mean(str(key), _OWN_NAME)}")
        elif name in told:
            faults.add(f"keys: {key!r} says again what another key says; {name} once is enough")
        elif value is not None:
            told[name] = value
    if unknown:
        faults.add_all([*unknown, f"keys: those that are known: {', '.join(key.name for key in KEYS)}"])
    return told


def _resources(told: dict[str, Any], faults: Faults) -> Resources:
    needs = faults.read(_nested_resources, told.pop("resources", {})) or Resources()
    amounts = {name: told.pop(name) for name in _AMOUNTS if name in told}
    gpus = told.pop("gpus", None)
    if isinstance(gpus, (int, float)):
        needs = faults.read(with_gpus, needs, float(gpus)) or needs
    elif gpus is not None:
        faults.add(f"gpus must be a number, not {gpus!r}")
    return replace(needs, **amounts)


def _nested_resources(data: Any) -> Resources:
    if not isinstance(data, dict):
        raise BadInput("resources", ["must hold keys and values"])
    known = {one.name for one in fields(Resources)}
    unknown = [f"{key!r} is not known{did_you_mean(str(key), known)}" for key in data if key not in known]
    if unknown:
        raise BadInput("resources", unknown)
    return Resources(**data)


def with_gpus(needs: Resources, gpus: float | None) -> Resources:
    """Return *needs* with that many GPUs, whole ones or a fraction of one; what it had before is gone.

    Raises:
        BadInput: it is neither.
    """
    if gpus is None:
        return needs
    if 0 < gpus < 1:
        return replace(needs, gpus=0, gpu_fraction=gpus)
    if gpus < 0 or not gpus.is_integer():
        raise BadInput("--gpus", [f"{gpus:g} is neither a whole number nor a fraction of one GPU"])
    return replace(needs, gpus=int(gpus), gpu_fraction=0.0)


def _seeds(value: Any, faults: Faults) -> tuple[Any, Any]:
    """Return the one seed and the several that *value* asks for."""
    if isinstance(value, str):
        value = faults.read(read_seeds, value) or ()
    if isinstance(value, (list, tuple)):
        return (value[0], ()) if len(value) == 1 else (None, tuple(value))
    return value, ()


def _moment(text: str) -> datetime | str:
    """Return the time that *text* says, or the text itself for whoever lists the faults."""
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return text


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)
