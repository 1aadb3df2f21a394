"""What is printed: tables for people, JSON for machines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mosaic.cli.plan import WorkerPlan
from mosaic.client import Attempt, Explanation, Run, RunDetail, Summary
from mosaic.lifecycle import RunState
from mosaic.worker.plain import plain


class _Out(Console):
    def on_broken_pipe(self) -> None:
        # Whoever runs the command decides what a reader's leaving means; rich would call it a failure.
        raise BrokenPipeError


out = _Out(highlight=False)
#: For what is said beside the answer, so that a pipe gets the answer alone.
aside = Console(stderr=True, highlight=False)

#: What colours text, and does no more.
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
#: What a terminal obeys. Tabs and line ends are harmless; carriage returns never get past rich.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

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


def shown(text: object, console: Console = out) -> str:
    """Return what a user or a worker wrote for use in markup.

    Nothing in it is taken for markup. On a terminal nothing in it reaches further than its letters: colours are left
    out, and every other control character is spelt.
    """
    plain_text = str(text)
    if console.is_terminal:
        plain_text = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", _COLOUR.sub("", plain_text))
    return escape(plain_text)


def document(value: Any) -> None:
    """Print *value* as one JSON document; numbers that JSON has no word for are text, such as ``"NaN"``."""
    print(json.dumps(plain(value), indent=2, allow_nan=False))


def sentences(lines: Iterable[str], *, as_json: bool) -> None:
    """Print sentences, one a line."""
    if as_json:
        document(list(lines))
        return
    for line in lines:
        out.print(shown(line), soft_wrap=True)


def plan(asked: WorkerPlan) -> None:
    """Show what a worker would execute."""
    out.print(f"[bold]{shown(asked.worker)}[/] on this machine says:")
    for text in asked.says:
        out.print(f"  {shown(text)}", soft_wrap=True)


def no_plan(worker: str, launch: Iterable[str]) -> None:
    """Say why it is not shown what *worker* would execute, and how to see it."""
    command = " ".join(["python", *launch, "--config", "FILE", "--dry-run"])
    out.print(
        f"[dim]{shown(worker)} is not installed on this machine, so it cannot be asked what it would execute; "
        f"where it is, `{shown(command)}` shows it (here after `mosaic workers install {shown(worker)}`)[/]",
        soft_wrap=True,
    )


def submitted(runs: Sequence[Run], *, as_json: bool) -> None:
    """Say what was accepted."""
    if as_json:
        document(list(runs))
        return
    for run in runs:
        seed = f"  seed {run.seed}" if run.seed is not None else ""
        out.print(f"[green]✓[/] run [bold]{run.run_id}[/]  {shown(run.worker)}{seed}  {state(run)}")


def away(service: str) -> None:
    """Say that *service* went away while something of it was being followed."""
    aside.print(f"{service} is away; the runs go on, and so does this when it is back", style="yellow")


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


_COLUMNS = ("run", "worker", "name", "seed", "team", "state", "step", "return", "age", "reason")
_NUMBERS = frozenset({"seed", "step", "return", "age"})


def run_table(runs: Sequence[Run], summaries: Mapping[str, Summary]) -> Table:
    """Return the table of ``mosaic runs``; columns in which nothing stands are left out."""
    rows = [_run_row(run, summaries.get(run.run_id)) for run in runs]
    kept = [index for index, _ in enumerate(_COLUMNS) if any(row[index] for row in rows)]
    table = Table(box=None, header_style="bold", pad_edge=False)
    for index in kept:
        title = _COLUMNS[index]
        # Words make room in a narrow window; ids and numbers that are cut are worth nothing.
        is_words = title in ("name", "reason")
        table.add_column(title, justify="right" if title in _NUMBERS else "left", no_wrap=not is_words, overflow="fold")
    for row in rows:
        table.add_row(*(row[index] for index in kept))
    return table


def _run_row(run: Run, numbers: Summary | None) -> tuple[str, ...]:
    return (
        short_id(run.run_id),
        shown(run.worker),
        shown(run.name),
        "" if run.seed is None else str(run.seed),
        shown(run.team),
        state(run),
        number(numbers.last_step) if numbers else "",
        number(numbers.mean_return) if numbers else "",
        age(run.submitted_at),
        shown(_shortened(run.reason)),
    )


def _shortened(text: str, limit: int = 60) -> str:
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line if len(line) <= limit else line[: limit - 1] + "…"


def detail(found: RunDetail, numbers: Summary | None) -> None:
    """Print everything about one run."""
    run = found.run
    out.print(f"[bold]{run.run_id}[/]  {state(run)}  attempt {run.attempt}")
    facts = {
        "worker": run.worker,
        "name": run.name,
        "seed": run.seed,
        "team / user": f"{run.team} / {run.user}",
        "priority": run.priority,
        "submitted": f"{run.submitted_at:%Y-%m-%d %H:%M:%S} UTC",
        "where": " ".join(filter(None, (run.node_id, run.agent_id, ", ".join(run.gpu_ids)))),
        "reason": run.reason,
        "config": json.dumps(dict(run.config), sort_keys=True),
        "config digest": run.config_digest,
    }
    if numbers is not None:
        facts["step"] = f"{number(numbers.last_step)} ({number(numbers.steps_per_s)}/s)"
        facts["episodes"] = f"{numbers.episodes:,}"
        facts["mean return"] = number(numbers.mean_return)
        facts["events"] = f"{numbers.events:,}"
    for title, value in facts.items():
        if value not in (None, ""):
            out.print(f"  [dim]{title:14}[/] {shown(value)}", soft_wrap=True)
    if found.attempts:
        out.print("\n[bold]attempts[/]")
    for attempt in found.attempts:
        out.print(f"  {attempt.attempt}  {attempt.state.value:10} {shown(_told_by(attempt))}", soft_wrap=True)
    if found.history:
        out.print("\n[bold]history[/]")
    for change in found.history:
        moment = f"{change.at:%H:%M:%S}" if change.at else ""
        said = f"  [dim]{shown(_shortened(change.detail, 90))}[/]" if change.detail else ""
        what = f"{change.fact:15} → {change.after:10} {shown(change.actor)}"
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
    facts += filter(None, (attempt.failure_kind, _shortened(attempt.reason, 120)))
    return ", ".join(facts)


def explained(told: Explanation) -> None:
    """Print why a run waits."""
    for sentence in told.sentences:
        out.print(shown(sentence), soft_wrap=True)
    if told.estimated_start is not None:
        out.print(f"expected to start about {told.estimated_start:%Y-%m-%d %H:%M:%S} UTC", markup=False)
    if told.assumption:
        out.print(f"[dim]{shown(told.assumption)}[/]")
