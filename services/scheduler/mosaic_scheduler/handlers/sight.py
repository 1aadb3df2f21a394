"""What of a submit its caller must be able to see: the team, and the runs into whose directories its paths lead."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from mosaic.errors import Forbidden, did_you_mean
from mosaic.hosting.rights import decide, may
from mosaic.ids import RunId, TeamName
from mosaic.model.identity import Caller, Permission
from mosaic.model.run import RunSpec
from mosaic_scheduler.ports import RunTransaction

#: A run's id as a part of a path.
_RUN_ID = re.compile(r"(?<![0-9A-Z])[0-9A-HJKMNP-TV-Z]{26}(?![0-9A-Z])", re.IGNORECASE)
#: Runs that one config may name.
_MOST_NAMED = 100


def team_faults(name: TeamName, teams: Collection[TeamName], caller: Caller) -> list[str]:
    """Return why *caller* cannot submit to team *name*: none of *teams* that they may see is called so.

    Raises:
        Forbidden: they see it, but may not submit to it.
    """
    decided = {team: decide(caller, Permission.RUNS_SUBMIT, owner=caller.user, team=team) for team in teams}
    seen = sorted(team for team, decision in decided.items() if decision.visible)
    if name not in seen:
        return [f"there is no team {name!r}{did_you_mean(name, seen)} (known: {', '.join(seen) or 'none'})"]
    if not decided[name].allowed:
        raise Forbidden(caller.user, Permission.RUNS_SUBMIT.value, f"team {name}")
    return []


def is_out_of_sight(spec: RunSpec, caller: Caller) -> bool:
    """Tell whether *spec* names a team that *caller* may not see, be there one or not."""
    return bool(spec.team) and not decide(caller, Permission.RUNS_SUBMIT, owner=caller.user, team=spec.team).visible


def hidden_run_faults(config: Any, work: RunTransaction, caller: Caller) -> list[str]:
    """Return which paths of *config*, such as a ``policy_path``, lead into the directory of a run out of sight."""
    named = sorted({part.upper() for text in _texts(config) for part in _RUN_ID.findall(text)})
    if len(named) > _MOST_NAMED:
        return [f"config: names {len(named)} runs, {_MOST_NAMED} are allowed"]
    found = (work.run(RunId(run_id)) for run_id in named)
    hidden = (run for run in found if run and not may(caller, Permission.RUNS_READ, team=run.spec.team))
    return [f"config: there is no run {run.run_id!r}, into whose directory a path leads" for run in hidden]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)
