"""A simulation as one HTML page that needs nothing but a browser."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from string import Template

from mosaic.ids import TeamName
from mosaic_simulator.comparison import OURS, Isolation, Result
from mosaic_simulator.fleet import Fleet
from mosaic_simulator.measures import Measures
from mosaic_simulator.recording import Recording
from mosaic_simulator.report.rows import (
    ISOLATION_HEADINGS,
    POLICY_HEADINGS,
    TEAM_HEADINGS,
    count,
    duration,
    percent,
    policy_row,
    team_rows,
)
from mosaic_simulator.report.svg_plots import Axis, Series, line_plot, stacked_plot
from mosaic_simulator.statistics import percentile

_CURVE_STEPS = 100
_REASONS_SHOWN = 7
_HOUR_STEPS = (0.25, 0.5, 1, 2, 3, 6, 12, 24, 48, 96)


def render_page(title: str, fleet: Fleet, results: Sequence[Result], isolations: Sequence[Isolation] = ()) -> str:
    """Return the page about *results*, of which the first is ours; equal results give an equal page."""
    ours = results[0]
    template = files("mosaic_simulator.report").joinpath("page.html").read_text(encoding="utf-8")
    return Template(template).substitute(
        title=escape(title),
        summary=escape(_summary(fleet, ours)),
        ours=escape(ours.measures.policy),
        tiles="".join(_tile(value, meaning) for value, meaning in _headlines(ours.measures)),
        policies=_table(POLICY_HEADINGS, [policy_row(result.measures) for result in results]),
        teams=_table(
            (*TEAM_HEADINGS, *(ISOLATION_HEADINGS if isolations else ())), team_rows(ours.measures, isolations)
        ),
        plots="".join(_plots(results)),
        footer=escape(_FOOTNOTE),
    )


_FOOTNOTE = (
    "Utilisation is the part of GPU time held by runs while the trace kept submitting; goodput leaves out work that "
    "had to be done again. The Jain index compares the teams' decayed shares while all of them had runs waiting: "
    "1 is equal. Starvation is the worst wait over the wait a team would have with its fair part to itself. "
    "A wait counts all time in the queue, also between attempts."
)


def _summary(fleet: Fleet, ours: Result) -> str:
    recording = ours.recording
    return (
        f"{len(recording.outcomes):,} runs of {len(ours.measures.team_waits)} teams, submitted over "
        f"{duration(recording.horizon)}, on {len(fleet.nodes):,} nodes with {fleet.gpu_count:,} GPUs. "
        f"{ours.measures.rounds:,} scheduling rounds in event time."
    )


def _headlines(measures: Measures) -> Iterable[tuple[str, str]]:
    yield percent(measures.utilisation), "of GPU time in use"
    yield "–" if measures.jain is None else f"{measures.jain:.3f}", "Jain index of decayed shares"
    yield duration(measures.waits.p95), "p95 wait of all runs"
    yield "–" if not measures.starvation else f"{measures.starvation.ratio:.1f} ×", "longest wait over fair wait"
    yield count(measures.steps_thrown_away), f"steps thrown away by {measures.preemptions:,} preemptions"


def _tile(value: str, meaning: str) -> str:
    return f'<div class="tile"><b>{escape(value)}</b><span>{escape(meaning)}</span></div>'


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(_table_row(row) for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _table_row(row: Sequence[str]) -> str:
    opening = '<tr class="ours">' if row[0] == OURS else "<tr>"
    return opening + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"


def _plots(results: Sequence[Result]) -> Iterable[str]:
    ours = results[0].recording
    end = max((result.recording.samples[-1].at for result in results if result.recording.samples), default=3600.0)
    time = Axis(0.0, end / 3600, lambda hour: f"{hour:g} h", steps=_HOUR_STEPS)
    for result in results:
        yield _use_plot(result.recording, time)
    yield _share_plot(ours, time)
    yield _queue_plot(results, time)
    yield _wait_plot(results)
    yield _reason_plot(ours, time)


def _use_plot(recording: Recording, time: Axis) -> str:
    teams = _teams(recording)
    series = [Series(team, [(s.at / 3600, s.gpus_used.get(team, 0.0)) for s in recording.samples]) for team in teams]
    top = max((sample.gpus_up for sample in recording.samples), default=1.0)
    return stacked_plot(f"GPUs in use, by team: {recording.policy}", series, time, Axis(0.0, top, _plain))


def _share_plot(recording: Recording, time: Axis) -> str:
    series = [
        Series(team, [(s.at / 3600, s.shares.get(team, 0.0)) for s in recording.samples]) for team in _teams(recording)
    ]
    top = max((y for one in series for _, y in one.points), default=1.0)
    return line_plot(
        f"Decayed share over weight, by team: {recording.policy}", series, time, Axis(0.0, top or 1.0, percent_short)
    )


def _queue_plot(results: Sequence[Result], time: Axis) -> str:
    series = [
        Series(
            result.recording.policy, [(s.at / 3600, float(sum(s.waiting.values()))) for s in result.recording.samples]
        )
        for result in results
    ]
    top = max((y for one in series for _, y in one.points), default=1.0)
    return line_plot("Runs waiting", series, time, Axis(0.0, top or 1.0, _plain))


def _wait_plot(results: Sequence[Result]) -> str:
    series = []
    for result in results:
        waits = sorted(max(outcome.waited, 1.0) for outcome in result.recording.outcomes)
        steps = [100.0 * step / _CURVE_STEPS for step in range(_CURVE_STEPS + 1)]
        series.append(Series(result.recording.policy, [(percentile(waits, step), step / 100) for step in steps]))
    longest = max(x for one in series for x, _ in one.points)
    top = 10.0 ** max(1, len(str(int(longest))))
    waited = Axis(1.0, top, duration, is_logarithmic=True)
    return line_plot("Part of the runs that waited no longer than", series, waited, Axis(0.0, 1.0, percent_short))


def _reason_plot(recording: Recording, time: Axis) -> str:
    totals: Counter[str] = Counter()
    for sample in recording.samples:
        totals.update(sample.reasons)
    codes = sorted(code for code, _ in totals.most_common(_REASONS_SHOWN))
    series = [
        Series(code.replace("_", " "), [(s.at / 3600, float(s.reasons.get(code, 0))) for s in recording.samples])
        for code in codes
    ]
    top = max((sum(s.reasons.get(code, 0) for code in codes) for s in recording.samples), default=0)
    return stacked_plot(f"Why runs wait: {recording.policy}", series, time, Axis(0.0, float(top or 1), _plain))


def _teams(recording: Recording) -> list[TeamName]:
    return sorted({outcome.run.team for outcome in recording.outcomes})


def percent_short(part: float) -> str:
    """Return *part* of one as a whole percentage."""
    return f"{100 * part:.3g} %"


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"
