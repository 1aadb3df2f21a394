"""Comparison: the page, its picture, its rows, and the same by REST; every view is an address."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Response

from mosaic.comparison import MEASURES
from mosaic.errors import BadInput
from mosaic.hosting.access import needs
from mosaic.model.identity import Permission
from mosaic_console.domain.chart import HEX
from mosaic_console.domain.problem import faults_of
from mosaic_console.entrypoints.answers import answer
from mosaic_console.entrypoints.looks import html, page
from mosaic_console.entrypoints.parts import ThePlatform
from mosaic_console.handlers.comparing import Asked, as_csv, compared, pictures

router = APIRouter()

#: What a picture that leaves the page is drawn with; on the page tokens of the style are.
_PAPER = {"ink": "#1b1f24", "soft": "#5b6470", "line": "#dfe3e8", "paper": "#ffffff", "arms": HEX}
_TOKENS = {
    "ink": "var(--ink)",
    "soft": "var(--soft)",
    "line": "var(--line)",
    "paper": "none",
    "arms": tuple(f"var(--arm-{number})" for number in range(len(HEX))),
}


def _asked(
    run: Annotated[list[str] | None, Query(description="A run; repeatable.")] = None,
    name: Annotated[str, Query(description="Also runs whose name begins so and that have every label.")] = "",
    label: Annotated[list[str] | None, Query(description="Also runs with KEY=VALUE; repeatable.")] = None,
    env: Annotated[str, Query(description="Of all these only those of this environment.")] = "",
    by: Annotated[str, Query(description="Settings that make an arm, with commas; else all but the seed.")] = "",
    of: Annotated[str, Query(description="final, evaluation, best or auc.")] = "final",
    at: Annotated[str, Query(description="Judge every run at this step.")] = "",
    baseline: Annotated[str, Query(description="Arm to compare with.")] = "",
    begin: Annotated[str, Query(alias="from", description="First step of the learning curves.")] = "",
    end: Annotated[str, Query(alias="to", description="Last step of the learning curves.")] = "",
) -> Asked:
    """Return what is asked; a form sends its empty fields, too."""
    return Asked(
        runs=[each for each in run or () if each],
        name=name,
        labels=[each for each in label or () if each],
        env=env,
        by=by,
        of=of,
        at=_number("at", at),
        baseline=baseline,
        begin=_number("from", begin),
        end=_number("to", end),
    )


TheAsked = Annotated[Asked, Depends(_asked)]


@router.get("/api/v1/compare", response_model=dict[str, Any], tags=["results"])
@needs(Permission.RUNS_READ)
def compare_runs(platform: ThePlatform, asked: TheAsked, form: Literal["json", "csv"] = "json") -> Response:
    """Compare settings over seeds: interquartile mean, 95 % interval, chance of improvement, curves, who is missing."""
    told = compared(platform, asked)
    if form == "csv":
        headers = {"Cache-Control": "no-store", "Content-Disposition": 'attachment; filename="compare.csv"'}
        return Response(as_csv(told), headers=headers, media_type="text/csv")
    return answer(told)


@router.get("/compare", include_in_schema=False)
@needs(Permission.RUNS_READ)
def compare_page(platform: ThePlatform, asked: TheAsked, traces: bool = False, log_y: bool = False) -> Response:
    """Show a comparison, or how to choose one."""
    told, faults = None, list[str]()
    try:
        told = compared(platform, asked) if asked.names_any else None
    except BadInput as error:
        faults = list(faults_of(error))
    drawn = pictures(told, log_y=log_y, with_traces=traces) if told else None
    made = html(
        "compare.html",
        asked=asked,
        told=told,
        drawn=drawn,
        faults=faults,
        measures=MEASURES,
        traces=traces,
        log_y=log_y,
        theme=_TOKENS,
        query=_query(asked, traces=traces, log_y=log_y),
        whole=_query(asked, whole=True, traces=traces, log_y=log_y),
    )
    made.status_code = HTTPStatus.BAD_REQUEST if faults else HTTPStatus.OK
    return made


@router.get("/compare.svg", include_in_schema=False)
@needs(Permission.RUNS_READ)
def compare_picture(platform: ThePlatform, asked: TheAsked, traces: bool = False, log_y: bool = False) -> Response:
    """Return the learning curves as a picture for a paper."""
    told = compared(platform, asked)
    chart = pictures(told, log_y=log_y, with_traces=traces).curves
    return Response(
        page("chart.svg", chart=chart, theme=_PAPER, told=told),
        headers={"Cache-Control": "no-store", "Content-Disposition": 'inline; filename="compare.svg"'},
        media_type="image/svg+xml",
    )


def _number(name: str, text: str) -> float | None:
    try:
        return float(text.replace("_", "").replace(",", "")) if text.strip() else None
    except ValueError:
        raise BadInput("compare", [f"{name} is {text!r}, not a number of steps"]) from None


def _query(asked: Asked, *, whole: bool = False, **flags: bool) -> str:
    """Return the address of a view without what is as by default."""
    pairs: list[tuple[str, Any]] = [("run", run) for run in asked.runs] + [("label", label) for label in asked.labels]
    pairs += [(key, getattr(asked, key)) for key in ("name", "env", "by", "at", "baseline")]
    pairs += [("of", asked.of if asked.of != "final" else "")]
    pairs += [] if whole else [("from", asked.begin), ("to", asked.end)]
    pairs += [(key, "1") for key, flag in flags.items() if flag]
    return urlencode([(key, value) for key, value in pairs if value not in (None, "")])
