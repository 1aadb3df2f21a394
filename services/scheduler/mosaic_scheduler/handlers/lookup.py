"""Which run is meant by what a person typed: an id, a part of one, or a name."""

from __future__ import annotations

from collections.abc import Sequence

from mosaic.errors import BadInput, RunNotFound
from mosaic.hosting.rights import may, require, visible_teams
from mosaic.ids import RunId
from mosaic.model.identity import Caller, Permission
from mosaic.model.run import Run, RunFilter
from mosaic_scheduler.ports import RunTransaction

#: A part of an id that is shorter than this could be any run.
_SHORTEST_PART = 4
#: More ids than this help nobody to choose.
_MOST_SHOWN = 10


def find(work: RunTransaction, text: str, caller: Caller) -> Run:
    """Return the run whose id is *text*, which bears it as a name, or whose id starts or ends with it.

    Of runs with one name those step back that another of them retries or continues. Runs that *caller* may not see
    are not there.

    Raises:
        RunNotFound: none does.
        BadInput: several do.
    """
    exact = work.run(RunId(text))
    if exact is not None and may(caller, Permission.RUNS_READ, owner=exact.spec.user, team=exact.spec.team):
        return exact
    teams = visible_teams(caller)
    named = work.list_runs(RunFilter(name=text), limit=_MOST_SHOWN + 1, before="", teams=teams) if text else []
    partly = work.runs_like(text.upper(), teams=teams) if len(text) >= _SHORTEST_PART else []
    found = {run.run_id: run for run in (*_newest_of_each_line(named), *partly)}
    if not found:
        raise RunNotFound(text)
    if len(found) > 1:
        raise BadInput("run", [_ambiguous(text, list(found.values()), has_name=bool(named))])
    return next(iter(found.values()))


def find_to_change(work: RunTransaction, text: str, caller: Caller) -> Run:
    """Return the run meant by *text* if *caller* may change it.

    Raises:
        RunNotFound: there is none that they may see.
        BadInput: several could be meant.
        Forbidden: they see it, but it is not theirs to change.
    """
    run = find(work, text, caller)
    require(
        caller,
        Permission.RUNS_CHANGE,
        what=f"run {run.run_id}",
        missing=RunNotFound(text),
        owner=run.spec.user,
        team=run.spec.team,
    )
    return run


def _newest_of_each_line(runs: Sequence[Run]) -> list[Run]:
    replaced = {run.spec.labels.get("retry_of") for run in runs} | {run.spec.continues for run in runs}
    return [run for run in runs if run.run_id not in replaced]


def _ambiguous(text: str, found: Sequence[Run], *, has_name: bool) -> str:
    if not has_name:
        return f"{text!r} could be {found[0].run_id} or {found[1].run_id}; type more of it"
    more = " and more" if len(found) > _MOST_SHOWN else ""
    listing = ", ".join(f"{run.run_id} (seed {run.spec.seed}, {run.state.value})" for run in found[:_MOST_SHOWN])
    return f"{text!r} could be {listing}{more}; give an id, or the end of one"
