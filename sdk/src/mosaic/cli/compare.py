"""The verb that compares settings over seeds."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mosaic.cli import render
from mosaic.cli.options import AsJson, connect, read_count, read_pairs, runs_named
from mosaic.cli.plot import Line, plot
from mosaic.errors import BadInput

if TYPE_CHECKING:
    from mosaic.client import Mosaic, Run
    from mosaic.comparison import Arm, Comparison
    from mosaic.statistics import Estimate

#: Runs that are looked through for those that were asked for.
_MOST = 100_000
_NUMBERS = ("n", "IQM")


def compare(
    runs: Annotated[list[str] | None, typer.Argument(help="Run ids, the start or end of one, or names.")] = None,
    name: Annotated[str, typer.Option(help="Also runs whose name begins so and that have every --label.")] = "",
    label: Annotated[
        list[str] | None,
        typer.Option(help="Also runs with KEY=VALUE; repeatable, all must hold."),
    ] = None,
    env: Annotated[str, typer.Option(help="Of all these only those of this environment.")] = "",
    by: Annotated[
        str, typer.Option(help="Settings that make an arm, as in algo,learning_rate; else all but the seed.")
    ] = "",
    of: Annotated[str, typer.Option(help="final, evaluation, best or auc (mean over steps of the curve).")] = "final",
    at: Annotated[str, typer.Option(help="Judge every run at this step, not at its end.")] = "",
    baseline: Annotated[
        str, typer.Option(help="Arm to compare with: its label, SETTING=VALUE or a run; else the first.")
    ] = "",
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a row for each arm as CSV.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare settings over seeds: what they come to, how sure that is, who is missing.

    The seeds of equal settings are one arm. Of each arm the interquartile mean over its seeds is shown with its 95 %
    confidence interval (stratified bootstrap), and how likely one of its runs is better than one of the baseline.
    """
    if as_csv and as_json:
        raise BadInput("compare", ["--csv and --json are two answers; ask for one"])
    step = read_count("--at", at) if at else None
    with connect() as platform:
        chosen = _chosen(platform, runs or [], name, read_pairs("--label", label or ()))
        from mosaic.comparison import compare as compared
        from mosaic.comparison import of_environment

        chosen = of_environment(platform, chosen, env) if env else chosen
        told = compared(platform, chosen, by=_names(by), of=of, at=step, baseline=baseline)
    if as_json:
        render.document(told)
    elif as_csv:
        _print_csv(told)
    else:
        _print(told)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _chosen(platform: Mosaic, names: Sequence[str], prefix: str, labels: dict[str, str]) -> list[Run]:
    """Return the runs that were named and those that fit what was asked for, the oldest first."""
    if not (names or prefix or labels):
        raise BadInput("compare", ["name runs, or choose them: mosaic compare --name PREFIX, or --label KEY=VALUE"])
    found = {run.run_id: run for run in runs_named(platform, names)}
    if prefix or labels:
        listed = platform.runs(labels=labels, limit=_MOST)
        # Numpy comes along, and takes long: whoever mistyped a run need not wait for it.
        from mosaic.comparison import of_name

        fit = of_name(listed[::-1], prefix)
        if not fit:
            asked = [*([f"--name {prefix}"] if prefix else []), *(f"--label {key}={labels[key]}" for key in labels)]
            raise BadInput("compare", [f"no run fits {' '.join(asked)}; `mosaic runs` lists them all"])
        found |= {run.run_id: run for run in fit}
    return list(found.values())


def _print(told: Comparison) -> None:
    of_agents = " of single agents" if told.returns_of == "agents" else ""
    where = f" on {told.env}" if told.env else ""
    render.out.print(f"[bold]{render.display(told.definition)}{of_agents}[/]{render.display(where)}")
    render.out.print(_table(told))
    if told.notes:
        render.out.print()
    for note in told.notes:
        render.out.print(render.display(note), soft_wrap=True)
    if any(len(arm.curve.steps) for arm in told.arms):
        render.out.print()
        render.out.print(_picture(told))


def _table(told: Comparison) -> Any:
    from rich.table import Table

    rows = [_row(arm, told) for arm in told.arms]
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for title in rows[0]:
        if any(row[title] for row in rows):
            table.add_column(title, justify="right" if title in _NUMBERS else "left")
    for row in rows:
        table.add_row(*(row[str(column.header)] for column in table.columns))
    return table


def _row(arm: Arm, told: Comparison) -> dict[str, str]:
    settings = ", ".join(f"{name}={value}" for name, value in arm.settings.items())
    return {
        "arm": render.display(arm.label),
        "settings": render.display(settings) if settings != arm.label else "",
        "n": f"{arm.score.n} of {len(arm.members)}" if arm.score.n < len(arm.members) else str(arm.score.n),
        "seeds": _ranges([one.seed for one in arm.counted]),
        "IQM": render.number(arm.score.value) if arm.score.n else "none",
        "95 % CI": _interval(arm.score),
        "P(better than baseline)": _better(arm.better) if len(told.arms) > 1 else "",
    }


def _better(told: Estimate | None) -> str:
    if told is None:
        return "baseline"
    if not math.isfinite(told.value):
        return "unknown"
    return f"{told.value:.2f}" + ("" if told.low is None else f" ({told.low:.2f} to {told.high:.2f})")


def _interval(told: Estimate) -> str:
    if told.low is None or told.high is None:
        return ""
    return f"{render.number(told.low)} to {render.number(told.high)}"


def _ranges(seeds: Sequence[int | None]) -> str:
    """Return seeds as ``1..5, 9``."""
    parts: list[list[int]] = []
    for seed in sorted(one for one in seeds if one is not None):
        if parts and seed - parts[-1][-1] <= 1:
            parts[-1].append(seed)
        else:
            parts.append([seed])
    return ", ".join(f"{part[0]}..{part[-1]}" if part[0] != part[-1] else str(part[0]) for part in parts)


def _picture(told: Comparison) -> str:
    lines = [
        Line(
            f"{arm.label} (n={int(arm.curve.n.max(initial=0))})",
            arm.curve.steps.tolist(),
            arm.curve.iqm.tolist(),
            list(zip(arm.curve.low.tolist(), arm.curve.high.tolist(), strict=True)),
        )
        for arm in told.arms
    ]
    title = "mean return of the newest 100 training episodes: IQM over seeds, dotted its 95 % CI"
    width = max(40, min(100, render.out.width - 16))
    return plot(lines, width=width, title=title, unit=told.unit.replace("_", " "))


def _print_csv(told: Comparison) -> None:
    columns = ("arm", "settings", "of", "n", "runs", "seeds", "iqm", "low", "high")
    more = ("baseline", "p_better", "p_low", "p_high", "left_out", "missing_seeds")
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*columns, *more])
    for arm in told.arms:
        settings = " ".join(f"{name}={value}" for name, value in arm.settings.items())
        seeds = " ".join(str(one.seed) for one in arm.counted)
        left_out = " ".join(one.run_id for one in arm.members if one.score is None)
        better = arm.better
        writer.writerow(
            [
                *(arm.label, settings, told.of, arm.score.n, len(arm.members), seeds),
                *(arm.score.value, arm.score.low, arm.score.high, told.baseline),
                *((better.value, better.low, better.high) if better else ("", "", "")),
                *(left_out, " ".join(map(str, arm.missing_seeds))),
            ]
        )
