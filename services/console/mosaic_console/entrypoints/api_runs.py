"""``/api/v1/runs``: list, show, submit, and what is done to a run."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Query, Response
from pydantic import BaseModel, TypeAdapter

from mosaic.client import RunSpec
from mosaic.model.run import Priority
from mosaic_console.domain.access import Permission
from mosaic_console.domain.wanted import LARGEST_PAGE, read_wanted
from mosaic_console.entrypoints.answers import answer
from mosaic_console.entrypoints.needs import needs
from mosaic_console.entrypoints.parts import TheCaller, ThePlatform
from mosaic_console.handlers.commands import Command, command
from mosaic_console.handlers.submission import KEYS, predict, submit

router = APIRouter(prefix="/api/v1/runs", tags=["runs"])


class Reason(BaseModel):
    """Why, for the history."""

    reason: str = ""


def _submission_schema() -> dict[str, Any]:
    """Return what a body may say: the fields of a `RunSpec` but for the user, times in seconds, and seeds."""
    schema = TypeAdapter(RunSpec).json_schema(ref_template="#/components/schemas/{model}")
    known = schema["properties"] | {
        "resources": {"type": "object", "description": "cpus, memory_mb, gpus, gpu_fraction, gpu_memory_mb"},
        "priority": {"type": "string", "enum": [priority.label for priority in Priority], "default": "normal"},
        "max_wall_s": {"type": "number", "description": "Seconds after which an attempt is ended."},
        "hang_limit_s": {"type": "number", "description": "Seconds of silence after which an attempt is ended."},
        "seeds": {"type": "array", "items": {"type": "integer"}, "description": "One run for each."},
    }
    body = {"type": "object", "properties": {key: known[key] for key in KEYS}, "additionalProperties": False}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": body}}}}


@router.get("", response_model=dict[str, Any])
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
    limit: Annotated[int, Query(ge=1, le=LARGEST_PAGE)] = 100,
) -> Response:
    """List runs, newest first, in pages."""
    wanted = read_wanted(states=state or (), team=team, user=user, worker=worker, name=name, labels=label or ())
    return answer(platform.page(wanted, after=after, size=limit))


@router.post(
    "", status_code=HTTPStatus.CREATED, response_model=list[dict[str, Any]], openapi_extra=_submission_schema()
)
@needs(Permission.RUNS_SUBMIT)
def submit_runs(
    platform: ThePlatform,
    caller: TheCaller,
    body: Annotated[dict[str, Any], Body()],
    dry_run: Annotated[bool, Query(description="Only say what would happen: 200 with `prediction`.")] = False,
    idempotency_key: Annotated[str, Header(description="The same key again returns the same runs.")] = "",
) -> Response:
    """Submit, and return one run for each seed; every fault of a submission is listed at once."""
    if dry_run:
        return answer({"prediction": predict(platform, caller, body)})
    return answer(submit(platform, caller, body, key=idempotency_key), HTTPStatus.CREATED)


@router.get("/{run_id}", response_model=dict[str, Any])
@needs(Permission.RUNS_READ)
def show_run(platform: ThePlatform, run_id: str) -> Response:
    """Return a run with its attempts and its history; RUN is an id, the first or last characters of one, or a name."""
    return answer(platform.run(run_id))


@router.get("/{run_id}/explain", response_model=dict[str, Any])
@needs(Permission.RUNS_READ)
def explain_run(platform: ThePlatform, run_id: str) -> Response:
    """Say why a run waits, and when it may start."""
    return answer(platform.explain(run_id))


@router.post("/{run_id}/{wish}", response_model=dict[str, Any])
@needs(Permission.RUNS_CHANGE)
def command_run(
    platform: ThePlatform,
    caller: TheCaller,
    run_id: str,
    wish: Command,
    body: Annotated[Reason | None, Body()] = None,
) -> Response:
    """Cancel, pause, resume or retry a run; a retry returns the new run."""
    return answer(command(platform, caller, run_id, wish, reason=body.reason if body else ""))
