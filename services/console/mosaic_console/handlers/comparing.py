"""Which runs somebody wants to compare, and what they come to."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from mosaic.client import Episodes, Manifest, Run, Summary
from mosaic.comparison import Arm, Comparison, compare, of_environment, of_name
from mosaic.errors import BadInput
from mosaic.model.run import RunFilter
from mosaic_console.domain.chart import Chart, Curve, draw
from mosaic_console.domain.wanted import LARGEST_PAGE, read_wanted
from mosaic_console.ports import Platform

#: Runs that fit into one comparison; of more the newest.
MOST_RUNS = 1000


@dataclass(frozen=True)
class Asked:
    """A comparison as the address of its page has it."""

    runs: Sequence[str] = ()
    name: str = ""
    labels: Sequence[str] = ()
    env: str = ""
    by: str = ""
    of: str = "final"
    at: float | None = None
    baseline: str = ""
    begin: float | None = None
    end: float | None = None

    @property
    def names_any(self) -> bool:
        """Whether it says which runs."""
        return bool(self.runs or self.name or self.labels)


@dataclass(frozen=True)
class Pictures:
    """The charts of a comparison."""

    curves: Chart
    #: The same for a narrow window.
    small: Chart
    profile: Chart
    #: Of each arm: where its interval begins and ends and where its score is, in hundredths of the line; None = none.
    intervals: Sequence[tuple[float, float, float] | None] = field(default=())


@dataclass(frozen=True)
class _Source:
    """The platform as a comparison asks it: nobody waits before a page for a manifest that is not written yet."""

    platform: Platform

    def summaries(self, run_ids: Collection[str]) -> dict[str, Summary]:
        return self.platform.summaries(run_ids)

    def episodes(self, run_id: str, *, kind: str = "training") -> Episodes:
        return self.platform.episodes(run_id, kind=kind)

    def manifest(self, run_id: str, *, within_s: float = 0.0) -> Manifest:
        return self.platform.manifest(run_id)


def compared(platform: Platform, asked: Asked) -> Comparison:
    """Return what was *asked*.

    Raises:
        BadInput: no run was named, none fits, or they cannot be compared; it says why.
    """
    runs, source = _chosen(platform, asked), _Source(platform)
    runs = of_environment(source, runs, asked.env) if asked.env else runs
    between = (-math.inf if asked.begin is None else asked.begin, math.inf if asked.end is None else asked.end)
    names = [name.strip() for name in asked.by.split(",") if name.strip()]
    return compare(source, runs, by=names, of=asked.of, at=asked.at, baseline=asked.baseline, between=between)


def pictures(told: Comparison, *, log_y: bool = False, with_traces: bool = False) -> Pictures:
    """Return *told* as charts."""
    curves = [_curve(arm) for arm in told.arms]
    return Pictures(
        draw(curves, log_y=log_y, with_traces=with_traces),
        draw(curves, width=400, height=260, log_y=log_y, with_traces=with_traces),
        draw([_profile(arm) for arm in told.arms], width=460, height=240),
        list(_intervals(told)),
    )


def as_csv(told: Comparison) -> str:
    """Return a row for each step of each arm's curve, so that anybody can draw it again."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["arm", "step", "iqm", "low", "high", "n", *["score", "score_low", "score_high", "score_n"]])
    for arm in told.arms:
        score = [arm.score.value, arm.score.low, arm.score.high, arm.score.n]
        band = (arm.curve.steps, arm.curve.iqm, arm.curve.low, arm.curve.high, arm.curve.n)
        for row in zip(*(column.tolist() for column in band), strict=True):
            writer.writerow([_plain(arm.label), *row, *score])
    return text.getvalue()


def _plain(label: str) -> str:
    """Return *label* so that no spreadsheet takes it for a formula."""
    return f"'{label}" if label[:1] in ("=", "+", "-", "@") else label


def _chosen(platform: Platform, asked: Asked) -> list[Run]:
    if not asked.names_any:
        raise BadInput("compare", ["name runs, or choose them by name or label"])
    found = {run.run_id: run for run in (platform.run(name).run for name in asked.runs)}
    if asked.name or asked.labels:
        fit = of_name(_listed(platform, read_wanted(labels=asked.labels))[::-1], asked.name)
        if not fit:
            raise BadInput("compare", ["no run has this name and these labels"])
        found |= {run.run_id: run for run in fit}
    return list(found.values())


def _listed(platform: Platform, wanted: RunFilter) -> list[Run]:
    found: list[Run] = []
    after: str | None = ""
    while after is not None and len(found) < MOST_RUNS:
        page = platform.page(wanted, after=after, size=LARGEST_PAGE)
        found += page.runs
        after = page.next
    return found


def _curve(arm: Arm) -> Curve:
    band = arm.curve
    columns = (band.steps.tolist(), band.iqm.tolist(), band.low.tolist(), band.high.tolist())
    return Curve(arm.label, *columns, traces=arm.traces.tolist())


def _profile(arm: Arm) -> Curve:
    profile = arm.profile
    nothing = [math.nan] * len(profile.thresholds)
    low = nothing if profile.low is None else profile.low.tolist()
    high = nothing if profile.high is None else profile.high.tolist()
    return Curve(arm.label, profile.thresholds.tolist(), profile.shares.tolist(), low, high)


def _intervals(told: Comparison) -> Iterator[tuple[float, float, float] | None]:
    ends = [end for arm in told.arms for end in (arm.score.value, arm.score.low, arm.score.high) if end is not None]
    ends = [end for end in ends if math.isfinite(end)]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    across = (high - low) or 1.0

    def share(value: float) -> float:
        return round(4 + 92 * (value - low) / across, 1)

    for arm in told.arms:
        score = arm.score
        if not math.isfinite(score.value):
            yield None
            continue
        first = score.value if score.low is None else score.low
        last = score.value if score.high is None else score.high
        yield share(first), share(last), share(score.value)
