"""What is printed: tables for people, JSON for machines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mosaic.cli.console import aside, display, out
from mosaic.lifecycle import RunState
from mosaic.model.attempt import RunDetail
from mosaic.model.run import Explanation, Run
from mosaic.worker.plain import plain

if TYPE_CHECKING:
    from mosaic.cli.plan import WorkerPlan
    from mosaic.client import Attempt, Evaluation, Summary

__all__ = ["aside", "display", "out"]


#: Colour of each state; the rest is plain.
STYLES: Mapping[RunState, str] = {
    RunState.QUEUED: "yellow",
    RunState.ADMITTED: "cyan",
    RunState.RUNNING: "bold cyan",
    RunState.PAUSED: "magenta",
    RunState.STOPPING: "magenta",
    RunState.SUCCEEDED: "green",
    RunState.FAILED: "bold red",
    RunState.CANCELLED: "dim",
}


def document(value: Any) -> None:
    """Print *value* as one JSON document; numbers that JSON has no word for are text, such as ``"NaN"``."""
    from mosaic.client.written import written

    print(json.dumps(plain(written(value)), indent=2, allow_nan=False))


def sentences(lines: Iterable[str], *, as_json: bool) -> None:
    """Print sentences, one a line."""
    if as_json:
        document(list(lines))
        return
    for line in lines:
        out.print(display(line), soft_wrap=True)


def plan(asked: WorkerPlan) -> None:
    """Show what a worker would execute."""
    out.print(f"[bold]{display(asked.worker)}[/] on this machine says:")
    for text in asked.says:
        out.print(f"  {display(text)}", soft_wrap=True)


def no_plan(worker: str, launch: Iterable[str]) -> None:
    """Say why it is not shown what *worker* would execute, and how to see it."""
    command = " ".join(["python", *launch, "--config", "FILE", "--dry-run"])
    out.print(
        f"[dim]{display(worker)} is not installed on this machine, so it cannot be asked what it would execute; "
        f"where it is, `{display(command)}` shows it (here after `mosaic workers install {display(worker)}`)[/]",
        soft_wrap=True,
    )


def submitted(runs: Sequence[Run], *, as_json: bool) -> None:
    """Say what was accepted."""
    if as_json:
        document(list(runs))
        return
    for run in runs:
        seed = f"  seed {run.spec.seed}" if run.spec.seed is not None else ""
        what = f"{display(run.spec.worker)}{seed}  {state(run)}"
        out.print(f"[green]✓[/] run [bold]{run.run_id}[/]  {what}", soft_wrap=True)


def away(service: str, console: Console = aside) -> None:
    """Say that *service* went away while something of it was being followed."""
    console.print(f"{service} is away; the runs go on, and so does this when it is back", style="yellow")


def not_stored(fault: str, console: Console = aside) -> None:
    """Say that what runs say is not stored now, and why."""
    console.print(f"telemetry cannot be stored: {display(fault, console)}", style="yellow", soft_wrap=True)
    console.print("what you see is how it was before; what runs say is kept and comes later", style="yellow")


def short_id(run_id: str) -> str:
    """Return the end of a run's id: it differs between runs of the same minute, and every verb takes it."""
    return run_id[-8:]


def state(run: Run) -> str:
    """Return the state of *run* in its colour."""
    return f"[{STYLES[run.state]}]{run.state.value}[/]"


def age(moment: datetime | None) -> str:
    """Return how long ago *moment* was, in one unit."""
    return "" if moment is None else span(datetime.now(timezone.utc) - moment)


