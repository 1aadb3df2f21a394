"""``/api/v1/runs``: list, show, submit, watch, and what is done to a run."""

from __future__ import annotations

import hashlib
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Body, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, TypeAdapter

from mosaic.client import Run, RunSpec
from mosaic.hosting.access import needs
from mosaic.model.identity import Permission
from mosaic.model.run import Priority
from mosaic_console.adapters.as_json import dumps
from mosaic_console.domain.wanted import read_wanted
from mosaic_console.entrypoints.answers import answer
from mosaic_console.entrypoints.parts import RunName, TheCaller, TheCredential, TheParts, ThePlatform
from mosaic_console.entrypoints.streams import Streams, Welcome
from mosaic_console.handlers.commands import Command, command
from mosaic_console.handlers.submission import KEYS, predict, submit

router = APIRouter(prefix="/api/v1", tags=["runs"])

_LARGEST_PAGE = 1000


class Reason(BaseModel):
    """Why, for the history."""

    reason: str = ""


class Watch(BaseModel):
    """Which runs, and for how long."""

    #: Whole ids, or what names one run each; none = every run.
    runs: list[str] = []
    #: Seconds after which the stream ends; null = when the reader leaves.
    within_s: float | None = None


def _submission_schema() -> dict[str, Any]:
    """Return what a body may say: the fields of a `RunSpec`, times in seconds, and seeds."""
    schema = TypeAdapter(RunSpec).json_schema(ref_template="#/components/schemas/{model}")
    known = schema["properties"] | {
        "resources": {"type": "object", "description": "cpus, memory_mb, gpus, gpu_fraction, gpu_memory_mb"},
        "priority": {"type": "string", "enum": [priority.label for priority in Priority], "default": "normal"},
        "user": {"type": "string", "description": "Nobody but whom the credential stands for."},
        "max_wall_s": {"type": "number", "description": "Seconds after which an attempt is ended."},
        "hang_limit_s": {"type": "number", "description": "Seconds of silence after which an attempt is ended."},
        "seeds": {"type": "array", "items": {"type": "integer"}, "description": "One run for each."},
    }
    body = {"type": "object", "properties": {key: known[key] for key in KEYS}, "additionalProperties": False}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": body}}}}


@router.get("/runs", response_model=dict[str, Any])
@needs(Permission.RUNS_READ)
def list_runs(
    platform: ThePlatform,
    state: Annotated[list[str] | None, Query(description="Only in this state; repeatable.")] = None,
    team: str = "",
    user: str = "",
    worker: str = "",
    name: str = "",
    label: Annotated[list[str] | None, Query(description="Only with KEY=VALUE; repeatable.")] = None,
    after: Annotated[str, Query(description="`next` of the page before.")] = "",
    limit: Annotated[int, Query(ge=1, le=_LARGEST_PAGE)] = 100,
) -> Response:
    """List runs, newest first, in pages."""
    wanted = read_wanted(states=state or (), team=team, user=user, worker=worker, name=name, labels=label or ())
    return answer(platform.page(wanted, after=after, size=limit))


@router.post(
    "/runs", status_code=HTTPStatus.CREATED, response_model=list[dict[str, Any]], openapi_extra=_submission_schema()
)
@needs(Permission.RUNS_SUBMIT)
def submit_runs(
    platform: ThePlatform,
    caller: TheCaller,
    body: Annotated[dict[str, Any], Body()],
    dry_run: Annotated[bool, Query(description="Only say what would happen: 200 with `prediction`.")] = False,
    idempotency_key: Annotated[
        str, Header(description="The same key again returns the same runs. Other than ASCII is percent-encoded.")
    ] = "",
) -> Response:
    """Submit, and return one run for each seed; every fault of a submission is listed at once."""
    key = unquote(idempotency_key)
    if dry_run:
        return answer({"prediction": predict(platform, caller, body, key=key)})
    return answer(submit(platform, caller, body, key=key), HTTPStatus.CREATED)


@router.post("/watch", response_class=StreamingResponse)
@needs(Permission.RUNS_READ)
async def watch_runs(
    request: Request,
    parts: TheParts,
    platform: ThePlatform,
    caller: TheCaller,
    credential: TheCredential,
    body: Watch,
) -> Response:
    """Stream the runs as they stand, then each again after every change, one JSON object a line; empty lines are none.

    A last line with `problem` says why a stream ended. It is asked for by POST, as a list of runs may be longer than
    an address.
    """
    streams: Streams = request.app.state.streams
    welcome = Welcome(parts.identity, credential, caller)
    return await streams.answer(platform.watch(body.runs), _line, welcome, within_s=body.within_s)


@router.get("/runs/{run_id}", response_model=dict[str, Any])
@needs(Permission.RUNS_READ)
def show_run(platform: ThePlatform, run_id: RunName, if_none_match: Annotated[str, Header()] = "") -> Response:
    """Return a run with its attempts and its history."""
    return tagged(dumps(platform.run(run_id)), if_none_match)


@router.get("/runs/{run_id}/explain", response_model=dict[str, Any])
@needs(Permission.RUNS_READ)
def explain_run(platform: ThePlatform, run_id: RunName) -> Response:
    """Say why a run waits, and when it may start."""
    return answer(platform.explain(run_id))


@router.post("/runs/{run_id}/{wish}", response_model=dict[str, Any])
@needs(Permission.RUNS_CHANGE)
def command_run(
    platform: ThePlatform, run_id: RunName, wish: Command, body: Annotated[Reason | None, Body()] = None
) -> Response:
    """Cancel, pause, resume or retry a run; a retry returns the new run."""
    return answer(command(platform, run_id, wish, reason=body.reason if body else ""))


def tagged(content: str, seen: str) -> Response:
    """Return JSON under a tag; who has *seen* that already gets no more than its name."""
    tag = f'"{hashlib.sha256(content.encode()).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if tag in (each.strip().removeprefix("W/") for each in seen.split(",")):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(content, headers=headers, media_type="application/json")


def _line(run: Run) -> str:
    return dumps(run) + "\n"
