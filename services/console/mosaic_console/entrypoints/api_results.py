"""What a run told: curves, episodes, log, events, numbers, manifest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from mosaic.client import Curve, Episode, EventLine, LogLine, Manifest, SeriesInfo, Summary
from mosaic.client.written import written_line
from mosaic.errors import BadInput
from mosaic.hosting.access import needs
from mosaic.ids import is_run_id
from mosaic.model.identity import Permission
from mosaic_console.adapters.as_json import dumps
from mosaic_console.entrypoints.answers import answer
from mosaic_console.entrypoints.api_runs import tagged
from mosaic_console.entrypoints.needs import large
from mosaic_console.entrypoints.parts import RunName, TheCaller, TheCredential, TheParts, ThePlatform
from mosaic_console.entrypoints.streams import Streams, Welcome
from mosaic_console.ports import Platform, Position

router = APIRouter(prefix="/api/v1", tags=["results"])

#: Ids of runs fit into one request; more pages fit into more.
_MOST_RUNS = 200
_INT32, _INT64 = 2**31 - 1, 2**63 - 1
_PLACE = re.compile(r"(?:(\d{1,9})\.)?(\d{1,18})\Z", re.ASCII)

Attempt = Annotated[int, Query(ge=0, le=_INT32, description="Only of this attempt; 0 = what counts of all.")]
Follow = Annotated[bool, Query(description="Go on until the run has ended; the last line is then `finished`.")]


@router.get("/runs/{run_id}/series", response_model=list[SeriesInfo])
@needs(Permission.RUNS_READ)
def list_series(platform: ThePlatform, run_id: RunName, attempt: Attempt = 0) -> Response:
    """List the curves that can be read."""
    return answer(platform.series(_whole(platform, run_id), attempt=attempt))


@router.get("/runs/{run_id}/curves", response_model=Curve)
@needs(Permission.RUNS_READ)
@large
def read_curve(
    platform: ThePlatform,
    run_id: RunName,
    name: str,
    agent: str = "",
    attempt: Attempt = 0,
    resolution: Annotated[int, Query(ge=0, le=_INT32, description="Buckets at the most; 0 = every point.")] = 1000,
    from_step: Annotated[float | None, Query(alias="from", allow_inf_nan=False)] = None,
    to_step: Annotated[float | None, Query(alias="to", allow_inf_nan=False)] = None,
    x: Annotated[Literal["step", "time", "relative"], Query(description="Of `from`, `to` and `steps`.")] = "step",
    log_x: Annotated[bool, Query(description="Buckets of equal ratio, without what is at or below 0.")] = False,
    smoothing: Annotated[float, Query(ge=0, lt=1, description="Weight of the past in a moving average.")] = 0.0,
) -> Response:
    """Return a curve, or a stretch of it, in buckets that keep their extremes.

    Borders are multiples of a power of two, so a point is always in the same bucket and those at the ends come whole.
    """
    return answer(
        platform.curve(
            _whole(platform, run_id),
            name,
            agent=agent,
            attempt=attempt,
            resolution=resolution,
            from_step=from_step,
            to_step=to_step,
            x=x,
            log_x=log_x,
            smoothing=smoothing,
        )
    )


@router.get("/runs/{run_id}/episodes", response_model=list[Episode])
@needs(Permission.RUNS_READ)
@large
def list_episodes(
    platform: ThePlatform,
    run_id: RunName,
    kind: str = "training",
    attempt: Attempt = 0,
    include_lost: bool = False,
    last: Annotated[int, Query(ge=0, le=_INT32, description="Only so many, the newest; 0 = all.")] = 0,
) -> Response:
    """Return episodes in order."""
    run = _whole(platform, run_id)
    return answer(platform.episodes(run, kind=kind, attempt=attempt, include_lost=include_lost, last=last))


@router.get("/runs/{run_id}/logs", response_class=StreamingResponse)
@needs(Permission.RUNS_READ)
@large
async def read_logs(
    request: Request,
    parts: TheParts,
    platform: ThePlatform,
    caller: TheCaller,
    credential: TheCredential,
    run_id: RunName,
    attempt: Attempt = 0,
    tail: Annotated[int, Query(ge=0, le=_INT32, description="Only so many lines, the newest; 0 = all.")] = 0,
    after: Annotated[str, Query(description="Only what comes after ATTEMPT.SEQ.")] = "",
    follow: Follow = False,
) -> Response:
    """Stream the lines of the log, one JSON object a line; empty lines are none. `problem` in a last line says why."""
    place = _place("after", after, attempt)
    whole = await run_in_threadpool(_whole, platform, run_id)
    stream = platform.logs(whole, attempt=attempt, tail=tail, after=place, follow=follow)
    streams: Streams = request.app.state.streams
    return await streams.answer(stream, _log_lines, Welcome(parts.identity, credential, caller), says_end=follow)


@router.get("/runs/{run_id}/events", response_class=StreamingResponse)
@needs(Permission.RUNS_READ)
@large
async def read_events(
    request: Request,
    parts: TheParts,
    platform: ThePlatform,
    caller: TheCaller,
    credential: TheCredential,
    run_id: RunName,
    attempt: Attempt = 0,
    start: Annotated[str, Query(alias="from", description="Begin with ATTEMPT.SEQ, or SEQ of the attempt.")] = "",
    kind: Annotated[list[str] | None, Query()] = None,
    limit: Annotated[int, Query(ge=0, le=_INT64, description="0 = all.")] = 0,
    raw: Annotated[bool, Query(description="`line` as the worker wrote it in place of `event`.")] = False,
    follow: Follow = False,
) -> Response:
    """Stream events in order, one JSON object a line; empty lines are none. `problem` in a last line says why."""
    place = _place("from", start, attempt)
    whole = await run_in_threadpool(_whole, platform, run_id)
    stream = platform.events(whole, attempt=attempt, start=place, kinds=kind or (), follow=follow, limit=limit)
    write = _raw_lines if raw else _event_lines
    streams: Streams = request.app.state.streams
    return await streams.answer(stream, write, Welcome(parts.identity, credential, caller), says_end=follow)


@router.get("/runs/{run_id}/manifest", response_model=Manifest)
@needs(Permission.RUNS_READ)
def read_manifest(platform: ThePlatform, run_id: RunName, if_none_match: Annotated[str, Header()] = "") -> Response:
    """Return the manifest of an ended run; 404 until it is written."""
    return tagged(dumps(platform.manifest(_whole(platform, run_id))), if_none_match)


@router.get("/summaries", response_model=dict[str, Summary])
@needs(Permission.RUNS_READ)
@large
def summarise(platform: ThePlatform, run: Annotated[list[str], Query(min_length=1, max_length=_MOST_RUNS)]) -> Response:
    """Return the newest numbers of each of these runs (whole ids) that has sent anything."""
    return answer(platform.summaries(run))


@router.get("/telemetry", response_model=dict[str, str])
@needs(Permission.RUNS_READ)
def telemetry_fault(platform: ThePlatform) -> Response:
    """Say in `fault` why nothing new can be stored at the moment; nothing when it can."""
    return answer({"fault": platform.telemetry_fault()})


def _whole(platform: Platform, run_id: str) -> str:
    """Return the whole id of the run that *run_id* names; telemetry knows no other."""
    return run_id if is_run_id(run_id) else platform.run(run_id).run.run_id


def _place(name: str, text: str, attempt: int) -> Position | None:
    if not text:
        return None
    found = _PLACE.match(text)
    if found is None:
        raise BadInput("request", [f"{name}: {text!r:.60} is not ATTEMPT.SEQ, such as 1.17"])
    return int(found[1] or attempt or 1), int(found[2])


def _event_lines(lines: Sequence[EventLine]) -> str:
    return "".join(dumps(line) + "\n" for line in lines)


def _raw_lines(lines: Sequence[EventLine]) -> str:
    return "".join(dumps(written_line(line)) + "\n" for line in lines)


def _log_lines(lines: Sequence[LogLine]) -> str:
    return "".join(dumps(line) + "\n" for line in lines)
