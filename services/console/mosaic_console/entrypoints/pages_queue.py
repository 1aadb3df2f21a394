"""Home and queue, and what is done to several runs at once."""

from __future__ import annotations

from datetime import datetime, timezone
from http import HTTPStatus
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from mosaic.hosting.access import needs
from mosaic.model.identity import Permission
from mosaic_console.entrypoints.looks import html
from mosaic_console.entrypoints.parts import TheCaller, ThePlatform
from mosaic_console.handlers.commands import Command, command
from mosaic_console.handlers.queue import see_home, see_queue

router = APIRouter(include_in_schema=False)

#: As many as stand on one page.
_MOST_AT_ONCE = 200


async def _ticked(request: Request) -> list[str]:
    text = (await request.body()).decode("utf-8", "replace")
    return parse_qs(text, max_num_fields=_MOST_AT_ONCE).get("run", [])


@router.get("/")
@needs(Permission.RUNS_READ)
def home_page(platform: ThePlatform, caller: TheCaller) -> Response:
    """Show what needs the one who asks."""
    now = datetime.now(timezone.utc)
    return html("home.html", view=see_home(platform, caller.user, now=now), user=caller.user, now=now)


@router.get("/queue")
@needs(Permission.RUNS_READ)
def queue_page(platform: ThePlatform) -> Response:
    """Show what waits, why, and who uses what."""
    return html("queue.html", view=see_queue(platform), now=datetime.now(timezone.utc))


@router.post("/runs/cancel")
@needs(Permission.RUNS_CHANGE)
def cancel_ticked(platform: ThePlatform, runs: Annotated[list[str], Depends(_ticked)]) -> Response:
    """End every run that was ticked; those that have ended stay as they are."""
    for run_id in runs:
        command(platform, run_id, Command.CANCEL)
    return RedirectResponse("/runs", HTTPStatus.SEE_OTHER)
