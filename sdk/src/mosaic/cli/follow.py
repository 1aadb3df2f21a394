"""Watching runs until they end: a bar with step, speed and time left for each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import typer

from mosaic.cli import render
from mosaic.cli.options import AsJson, RunArguments, connect, runs_named
from mosaic.client import Mosaic, Run, Summary
from mosaic.errors import NotFound, Unavailable
from mosaic.lifecycle import RunState

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

#: What workers call the length of their training; the bar ends there.
_LENGTH_KEYS = ("total_steps", "total_timesteps", "running_steps", "num_steps")
_LOOK_S = 0.5
#: Where no bars are drawn, only news that comes seldom is looked for.
_LOOK_SELDOM_S = 2.0
#: A run that says nothing for so long is called silent; heartbeats come more often.
_SILENT_AFTER = timedelta(seconds=30)

#: Exit code of ``--follow`` by how the runs ended.
EXIT_FAILED = 10
EXIT_CANCELLED = 11
#: Of whoever stops watching with Ctrl-C.
EXIT_INTERRUPTED = 130


def follow(
    runs: RunArguments,
    as_json: AsJson = False,
) -> None:
    """Watch runs until they end. Exit code 0: all succeeded; 10: one failed; 11: one was cancelled."""
    with connect() as platform:
        run_ids = [run.run_id for run in runs_named(platform, runs)]
        raise typer.Exit(follow_to_the_end(platform, run_ids, as_json=as_json))


def follow_to_the_end(platform: Mosaic, run_ids: Sequence[str], *, as_json: bool) -> int:
    """Watch *run_ids* until all have ended, say how, and return the exit code."""
    with goes_on(run_ids):
        exit_code = follow_runs(platform, run_ids, quiet=as_json)
    if as_json:
        render.document([platform.run(run_id).run for run_id in run_ids])
    return exit_code


@contextmanager
def goes_on(run_ids: Sequence[str], *, watch: str = "mosaic follow") -> Iterator[None]:
    """Say to who stops watching with Ctrl-C that the runs go on, how to *watch* them again, and how to end them."""
    try:
        yield
    except KeyboardInterrupt:
        names = " ".join(map(render.short_id, run_ids))
        subject = f"run {names} goes on" if len(run_ids) == 1 else f"{len(run_ids)} runs go on"
        hint = f"`{watch} {names}` watches again, `mosaic cancel {names}` ends {'it' if len(run_ids) == 1 else 'them'}"
        render.aside.print(f"\n{subject} without you: {hint}", soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None


def follow_runs(platform: Mosaic, run_ids: Sequence[str], *, quiet: bool, hints: bool = True) -> int:
    """Watch *run_ids* until all have ended, and return the exit code; *hints* say what to type next.

    A scheduler that goes away meanwhile is awaited: the runs go on without it.
    """
    has_bars = render.out.is_terminal and not quiet
    watch = _Watch(platform, run_ids, on_change=_ignore if quiet or has_bars else _tell, has_bars=has_bars)
    watch.start()
    try:
        if has_bars:
            _show(platform, watch)
        else:
            silences = _Silences(platform, render.aside)
            while not watch.done.wait(_LOOK_SELDOM_S):
                with suppress(Unavailable):
                    silences.look(dict(watch.runs))
    finally:
        watch.mute()
    if not quiet and watch.fault is None:
        _conclude(watch.runs, hints=hints)
    if watch.fault is not None:
        raise watch.fault
    states = {run.state for run in watch.runs.values()}
    if RunState.FAILED in states:
        return EXIT_FAILED
    return EXIT_CANCELLED if RunState.CANCELLED in states else 0


class _Watch:
    """Keeps the newest state of the runs, in a thread of its own."""

    def __init__(
        self, platform: Mosaic, run_ids: Sequence[str], *, on_change: Callable[[Run], None], has_bars: bool
    ) -> None:
        """Call *on_change* with every run whose state is news."""
        self.runs: dict[str, Run] = {}
        self.done = threading.Event()
        self.fault: Exception | None = None
        self._platform = platform
        self._on_change = on_change
        # What draws bars must print everything else as well, or a line falls onto a bar.
        self._console = render.out if has_bars else render.aside
        self._run_ids = list(run_ids)
        self._is_muted = False
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def mute(self) -> None:
        """Say nothing more: nobody watches, and the connection that closes next is no scheduler that went away."""
        self._is_muted = True

    def _on_away(self) -> None:
        if not self._is_muted:
            render.away("the scheduler", self._console)

    def _watch(self) -> None:
        try:
            for run in self._platform.watch(self._run_ids, on_away=self._on_away):
                before = self.runs.get(run.run_id)
                self.runs[run.run_id] = run
                if before is None or before.state is not run.state:
                    self._on_change(run)
                ended = [known for known in self.runs.values() if known.has_ended]
                if len(ended) == len(self._run_ids):
                    break
        except Exception as error:
            # Whoever waits for the end raises it where people see it.
            self.fault = error
        finally:
            self.done.set()


def _ignore(_run: Run) -> None:
    """Say nothing: a picture or a document will."""


def _tell(run: Run) -> None:
    """Say in a line how a run stands: a log has no place for bars."""
    render.out.print(f"{_label(run)} {render.state(run)}")


def _show(platform: Mosaic, watch: _Watch) -> None:
    # Only a terminal has bars, and they take long to import.
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.fields[label]}"),
        TextColumn("{task.fields[state]}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[score]}"),
    )
    tasks: dict[str, TaskID] = {}
    lengths = _Lengths(platform)
    with Progress(*columns, console=render.out, refresh_per_second=4, transient=False) as progress:
        for numbers in _looks(platform, watch):
            for run in list(watch.runs.values()):
                _update(progress, tasks, run, numbers.get(run.run_id), lengths.of(run))


def _looks(platform: Mosaic, watch: _Watch) -> Iterator[Mapping[str, Summary]]:
    """Yield the newest numbers until the runs have ended, and once more, so that the last ones are the final ones."""
    numbers: Mapping[str, Summary] = {}
    silences = _Silences(platform, render.out)
    finished = False
    while not finished:
        finished = watch.done.wait(_LOOK_S)
        with suppress(Unavailable):
            numbers = silences.look(dict(watch.runs))
        yield numbers


class _Silences:
    """Says once what keeps the numbers of runs from being new, and once that they are new again."""

    def __init__(self, platform: Mosaic, console: Console) -> None:
        self._platform = platform
        self._console = console
        self._fault = ""
        self._silent: set[str] = set()

    def look(self, runs: Mapping[str, Run]) -> Mapping[str, Summary]:
        """Return the newest numbers of *runs*."""
        numbers = self._platform.summaries(list(runs))
        self._tell_fault(self._platform.telemetry_fault())
        silent = {run_id: length for run_id in runs if (length := _silence(runs[run_id], numbers.get(run_id)))}
        for run_id in sorted(silent.keys() - self._silent):
            words = f"nothing was heard of run {run_id} for {render.span(silent[run_id])}"
            self._console.print(words, style="yellow", soft_wrap=True)
        self._silent = set(silent)
        return numbers

    def _tell_fault(self, fault: str) -> None:
        if fault and not self._fault:
            render.not_stored(fault, self._console)
        elif self._fault and not fault:
            self._console.print("telemetry is stored again", style="green")
        self._fault = fault


def _silence(run: Run, summary: Summary | None) -> timedelta | None:
    """Return for how long nothing of a run that runs was stored, be it since its start, if that is long."""
    heard_at = (summary.last_event_at if summary else None) or run.started_at
    if run.state is not RunState.RUNNING or heard_at is None:
        return None
    length = datetime.now(timezone.utc) - heard_at
    return length if length > _SILENT_AFTER else None


class _Lengths:
    """How many steps a run will take: as its config says, else what its worker takes where nothing is said."""

    def __init__(self, platform: Mosaic) -> None:
        self._platform = platform
        self._defaults: dict[str, Mapping[str, Any]] = {}

    def of(self, run: Run) -> int | None:
        """Return the length of *run*, or None where nobody tells it."""
        told = {**self._default(run.spec.worker), **run.spec.config}
        return next((told[key] for key in _LENGTH_KEYS if isinstance(told.get(key), int)), None)

    def _default(self, worker: str) -> Mapping[str, Any]:
        if worker not in self._defaults:
            self._defaults[worker] = self._ask(worker)
        return self._defaults[worker]

    def _ask(self, worker: str) -> Mapping[str, Any]:
        try:
            known = self._platform.worker(worker).config_schema.get("properties", {})
        except (NotFound, Unavailable):
            return {}  # a bar without an end is better than none
        return {name: setting.get("default") for name, setting in known.items()}


def _update(
    progress: Progress, tasks: dict[str, TaskID], run: Run, summary: Summary | None, length: int | None
) -> None:
    if run.run_id not in tasks:
        tasks[run.run_id] = progress.add_task("", total=length, label=_label(run), state="", speed="", score="")
    step = summary.last_step if summary else 0
    ended_well = run.state is RunState.SUCCEEDED
    progress.update(
        tasks[run.run_id],
        completed=int(length if ended_well and length else step),
        total=length or (int(step) if ended_well else None),
        state=render.state(run),
        speed=_pace(run, summary),
        score=render.score(summary) if summary else "",
    )


def _pace(run: Run, summary: Summary | None) -> str:
    """Say how fast a run goes, or for how long nothing of it was heard: its last speed would be a lie then."""
    silence = _silence(run, summary)
    if silence is not None:
        return f"[yellow]silent for {render.span(silence)}[/]"
    return f"{summary.steps_per_s:,.0f} steps/s" if summary and summary.steps_per_s else ""


def _label(run: Run) -> str:
    seed = f" seed {run.spec.seed}" if run.spec.seed is not None else ""
    return f"{render.short_id(run.run_id)} {render.display(run.spec.worker)}{seed}"


def _conclude(runs: Mapping[str, Run], *, hints: bool) -> None:
    for run in runs.values():
        if run.reason:
            why = render.display(render.first_line(run.reason))
            render.out.print(f"run {run.run_id} {render.state(run)}: {why}", soft_wrap=True)
    if hints:
        _say_what_is_next(runs)


def _say_what_is_next(runs: Mapping[str, Run]) -> None:
    failed = [render.short_id(run.run_id) for run in runs.values() if run.state is RunState.FAILED]
    done = [render.short_id(run.run_id) for run in runs.values() if run.state is RunState.SUCCEEDED]
    if failed:
        render.out.print(f"why: mosaic logs {failed[0]}   mosaic show {failed[0]}", soft_wrap=True)
    if done:
        render.out.print(f"see: mosaic metrics {' '.join(done)}   mosaic manifest {done[0]}", soft_wrap=True)
