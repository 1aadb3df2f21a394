"""Watching runs until they end: a bar with step, speed and time left for each."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from mosaic.cli import render
from mosaic.cli.options import AsJson, connect
from mosaic.client import Mosaic, Run, Summary
from mosaic.errors import MosaicError
from mosaic.lifecycle import RunState

#: What workers call the length of their training; the bar ends there.
_LENGTH_KEYS = ("total_steps", "total_timesteps", "running_steps", "num_steps")
_LOOK_S = 0.5

#: Exit code of ``--follow`` by how the runs ended.
EXIT_FAILED = 10
EXIT_CANCELLED = 11


def follow(
    runs: Annotated[list[str], typer.Argument(help="Run ids, or the first characters of them.")],
    as_json: AsJson = False,
) -> None:
    """Watch runs until they end. Exit code 0: all succeeded; 10: one failed; 11: one was cancelled."""
    with connect() as platform:
        whole = [platform.run(name).run.run_id for name in runs]
        exit_code = follow_runs(platform, whole, quiet=as_json)
        if as_json:
            render.document([platform.run(run_id).run for run_id in whole])
        raise typer.Exit(exit_code)


def follow_runs(platform: Mosaic, run_ids: Sequence[str], *, quiet: bool) -> int:
    """Watch *run_ids* until all have ended, and return the exit code."""
    watch = _Watch(platform, run_ids)
    watch.start()
    if quiet:
        watch.done.wait()
    else:
        _show(platform, watch)
    if watch.fault is not None:
        raise watch.fault
    states = {run.state for run in watch.runs.values()}
    if RunState.FAILED in states:
        return EXIT_FAILED
    return EXIT_CANCELLED if RunState.CANCELLED in states else 0


class _Watch:
    """Keeps the newest state of the runs, in a thread of its own."""

    def __init__(self, platform: Mosaic, run_ids: Sequence[str]) -> None:
        self.runs: dict[str, Run] = {}
        self.done = threading.Event()
        self.fault: MosaicError | None = None
        self._platform = platform
        self._run_ids = list(run_ids)
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _watch(self) -> None:
        try:
            for run in self._platform.watch(self._run_ids):
                self.runs[run.run_id] = run
                ended = [known for known in self.runs.values() if known.has_ended]
                if len(ended) == len(self._run_ids):
                    break
        except MosaicError as error:
            self.fault = error
        self.done.set()


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
    with Progress(*columns, console=render.out, refresh_per_second=4, transient=False) as progress:
        finished = False
        while not finished:
            # One more look after the end, so that the last numbers are the final ones.
            finished = watch.done.wait(_LOOK_S)
            numbers = platform.summaries(list(watch.runs))
            for run in list(watch.runs.values()):
                _update(progress, tasks, run, numbers)
    _conclude(platform, watch.runs, render.out)


def _update(progress: Progress, tasks: dict[str, TaskID], run: Run, numbers: Mapping[str, Summary]) -> None:
    length = next((run.config[key] for key in _LENGTH_KEYS if isinstance(run.config.get(key), int)), None)
    if run.run_id not in tasks:
        seed = f" seed {run.seed}" if run.seed is not None else ""
        label = f"{run.run_id[-8:]} {run.worker}{seed}"
        tasks[run.run_id] = progress.add_task("", total=length, label=label, state="", speed="", score="")
    summary = numbers.get(run.run_id)
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


def _conclude(platform: Mosaic, runs: Mapping[str, Run], console: Console) -> None:
    for run in runs.values():
        if run.reason:
            console.print(f"run {run.run_id} {render.state(run)}: {escape(run.reason)}", soft_wrap=True)
        if run.state is RunState.FAILED:
            console.print(f"  see `mosaic logs {run.run_id}` and `mosaic show {run.run_id}`")
        if run.state is RunState.SUCCEEDED:
            console.print(f"  curve: mosaic metrics {run.run_id}   manifest: mosaic manifest {run.run_id}")
