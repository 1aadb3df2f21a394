"""The form that starts runs; a view of it is an address, as every view."""

from __future__ import annotations

import secrets
from http import HTTPStatus
from typing import Annotated
from urllib.parse import parse_qsl, quote

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from mosaic.hosting.access import needs
from mosaic.model.identity import Permission
from mosaic_console.domain.form import FIELD
from mosaic_console.entrypoints.looks import html
from mosaic_console.entrypoints.parts import TheCaller, ThePlatform
from mosaic_console.handlers.training import TrainForm, dry_run, see_form, start

router = APIRouter(include_in_schema=False)

_MOST_FIELDS = 1000


async def _sent(request: Request) -> dict[str, str]:
    """Return the fields of a form; of one that is named twice the last."""
    text = (await request.body()).decode("utf-8", "replace") if request.method == "POST" else request.url.query
    pairs = parse_qsl(text, keep_blank_values=False, max_num_fields=_MOST_FIELDS)
    return {name: value for name, value in pairs if name != FIELD}


Sent = Annotated[dict[str, str], Depends(_sent)]


@router.get("/train")
@needs(Permission.RUNS_SUBMIT)
def train_page(platform: ThePlatform, values: Sent) -> Response:
    """Show the form for a worker, as far as it is filled in."""
    return _page(see_form(platform, values))


@router.post("/train")
@needs(Permission.RUNS_SUBMIT)
def train_form(platform: ThePlatform, caller: TheCaller, values: Sent) -> Response:
    """Start what was filled in, or only say what would run; what is wrong stands beside its field."""
    form = see_form(platform, values)
    if values.get("do") != "start":
        return _page(dry_run(platform, caller, form))
    form, runs = start(platform, caller, form, key=values.get("key", ""))
    if not runs:
        return _page(form)
    there = f"/runs/{quote(runs[0].run_id, safe='')}" if len(runs) == 1 else "/runs"
    return RedirectResponse(there, HTTPStatus.SEE_OTHER)


def _page(form: TrainForm) -> Response:
    # A form that is sent twice, by a double click or a reload, starts its runs once.
    made = html("train.html", form=form, key=form.values.get("key") or secrets.token_hex(8))
    made.status_code = HTTPStatus.BAD_REQUEST if form.has_faults and form.values.get("do") else HTTPStatus.OK
    return made