def span(length: timedelta) -> str:
    """Return *length* in its largest unit: 42s, 7m, 3h, 12d."""
    seconds = max(0, int(length.total_seconds()))
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def number(value: float | None) -> str:
    """Return a number short enough for a table."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def score(numbers: Summary) -> str:
    """Return in two words how well a run does: in training, else in its evaluation."""
    if numbers.mean_return is not None:
        return f"return {number(numbers.mean_return)}"
    return f"evaluation {number(numbers.evaluation.mean_return)}" if numbers.evaluation else ""


def _returns(numbers: Summary) -> str:
    if numbers.mean_return is None:
        return ""
    of_agents = " of single agents" if numbers.returns_of == "agents" else ""
    newest = f"of the newest {min(numbers.episodes, 100)} episodes{of_agents}"
    return f"{number(numbers.mean_return)} {newest}, best {number(numbers.best_return)}"


def _evaluation(told: Evaluation | None) -> str:
    if told is None:
        return ""
    where = f" at step {number(told.step)}" if math.isfinite(told.step) else ""
    return f"{number(told.mean_return)} over {told.episodes:,} episodes{where}"


_COLUMNS = ("run", "worker", "env", "algo", "name", "seed", "team", "state", "step", "return", "age", "reason")
_NUMBERS = frozenset({"seed", "step", "return", "age"})
#: In a narrow window these make room, down to so many letters each; ids and numbers that are cut are worth nothing.
_SHRINK = {"reason": 12, "name": 8, "env": 10, "algo": 6, "worker": 9}
#: Where that is not enough they are left out, in this order.
_LEFT_OUT = ("team", "age", "reason", "algo", "name", "seed", "worker", "env", "return", "step")
_GAP = 2


def run_table(runs: Sequence[Run], summaries: Mapping[str, Summary], *, width: int | None = None) -> Table:
    """Return the table of ``mosaic runs``: one line for each run, and no column in which nothing stands.

    In *width* characters columns are shortened or left out; None, for whoever reads a pipe, bounds nothing.
    """
    is_whole = width is None
    rows = [_run_row(run, summaries.get(run.run_id), is_whole=is_whole) for run in runs]
    kept = {title: [row[title] for row in rows] for title in _COLUMNS if any(row[title] for row in rows)}
    widths = {title: max(_cells(title), *map(_cells, cells)) for title, cells in kept.items()}
    hidden = [] if width is None else _fit(widths, width)
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, _GAP, 0, 0))
    for title, size in widths.items():
        side: Any = "right" if title in _NUMBERS else "left"
        table.add_column(title, justify=side, no_wrap=True, overflow="ellipsis", width=size)
    for cells in zip(*(kept[title] for title in widths), strict=True):
        table.add_row(*cells)
    if hidden:
        table.caption = f"no room for {', '.join(hidden)}: widen the window, or use --json"
        table.caption_justify = "left"
    return table


def _fit(widths: dict[str, int], room: int) -> list[str]:
    """Shorten and remove columns of *widths* until they fit into *room*; return those that were removed."""
    hidden: list[str] = []
    for title in ("", *(title for title in _LEFT_OUT if title in widths)):
        if title:
            hidden.append(title)
            del widths[title]
        least = {title: min(size, _SHRINK.get(title, size)) for title, size in widths.items()}
        spare = room - sum(least.values()) - _GAP * (len(widths) - 1)
        if spare >= 0:
            for title in reversed(_SHRINK):
                if title in widths:
                    widths[title] = least[title] + min(spare, widths[title] - least[title])
                    spare -= widths[title] - least[title]
            return hidden
    return hidden


def _cells(markup: str) -> int:
    return cell_len(Text.from_markup(markup).plain)


def _run_row(run: Run, numbers: Summary | None, *, is_whole: bool) -> dict[str, str]:
    reason = first_line(run.reason)
    return {
        "run": run.run_id if is_whole else short_id(run.run_id),
        "worker": display(run.spec.worker),
        "env": display(run.spec.config.get("env_id") or ""),
        "algo": display(run.spec.config.get("algo") or ""),
        "name": display(run.spec.name),
        "seed": "" if run.spec.seed is None else str(run.spec.seed),
        "team": display(run.spec.team),
        "state": state(run),
        "step": number(numbers.last_step) if numbers else "",
        "return": number(numbers.mean_return) if numbers else "",
        "age": age(run.submitted_at),
        "reason": display(reason),
    }


def first_line(text: str) -> str:
    """Return the line of a reason that says why; what follows is context."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def detail(found: RunDetail, numbers: Summary | None, directory: Path | None) -> None:
    """Print everything about one run; *directory* is where its files are, if they are on this machine."""
    run = found.run
    out.print(f"[bold]{run.run_id}[/]  {state(run)}  attempt {run.attempt}")
    facts = {
        "worker": run.spec.worker,
        "name": run.spec.name,
        "seed": run.spec.seed,
        "team / user": f"{run.spec.team} / {run.spec.user}",
        "priority": run.spec.priority.label,
        "labels": ", ".join(f"{key}={value}" for key, value in sorted(run.spec.labels.items())),
        "submitted": f"{run.submitted_at:%Y-%m-%d %H:%M:%S} UTC",
        "where": " ".join(filter(None, (run.node_id, run.agent_id, ", ".join(run.gpu_ids)))),
        "directory": directory,
        "reason": run.reason.strip(),
        "config": json.dumps(dict(run.spec.config), sort_keys=True),
        "continues": run.spec.continues,
        "config digest": run.spec.config_digest,
        "run digest": run.spec.run_digest,
    }
    if numbers is not None:
        facts["step"] = f"{number(numbers.last_step)} ({number(numbers.steps_per_s)}/s)"
        facts["episodes"] = f"{numbers.episodes:,}"
        facts["mean return"] = _returns(numbers)
        facts["evaluation"] = _evaluation(numbers.evaluation)
        facts["events"] = f"{numbers.events:,}, the last {age(numbers.last_event_at) or '?'} ago"
    for title, value in facts.items():
        if value not in (None, ""):
            first, *more = str(value).splitlines()
            out.print(f"  [dim]{title:14}[/] {display(first)}", soft_wrap=True)
            for line in more:
                out.print(f"  {'':14} {display(line)}", soft_wrap=True)
    if found.attempts:
        out.print("\n[bold]attempts[/]")
    for attempt in found.attempts:
        out.print(f"  {attempt.attempt}  {attempt.state.value:10} {display(_told_by(attempt))}", soft_wrap=True)
    if found.history:
        out.print("\n[bold]history[/]")
    for change in found.history:
        moment = f"{change.at:%H:%M:%S}" if change.at else ""
        said = f"  [dim]{display(first_line(change.detail))}[/]" if change.detail else ""
        what = f"{change.fact:15} → {change.after:10} {display(change.actor)}"
        out.print(f"  {moment}  attempt {change.attempt}  {what}{said}", soft_wrap=True)


def _told_by(attempt: Attempt) -> str:
    """Say where an attempt ran, how long, from where it went on, and how it ended."""
    facts = [f"on {attempt.agent_id}"]
    if attempt.started_at is not None:
        facts.append(f"for {span((attempt.ended_at or datetime.now(timezone.utc)) - attempt.started_at)}")
    if attempt.resumed_from:
        facts.append(f"from {attempt.resumed_from}")
    if attempt.exit_code is not None:
        facts.append(f"exit code {attempt.exit_code}")
    facts += filter(None, (attempt.failure_kind, first_line(attempt.reason)))
    return ", ".join(facts)


def explained(told: Explanation) -> None:
    """Print why a run waits."""
    for sentence in told.sentences:
        out.print(display(sentence), soft_wrap=True)
    if told.estimated_start is not None:
        out.print(f"expected to start about {told.estimated_start:%Y-%m-%d %H:%M:%S} UTC", markup=False)
    if told.assumption:
        out.print(f"[dim]{display(told.assumption)}[/]")
