"""Traces as JSON lines: one run or one change of a node per line, in any order.

::

    {"kind": "run", "run": "run-1", "at": 12.5, "team": "vision", "user": "ana", "worker": "cleanrl",
     "gpus": 1, "cpus": 4, "memory_mb": 16384, "work_seconds": 5400}
    {"kind": "node", "at": 3600, "node": "node-0001", "change": "fails"}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mosaic.errors import BadInput
from mosaic.ids import NodeId, RunId, TeamName, UserName, WorkerName
from mosaic.model.resources import Resources
from mosaic.model.run import Priority
from mosaic_scheduler.domain.run import ResumeGrade
from mosaic_simulator.files.fields import Faults, Fields
from mosaic_simulator.fleet import Fleet
from mosaic_simulator.trace import NodeChange, NodeEvent, Trace, TracedRun, in_order

_PRIORITIES = {priority.label: priority for priority in Priority}
_GRADES = {grade.value: grade for grade in ResumeGrade}
_CHANGES = {change.value: change for change in NodeChange}


def read_trace(path: Path, fleet: Fleet | None) -> Trace:
    """Read the trace in *path*, to be played on *fleet*; without one its names are not checked.

    Raises:
        BadInput: with every fault and its line: not JSON, a field missing, unknown or out of
            bounds, a run given twice, a team or node that the fleet does not have.
    """
    reader = _TraceReader(str(path), fleet)
    for number, line in _numbered_lines(path):
        reader.read(number, line)
    return reader.trace()


def write_trace(path: Path, trace: Trace) -> None:
    """Write *trace* so that `read_trace` returns it again.

    Raises:
        BadInput: the file cannot be written.
    """
    entries = [*map(_run_entry, trace.runs), *map(_node_entry, trace.node_events)]
    entries.sort(key=lambda entry: entry["at"])
    try:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in entries)
    except OSError as error:
        raise BadInput(str(path), [f"cannot be written: {error.strerror}"]) from error


class _TraceReader:
    """Turns lines into runs and node events, and keeps on going when one cannot be used."""

    def __init__(self, source: str, fleet: Fleet | None) -> None:
        self._faults = Faults(source)
        self._teams = {team.name for team in fleet.teams} if fleet else None
        self._workers = {agent.worker for agent in fleet.agents} if fleet else None
        self._nodes = {node.node_id for node in fleet.nodes} if fleet else None
        self._first_line: dict[str, int] = {}
        self._runs: list[TracedRun] = []
        self._node_events: list[NodeEvent] = []

    def read(self, number: int, line: str) -> None:
        """Read one line."""
        entry = self._object(number, line)
        if entry is None:
            return
        fields = Fields(entry, number, self._faults)
        if fields.choice("kind", ("run", "node"), default="run") == "run":
            self._read_run(fields, number)
        else:
            self._read_node(fields)

    def trace(self) -> Trace:
        """Return what was read, in order of time."""
        if not self._runs:
            self._faults.add(1, "there is no run in it; `mosaic simulate generate` writes a trace")
        self._faults.raise_if_any()
        return in_order(self._runs, self._node_events)

    def _object(self, number: int, line: str) -> Mapping[str, Any] | None:
        try:
            entry = json.loads(line)
        except ValueError as error:
            self._faults.add(number, f"not JSON: {error}")
            return None
        if not isinstance(entry, dict):
            self._faults.add(number, f"must be an object in braces, not {line.strip()[:40]!r}")
            return None
        return entry

    def _read_run(self, fields: Fields, number: int) -> None:
        run_id = fields.name("run")
        first = self._first_line.setdefault(run_id, number)
        if first != number and run_id != "?":
            fields.fault("run", f"{run_id!r} stands on line {first} already")
        grade = fields.choice("resume_grade", _GRADES, default="C")
        self._runs.append(
            TracedRun(
                run_id=RunId(run_id),
                team=TeamName(fields.known_name("team", self._teams, "the fleet file")),
                user=UserName(fields.name("user", default="someone")),
                worker=WorkerName(fields.known_name("worker", self._workers, "the fleet file")),
                at=fields.number("at"),
                work_seconds=fields.number("work_seconds", above=0),
                resources=_requirements(fields),
                priority=_PRIORITIES[fields.choice("priority", _PRIORITIES, default="normal")],
                max_wall_seconds=_optional(fields, "max_wall_seconds"),
                checkpoint_seconds=_optional(fields, "checkpoint_seconds"),
                resume_grade=_GRADES[grade],
                steps_per_second=fields.number("steps_per_second", default=1000),
            )
        )
        fields.refuse_unknown()

    def _read_node(self, fields: Fields) -> None:
        node_id = NodeId(fields.known_name("node", self._nodes, "the fleet file"))
        change = _CHANGES[fields.choice("change", _CHANGES)]
        self._node_events.append(NodeEvent(fields.number("at"), node_id, change))
        fields.refuse_unknown()


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(str(path), [f"cannot be read: {error}"]) from error


def _requirements(fields: Fields) -> Resources:
    needs = Resources(
        cpus=fields.number("cpus", default=1),
        memory_mb=fields.whole("memory_mb", default=0),
        gpus=fields.whole("gpus", default=0),
        gpu_fraction=fields.number("gpu_fraction", default=0),
        gpu_memory_mb=fields.whole("gpu_memory_mb", default=0),
    )
    fields.add_faults(needs.faults())
    return needs


def _optional(fields: Fields, name: str) -> float | None:
    return fields.number(name, above=0) if fields.has(name) else fields.raw(name, None)


def _run_entry(run: TracedRun) -> dict[str, Any]:
    needs = run.resources
    entry = {
        "kind": "run",
        "run": run.run_id,
        "at": run.at,
        "team": run.team,
        "user": run.user,
        "worker": run.worker,
        "priority": run.priority.label,
        "cpus": needs.cpus,
        "memory_mb": needs.memory_mb,
        "gpus": needs.gpus or None,
        "gpu_fraction": needs.gpu_fraction or None,
        "gpu_memory_mb": needs.gpu_memory_mb or None,
        "work_seconds": run.work_seconds,
        "max_wall_seconds": run.max_wall_seconds,
        "checkpoint_seconds": run.checkpoint_seconds,
        "resume_grade": run.resume_grade.value if run.resume_grade else None,
        "steps_per_second": run.steps_per_second,
    }
    return {name: value for name, value in entry.items() if value is not None}


def _node_entry(event: NodeEvent) -> dict[str, Any]:
    return {"kind": "node", "at": event.at, "node": event.node_id, "change": event.change.value}
