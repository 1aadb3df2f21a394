"""Fleets as YAML: groups of equal nodes, and the teams that share them.

::

    nodes:
      - {name: node, count: 20, cpus: 64, memory_mb: 524288, gpus: 8, workers: [cleanrl, rllib]}
    teams:
      vision: {weight: 1, quota: {gpus: 40}, max_running_per_user: 50}
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from mosaic.errors import BadInput
from mosaic.ids import TeamName, WorkerName
from mosaic.model.team import Quota, Team
from mosaic_simulator.files.fields import Faults, Fields
from mosaic_simulator.files.located_yaml import LocatedMapping, read_located_yaml
from mosaic_simulator.fleet import Fleet, NodeGroup


def read_fleet(path: Path) -> Fleet:
    """Read the fleet in *path*.

    Raises:
        BadInput: with every fault and its line.
    """
    faults = Faults(str(path))
    fields = Fields(read_located_yaml(path, faults), 1, faults)
    fleet = Fleet(_groups(fields, faults), _teams(fields))
    fields.refuse_unknown()
    faults.raise_if_any()
    return fleet


def write_fleet(path: Path, fleet: Fleet) -> None:
    """Write *fleet* so that `read_fleet` returns it again.

    Raises:
        BadInput: the file cannot be written.
    """
    document = {
        "nodes": [_group_entry(group) for group in fleet.groups],
        "teams": {str(team.name): _team_entry(team) for team in fleet.teams},
    }
    try:
        path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    except OSError as error:
        raise BadInput(str(path), [f"cannot be written: {error.strerror}"]) from error


def _groups(fields: Fields, faults: Faults) -> tuple[NodeGroup, ...]:
    entries = fields.raw("nodes")
    if entries is None:
        return ()
    if not isinstance(entries, list) or not entries:
        fields.fault("nodes", "must be a list with at least one group of nodes")
        return ()
    groups = []
    first_line: dict[str, int] = {}
    for index, entry in enumerate(entries):
        if not isinstance(entry, LocatedMapping):
            fields.fault("nodes", f"must hold mappings, but entry {index + 1} is {entry!r}")
            continue
        group_fields = Fields(entry, entry.line, faults)
        group = _group(group_fields)
        if first_line.setdefault(group.name, entry.line) != entry.line:
            group_fields.fault("name", f"{group.name!r} stands on line {first_line[group.name]} already")
        groups.append(group)
    return tuple(groups)


def _group(fields: Fields) -> NodeGroup:
    group = NodeGroup(
        name=fields.name("name", default="node"),
        cpus=fields.number("cpus", above=0),
        memory_mb=fields.whole("memory_mb", at_least=1),
        workers=tuple(WorkerName(worker) for worker in fields.names("workers")),
        count=fields.whole("count", default=1, at_least=1),
        gpus=fields.whole("gpus", default=0),
        gpu_memory_mb=fields.whole("gpu_memory_mb", default=40_960, at_least=1),
    )
    fields.refuse_unknown()
    return group


def _teams(fields: Fields) -> tuple[Team, ...]:
    teams = fields.mapping("teams")
    return tuple(_team(TeamName(name), teams.mapping(name, default={})) for name in teams.names_of_fields())


def _team(name: TeamName, fields: Fields) -> Team:
    quota = fields.mapping("quota", default={})
    team = Team(
        name=name,
        weight=fields.number("weight", default=1, above=0),
        quota=Quota(
            gpus=_optional_number(quota, "gpus"),
            cpus=_optional_number(quota, "cpus"),
            memory_mb=_optional_whole(quota, "memory_mb"),
        ),
        lending_limit_gpus=_optional_number(fields, "lending_limit_gpus"),
        borrowing_limit_gpus=_optional_number(fields, "borrowing_limit_gpus"),
        max_running=_optional_whole(fields, "max_running"),
        max_queued=_optional_whole(fields, "max_queued"),
        max_running_per_user=_optional_whole(fields, "max_running_per_user"),
        max_queued_per_user=_optional_whole(fields, "max_queued_per_user"),
        max_gpus_per_user=_optional_number(fields, "max_gpus_per_user"),
        max_wall=fields.span("max_wall") if fields.has("max_wall") else fields.raw("max_wall", None),
    )
    quota.refuse_unknown()
    fields.refuse_unknown()
    return team


def _optional_number(fields: Fields, name: str) -> float | None:
    return fields.number(name) if fields.has(name) else fields.raw(name, None)


def _optional_whole(fields: Fields, name: str) -> int | None:
    return fields.whole(name) if fields.has(name) else fields.raw(name, None)


def _group_entry(group: NodeGroup) -> dict[str, Any]:
    return {
        "name": group.name,
        "count": group.count,
        "cpus": group.cpus,
        "memory_mb": group.memory_mb,
        "gpus": group.gpus,
        "gpu_memory_mb": group.gpu_memory_mb,
        "workers": [str(worker) for worker in group.workers],
    }


def _team_entry(team: Team) -> dict[str, Any]:
    entry = asdict(team)
    del entry["name"]
    entry["quota"] = _present(entry["quota"])
    entry["max_wall"] = None if team.max_wall is None else team.max_wall.total_seconds()
    return _present(entry)


def _present(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if value is not None and value != {}}
