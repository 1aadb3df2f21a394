"""What a run told: curves, episodes, log, events, numbers, manifest."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import StreamingResponse

from mosaic.client import Curve, Episode, LogLine, Manifest, SeriesInfo, Summary
from mosaic_console.adapters.as_json import dumps
from mosaic_console.domain.access import Permission
from mosaic_console.entrypoints.answers import answer
from mosaic_console.entrypoints.needs import needs
from mosaic_console.entrypoints.parts import ThePlatform
from mosaic_console.ports import Platform

router = APIRouter(prefix="/api/v1", tags=["results"])

#: Ids of runs fit into one request; more pages fit into more.
_MOST_RUNS = 200
_ATTEMPT = Query(ge=0, description="Only of this attempt; 0 = what counts of all.")

Attempt = Annotated[int, _ATTEMPT]


@router.get("/runs/{run_id}/series", response_model=list[SeriesInfo])
@needs(Permission.RUNS_READ)
def list_series(platform: ThePlatform, run_id: str, attempt: Attempt = 0) -> Response:
    """List the curves that can be read."""
    return answer(platform.series(_whole(platform, run_id), attempt=attempt))


@router.get("/runs/{run_id}/curves", response_model=Curve)
@needs(Permission.RUNS_READ)
def read_curve(
    platform: ThePlatform,
    run_id: str,
    name: str,
    agent: str = "",
    attempt: Attempt = 0,
    resolution: Annotated[int, Query(ge=1, le=10_000, description="Buckets at the most.")] = 1000,
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
def list_episodes(
    platform: ThePlatform,
    run_id: str,
    kind: str = "training",
    attempt: Attempt = 0,
    include_lost: bool = False,
    last: Annotated[int, Query(ge=1, le=10_000, description="Only so many, the newest.")] = 1000,
) -> Response:
    """Return episodes in order."""
    run = _whole(platform, run_id)
    return answer(platform.episodes(run, kind=kind, attempt=attempt, include_lost=include_lost, last=last))


@router.get("/runs/{run_id}/logs", response_model=list[LogLine])
@needs(Permission.RUNS_READ)
def read_logs(
    platform: ThePlatform,
    run_id: str,
    attempt: Attempt = 0,
    tail: Annotated[int, Query(ge=1, le=10_000, description="Only so many lines, the newest.")] = 200,
) -> Response:
    """Return the newest lines of the log."""
    return answer(list(platform.logs(_whole(platform, run_id), attempt=attempt, tail=tail)))


@router.get("/runs/{run_id}/events", response_class=StreamingResponse)
@needs(Permission.RUNS_READ)
def read_events(
    platform: ThePlatform,
    run_id: str,
    attempt: Attempt = 0,
    from_seq: Annotated[int | None, Query(ge=0)] = None,
    kind: Annotated[list[str] | None, Query()] = None,
    limit: Annotated[int, Query(ge=0, description="0 = all.")] = 0,
) -> StreamingResponse:
    """Stream every stored event in order, one JSON object a line."""
    lines = _events(platform, _whole(platform, run_id), attempt, from_seq, kind or [], limit)
    # What fails at once is a problem with a status; afterwards a stream can only break off.
    first = next(lines, "")
    return StreamingResponse(
        chain([first], lines), media_type="application/x-ndjson", headers={"Cache-Control": "no-store"}
    )


@router.get("/runs/{run_id}/manifest", response_model=Manifest)
@needs(Permission.RUNS_READ)
def read_manifest(platform: ThePlatform, run_id: Annotated[str, Path()]) -> Response:
    """Return the manifest of an ended run; 404 until it is written."""
    return answer(platform.manifest(_whole(platform, run_id), within_s=0.0))


@router.get("/summaries", response_model=dict[str, Summary])
@needs(Permission.RUNS_READ)
def summarise(platform: ThePlatform, run: Annotated[list[str], Query(min_length=1, max_length=_MOST_RUNS)]) -> Response:
    """Return the newest numbers of each of these runs (whole ids) that has sent anything."""
    return answer(platform.summaries(run))


def _whole(platform: Platform, run_id: str) -> str:
    """Return the whole id of the run that *run_id* names; telemetry knows no other."""
    return platform.run(run_id).run.run_id


def _events(
    platform: Platform, run_id: str, attempt: int, from_seq: int | None, kinds: list[str], limit: int
) -> Iterator[str]:
    for line in platform.events(run_id, attempt=attempt, from_seq=from_seq, kinds=kinds, limit=limit):
        yield dumps(line) + "\n"
