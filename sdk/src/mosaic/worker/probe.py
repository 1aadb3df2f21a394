"""What the workers of an environment are, asked in a process of its own.

``python -m mosaic.worker.probe`` prints one JSON document as its last line, marked by the key
``mosaic_probe``, and describes every worker of that interpreter. `probe` runs it with any
interpreter and survives what importing a worker may do: hang, crash, print, leave.

Versions come from installed metadata: no library is imported for them.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import EntryPoint, PackageNotFoundError, version
from pathlib import Path
from typing import Any

from mosaic.errors import WorkerBroken
from mosaic.worker.anatomy import find_config_class, launch_arguments, optional_protocols
from mosaic.worker.asking import ask
from mosaic.worker.discovery import installed_entry_points, load_worker
from mosaic.worker.installed import installed_packages, origin_of
from mosaic.worker.plain import plain, to_json
from mosaic.worker.schema import config_schema

PROBE_VERSION = 1

#: Libraries whose version matters for reproducing any run.
NOTABLE_LIBRARIES = ("torch", "numpy", "gymnasium")


@dataclass(frozen=True)
class ProbedWorker:
    """One worker as it described itself; a broken one has faults and may lack the rest."""

    worker_id: str
    package: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    config_schema: Mapping[str, Any] = field(default_factory=dict)
    launch: tuple[str, ...] = ()  #: what follows the interpreter on the command line, before ``--config``
    versions: Mapping[str, str] = field(default_factory=dict)
    optional_protocols: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    source: str = ""  #: the directory whose files are imported, of an editable installation
    commit: str = ""  #: of the repository that pip fetched it from, if it did

    @property
    def is_usable(self) -> bool:
        """Tell whether the worker can be launched."""
        return bool(self.launch and self.capabilities)


@dataclass(frozen=True)
class ProbeReport:
    """What one interpreter's environment holds; ``faults`` are those of the probe itself."""

    python: str
    workers: tuple[ProbedWorker, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    #: Everything that is installed there.
    packages: Mapping[str, str] = field(default_factory=dict)


def probe(python: str | Path, timeout_s: float = 60.0) -> ProbeReport:
    """Describe the workers of the environment that *python* is the interpreter of.

    Never raises for what is found there: an interpreter that does not start, a worker that hangs,
    a package that ends the process are faults in the report.
    """
    try:
        answer = ask([str(python), "-m", "mosaic.worker.probe"], timeout_s)
    except OSError as error:
        return ProbeReport(str(python), faults=(f"cannot be started: {error.strerror or error}",))
    document = _last_document(answer.output)
    if document is not None:
        return _report_from(document, str(python))
    if answer.exit_code is None:
        fault = f"no answer within {timeout_s:g} s; a worker hangs when imported"
    else:
        fault = _why_silent(answer.exit_code, answer.errors)
    return ProbeReport(str(python), faults=(fault,))


def describe_environment() -> dict[str, Any]:
    """Return the document that this module prints when run."""
    workers = [
        asdict(_describe(entry_point)) for entry_point in sorted(installed_entry_points(), key=lambda ep: ep.name)
    ]
    return {
        "mosaic_probe": PROBE_VERSION,
        "python": sys.executable,
        "versions": _platform_versions() | _installed(("mosaic-sdk", *NOTABLE_LIBRARIES)),
        "packages": installed_packages(),
        "workers": workers,
    }


def _describe(entry_point: EntryPoint) -> ProbedWorker:
    package = entry_point.value.partition(":")[0].strip().partition(".")[0]
    try:
        worker = load_worker(entry_point)
    except WorkerBroken as broken:
        return ProbedWorker(entry_point.name, package, faults=(broken.why,))
    except BaseException as error:
        return ProbedWorker(entry_point.name, package, faults=(f"cannot be imported: {_words(error)}",))
    launch = launch_arguments(package)
    launch_faults = () if launch else (f"cannot be launched: {package} has no __main__.py, cli.py or *Runtime class",)
    schema, schema_faults = _schema(package)
    origin = origin_of(entry_point.dist.name if entry_point.dist is not None else package)
    return ProbedWorker(
        worker_id=worker.worker_id,
        package=package,
        metadata=plain(worker.metadata),
        capabilities=plain(worker.capabilities),
        config_schema=schema,
        launch=launch,
        versions=_versions(entry_point, worker.metadata.upstream_library),
        optional_protocols=optional_protocols(package),
        faults=(*launch_faults, *schema_faults),
        source=origin.directory if origin.is_editable else "",
        commit=origin.commit,
    )


def _schema(package: str) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return the schema the package publishes, or the one its config class implies, or say why not."""
    try:
        publish = getattr(sys.modules.get(package), "get_config_schema", None)
        if callable(publish):
            published = publish()
            if isinstance(published, Mapping):
                return plain(published), ()
            return {}, (f"get_config_schema() must return a dict, returned {type(published).__name__}",)
        config_class = find_config_class(package)
        return (config_schema(config_class) if config_class else {}), ()
    except BaseException as error:
        return {}, (f"has no usable config schema: {_words(error)}",)


def _versions(entry_point: EntryPoint, upstream_library: str | None) -> dict[str, str]:
    own = entry_point.dist.name if entry_point.dist is not None else ""
    return _platform_versions() | _installed((own, upstream_library or "", *NOTABLE_LIBRARIES))


def _platform_versions() -> dict[str, str]:
    return {"python": platform.python_version(), "platform": platform.platform()}


def _installed(names: Sequence[str]) -> dict[str, str]:
    return {name: found for name in names if name and (found := _version_of(name))}


def _version_of(distribution: str) -> str | None:
    try:
        return version(distribution)
    except (PackageNotFoundError, ValueError):
        return None


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _last_document(output: bytes) -> dict[str, Any] | None:
    """Find the answer among whatever the workers printed while they were imported."""
    for line in reversed(output.splitlines()):
        if b'"mosaic_probe"' in line:
            try:
                document = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(document, dict) and "mosaic_probe" in document:
                return document
    return None


def _why_silent(code: int, errors: bytes) -> str:
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    last_words = lines[-1] if lines else "it said nothing"
    return f"ended with {code} and no answer: {last_words}"


def _report_from(document: Mapping[str, Any], python: str) -> ProbeReport:
    spoken = document["mosaic_probe"]
    if spoken != PROBE_VERSION:
        fault = f"its mosaic-sdk answers in form {spoken!r}, this one reads {PROBE_VERSION}; install the same in both"
        return ProbeReport(python, faults=(fault,))
    try:
        workers = tuple(_worker_from(entry) for entry in document["workers"])
        # An SDK from before it told these answers without them.
        packages = _mapping(document.get("packages", {}))
        return ProbeReport(python, workers, _mapping(document["versions"]), packages=packages)
    except (KeyError, TypeError) as error:
        return ProbeReport(
            python, faults=(f"its answer cannot be read ({_words(error)}); a worker may have printed it",)
        )


def _worker_from(entry: Mapping[str, Any]) -> ProbedWorker:
    return ProbedWorker(
        worker_id=str(entry["worker_id"]),
        package=str(entry["package"]),
        metadata=_mapping(entry["metadata"]),
        capabilities=_mapping(entry["capabilities"]),
        config_schema=_mapping(entry["config_schema"]),
        launch=_texts(entry["launch"]),
        versions=_mapping(entry["versions"]),
        optional_protocols=_texts(entry["optional_protocols"]),
        faults=_texts(entry["faults"]),
        source=str(entry.get("source", "")),
        commit=str(entry.get("commit", "")),
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r} is not an object")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return tuple(map(str, value))


if __name__ == "__main__":
    sys.stdout.write(f"\n{to_json(describe_environment())}\n")
    sys.stdout.flush()
    # A worker may have left threads behind that would keep the process alive.
    os._exit(0)
