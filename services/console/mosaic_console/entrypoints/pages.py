"""Pages for people: they show what the API tells, and their forms do what the API does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Response
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from mosaic.hosting.access import needs
from mosaic.hosting.rights import visible_teams
from mosaic.lifecycle import RunState
from mosaic.model.identity import Permission
from mosaic_console.domain.wanted import read_wanted
from mosaic_console.entrypoints.looks import assets, html
from mosaic_console.entrypoints.parts import RunName, TheCaller, TheParts, ThePlatform
from mosaic_console.handlers.commands import Command, command
from mosaic_console.handlers.fleet import drain
from mosaic_console.handlers.views import AXES, STEP, Column, see_fleet, see_run, see_runs

router = APIRouter(include_in_schema=False)

_ROWS = 100
_MOST_COLUMNS = 8
_FOREVER = "private, max-age=31536000, immutable"


@router.get("/runs")
@needs(Permission.RUNS_READ)
def runs_page(
    parts: TheParts,
    platform: ThePlatform,
    caller: TheCaller,
    state: Annotated[list[str] | None, Query()] = None,
    team: str = "",
    user: str = "",
    worker: str = "",
    name: str = "",
    label: str = "",
    after: str = "",
    col: Annotated[list[str] | None, Query(max_length=_MOST_COLUMNS)] = None,
) -> Response:
    """Show a page of runs; the filters stand in the address, so that a view can be sent to somebody."""
    # A form sends its empty fields, too.
    states = [each for each in state or () if each]
    wanted = read_wanted(states=states, team=team, user=user, worker=worker, name=name, labels=[label] if label else [])
    texts = {"team": team, "user": user, "worker": worker, "name": name, "label": label}
    query = _query(texts, states)
    columns = [Column.read(each) for each in col or () if each]
    shown = [column.text for column in columns]
    # Hundreds may have the page open, and ask for it again when something changes.
    key = (visible_teams(caller), query, after, *shown)
    view = parts.looks.look(key, lambda: see_runs(platform, wanted, after=after, size=_ROWS, columns=columns))
    return html(
        "runs.html",
        view=view,
        texts=texts,
        states=states,
        known_states=[each.value for each in RunState],
        columns=columns,
        older=f"/runs?{_query(texts, states, after=view.page.next, col=shown)}" if view.page.next else "",
        newest=f"/runs?{_query(texts, states, col=shown)}" if after else "",
        is_filtered=bool(query),
        now=_now(),
    )


@router.get("/runs/{run_id}")
@needs(Permission.RUNS_READ)
def run_page(
    platform: ThePlatform,
    run_id: RunName,
    curves: str = "",
    x: str = "step",
    log_x: bool = False,
    log_y: bool = False,
    smoothing: float = 0.0,
) -> Response:
    """Show everything about one run; the script draws curves as the address says."""
    x = x if x in AXES else STEP
    view = see_run(platform, run_id, now=_now(), all_curves=curves == "all", x=x)
    looks = {"x": x, "log_x": log_x, "log_y": log_y, "smoothing": smoothing}
    return html("run.html", view=view, looks=looks, now=_now())


@router.post("/runs/{run_id}/{wish}")
@needs(Permission.RUNS_CHANGE)
def command_form(platform: ThePlatform, run_id: RunName, wish: Command) -> Response:
    """Do what a button says, and show the run; after a retry the new one."""
    run = command(platform, run_id, wish)
    return RedirectResponse(f"/runs/{quote(run.run_id, safe='')}", HTTPStatus.SEE_OTHER)


@router.get("/fleet")
@needs(Permission.FLEET_READ)
def fleet_page(platform: ThePlatform) -> Response:
    """Show the machines, their agents, and what runs there."""
    return html("fleet.html", view=see_fleet(platform), now=_now())


@router.post("/fleet/drain")
@needs(Permission.FLEET_CHANGE)
def drain_form(
    platform: ThePlatform, name: Annotated[str, Query()], undo: Annotated[bool, Query()] = False
) -> Response:
    """Take a node or an agent out of planning, or back in, and show the fleet."""
    drain(platform, name, draining=not undo)
    return RedirectResponse("/fleet", HTTPStatus.SEE_OTHER)


@router.get("/static/{name:path}")
@needs(Permission.SIGNED_IN)
def static_file(name: str, v: str = "") -> Response:
    """Return one of our files; its address changes with its content, but for those that a script asks for."""
    found = assets().get(name)
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, "there is no such file")
    return Response(found.content, headers={"Cache-Control": _FOREVER if v else "no-cache"}, media_type=found.kind)


def _query(texts: Mapping[str, str], states: Sequence[str], **more: Any) -> str:
    pairs = [("state", state) for state in states] + [(key, text) for key, text in texts.items() if text]
    return urlencode(pairs + list(more.items()), doseq=True)


def _now() -> datetime:
    return datetime.now(timezone.utc)
