"""Watching runs until they end: a bar with step, speed and time left for each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from mosaic.cli import render
from mosaic.cli.options import AsJson, connect
from mosaic.client import Mosaic, Run, Summary
from mosaic.errors import NotFound, Unavailable
from mosaic.lifecycle import RunState

#: What workers call the length of their training; the bar ends there.
_LENGTH_KEYS = ("total_steps", "total_timesteps", "running_steps", "num_steps")
_LOOK_S = 0.5

#: Exit code of ``--follow`` by how the runs ended.
EXIT_FAILED = 10
EXIT_CANCELLED = 11


def follow(
    runs: Annotated[list[str], typer.Argument(help="Run ids, or their first or last characters.")],
    as_json: AsJson = False,
) -> None:
    """Watch runs until they end. Exit code 0: all succeeded; 10: one failed; 11: one was cancelled."""
    with connect() as platform:
        run_ids = [platform.run(name).run.run_id for name in runs]
        raise typer.Exit(follow_to_the_end(platform, run_ids, as_json=as_json))


def follow_to_the_end(platform: Mosaic, run_ids: Sequence[str], *, as_json: bool) -> int:
    """Watch *run_ids* until all have ended, say how, and return the exit code."""
    exit_code = follow_runs(platform, run_ids, quiet=as_json)
    if as_json:
        render.document([platform.run(run_id).run for run_id in run_ids])
    return exit_code


def follow_runs(platform: Mosaic, run_ids: Sequence[str], *, quiet: bool) -> int:
    """Watch *run_ids* until all have ended, and return the exit code.

    A scheduler that goes away meanwhile is awaited: the runs go on without it.
    """
    is_live = render.out.is_terminal
    watch = _Watch(platform, run_ids, on_change=_ignore if quiet or is_live else _tell)
    watch.start()
    if not quiet and is_live:
        _show(platform, watch)
    watch.done.wait()
    if not quiet and watch.fault is None:
        _conclude(watch.runs)
    if watch.fault is not None:
        raise watch.fault
    states = {run.state for run in watch.runs.values()}
    if RunState.FAILED in states:
        return EXIT_FAILED
    return EXIT_CANCELLED if RunState.CANCELLED in states else 0


class _Watch:
    """Keeps the newest state of the runs, in a thread of its own."""

    def __init__(self, platform: Mosaic, run_ids: Sequence[str], *, on_change: Callable[[Run], None]) -> None:
        """Call *on_change* with every run whose state is news."""
        self.runs: dict[str, Run] = {}
        self.done = threading.Event()
        self.fault: Exception | None = None
        self._platform = platform
        self._on_change = on_change
        self._run_ids = list(run_ids)
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _watch(self) -> None:
        try:
            for run in self._platform.watch(self._run_ids, on_away=lambda: render.away("the scheduler")):
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
    numbers: Mapping[str, Summary] = {}
    lengths = _Lengths(platform)
    with Progress(*columns, console=render.out, refresh_per_second=4, transient=False) as progress:
        finished = False
        while not finished:
            # One more look after the end, so that the last numbers are the final ones.
            finished = watch.done.wait(_LOOK_S)
            with suppress(Unavailable):
                numbers = platform.summaries(list(watch.runs))
            for run in list(watch.runs.values()):
                _update(progress, tasks, run, numbers.get(run.run_id), lengths.of(run))


class _Lengths:
    """How many steps a run will take: as its config says, else what its worker takes where nothing is said."""

    def __init__(self, platform: Mosaic) -> None:
        self._platform = platform
        self._defaults: dict[str, Mapping[str, Any]] = {}

    def of(self, run: Run) -> int | None:
        """Return the length of *run*, or None where nobody tells it."""
        told = {**self._default(run.worker), **run.config}
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
    score = summary.mean_return if summary else None
    progress.update(
        tasks[run.run_id],
        completed=int(length if ended_well and length else step),
        total=length or (int(step) if ended_well else None),
        state=render.state(run),
        speed=f"{summary.steps_per_s:,.0f} steps/s" if summary and summary.steps_per_s else "",
        score=f"return {render.number(score)}" if score is not None else "",
    )


def _label(run: Run) -> str:
    seed = f" seed {run.seed}" if run.seed is not None else ""
    return f"{render.short_id(run.run_id)} {render.shown(run.worker)}{seed}"


def _conclude(runs: Mapping[str, Run]) -> None:
    for run in runs.values():
        if run.reason:
            render.out.print(f"run {run.run_id} {render.state(run)}: {render.shown(run.reason)}", soft_wrap=True)
    failed = [render.short_id(run.run_id) for run in runs.values() if run.state is RunState.FAILED]
    done = [render.short_id(run.run_id) for run in runs.values() if run.state is RunState.SUCCEEDED]
    if failed:
        render.out.print(f"why: mosaic logs {failed[0]}   mosaic show {failed[0]}", soft_wrap=True)
    if done:
        render.out.print(f"see: mosaic metrics {' '.join(done)}   mosaic manifest {done[0]}", soft_wrap=True)
