"""The worker under test: what its environment says about it and how it is started."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mosaic.errors import WorkerBroken, WorkerNotFound
from mosaic.worker.asking import ask


@dataclass(frozen=True)
class Subject:
    """One worker of one environment."""

    name: str
    package: str
    python: str
    env: Mapping[str, str]
    #: The module to run and its first arguments.
    launch: tuple[str, ...]
    #: The worker has nothing to start it with, so `mosaic.worker.driver` does.
    is_driven: bool
    entry_point: str
    #: The directory or file that was imported; empty when it is not known.
    location: str = ""
    discovery_fault: str | None = None
    load_seconds: float = 0.0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] = field(default_factory=dict)
    #: A config whose run ends soon; None when nobody knows one.
    config: Mapping[str, Any] | None = None
    config_source: str = ""
    #: Names of the optional methods the runtime has.
    methods: frozenset[str] = frozenset()
    #: Why nothing is known about its config.
    config_fault: str | None = None
    round_trip_faults: tuple[str, ...] = ()

    def command(self, *arguments: str, can_fail: bool = False) -> list[str]:
        """Return the command that runs the worker; with *can_fail*, one that fails on SIGUSR1."""
        module = ["-m", "mosaic.worker.trial.fault", self.launch[0]] if can_fail else ["-m", self.launch[0]]
        return [self.python, *module, *self.launch[1:], *arguments]


def inspected(
    name: str,
    *,
    python: str,
    env: Mapping[str, str] | None,
    config: Mapping[str, Any] | None,
    run_id: str,
    timeout_s: float,
) -> Subject:
    """Look at the worker *name* in the environment of *python*.

    Raises:
        WorkerNotFound: no entry point, package or distribution there has that name.
        WorkerBroken: its environment cannot even be asked.

    """
    context = {**os.environ, **(env or {})}
    facts = _ask(name, python, context, run_id, timeout_s)
    if not facts["found"]:
        raise WorkerNotFound(name, facts["known"])
    chosen = {**config, "run_id": run_id} if config is not None else facts.get("config")
    return Subject(
        name=facts["name"],
        package=facts["package"],
        python=python,
        env=context,
        launch=tuple(facts["launch"]),
        is_driven=facts["is_driven"],
        entry_point=facts["entry_point"],
        location=facts.get("location", ""),
        discovery_fault=facts.get("discovery_fault"),
        load_seconds=facts.get("load_seconds", 0.0),
        metadata=facts.get("metadata", {}),
        capabilities=facts.get("capabilities", {}),
        schema=facts.get("schema") or {},
        config=chosen,
        config_source="the caller" if config is not None else facts.get("config_source", ""),
        methods=frozenset(facts.get("methods", ())),
        config_fault=facts.get("config_fault"),
        round_trip_faults=tuple(facts.get("round_trip_faults", ())),
    )


def _ask(name: str, python: str, env: Mapping[str, str], run_id: str, timeout_s: float) -> dict[str, Any]:
    command = [python, "-m", "mosaic.worker.trial.inspection", name, run_id]
    try:
        answer = ask(command, timeout_s, env)
    except OSError as error:
        raise WorkerBroken(name, f"{python} cannot be started: {error}") from error
    if answer.exit_code is None:
        raise WorkerBroken(name, f"importing it took more than {timeout_s:g} s; keep heavy imports lazy")
    try:
        facts = json.loads(answer.output.strip().rpartition(b"\n")[2])
    except ValueError:
        facts = None
    if not isinstance(facts, dict) or "found" not in facts:
        said = answer.errors.decode("utf-8", "replace").strip().splitlines()
        last = (said or [f"exit code {answer.exit_code}"])[-1]
        raise WorkerBroken(name, f"its environment could not be inspected: {last}")
    return facts
