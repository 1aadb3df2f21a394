"""Verbs about runs: list, show, cancel, pause, resume, retry, explain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from mosaic.cli import render
from mosaic.cli.options import AsJson, RunArgument, connect, current_user, read_pairs
from mosaic.client import Mosaic, Run
from mosaic.errors import BadInput, Unavailable, did_you_mean
from mosaic.lifecycle import RunState

RunArguments = Annotated[list[str], typer.Argument(help="Run ids, or the first characters of them.")]


def list_runs(
    state: Annotated[list[str] | None, typer.Option(help="Only runs in this state; repeatable.")] = None,
    team: Annotated[str, typer.Option(help="Only of this team.")] = "",
    user: Annotated[str, typer.Option(help="Only of this user.")] = "",
    worker: Annotated[str, typer.Option(help="Only of this worker.")] = "",
    label: Annotated[list[str] | None, typer.Option(help="Only with KEY=VALUE; repeatable.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, newest first.")] = 30,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first."""
    states = [_state(name) for name in state or ()]
    with connect() as platform:
        found = platform.runs(
            states=states,
            team=team,
            user=user,
            worker=worker,
            labels=read_pairs("--label", label or ()),
            limit=limit,
        )
        if as_json:
            render.document(found)
        elif not found:
            render.out.print("no runs yet; `mosaic submit reference --follow` makes one")
        else:
            numbers = platform.summaries([run.run_id for run in found])
            render.out.print(render.run_table(found, numbers))


def show(run: RunArgument, as_json: AsJson = False) -> None:
    """Show everything about one run: where it stands, its attempts, its history."""
    with connect() as platform:
        shown = platform.run(run)
        if as_json:
            render.document(shown)
            return
        try:
            numbers = platform.summaries([shown.run.run_id]).get(shown.run.run_id)
        except Unavailable:
            numbers = None  # what the scheduler knows is worth showing without telemetry
        render.detail(shown, numbers)


def cancel(
    runs: RunArguments,
    reason: Annotated[str, typer.Option(help="Why; it stands in the history.")] = "",
    as_json: AsJson = False,
) -> None:
    """End runs: SIGTERM, their grace, SIGKILL. Ended runs stay as they are."""
    _each(runs, lambda platform, run: platform.cancel(run, actor=current_user(), reason=reason), as_json)


def pause(runs: RunArguments, as_json: AsJson = False) -> None:
    """Stop running runs in place; they keep their machine."""
    _each(runs, lambda platform, run: platform.pause(run, actor=current_user()), as_json)


def resume(runs: RunArguments, as_json: AsJson = False) -> None:
    """Let paused runs go on."""
    _each(runs, lambda platform, run: platform.resume(run, actor=current_user()), as_json)


def retry(runs: RunArguments, as_json: AsJson = False) -> None:
    """Submit ended runs again, each as a new run labelled `retry_of`."""
    _each(runs, lambda platform, run: platform.retry(run, actor=current_user()), as_json)


def explain(run: RunArgument, as_json: AsJson = False) -> None:
    """Say why a run waits, and when it may start."""
    with connect() as platform:
        told = platform.explain(run)
    if as_json:
        render.document(told)
    else:
        render.explained(told)


def _each(names: list[str], act: Callable[[Mosaic, str], Run], as_json: bool) -> None:
    with connect() as platform:
        done = [act(platform, name) for name in names]
    if as_json:
        render.document(done)
        return
    for run in done:
        render.out.print(f"run [bold]{run.run_id}[/] is {render.state(run)}")


def _state(name: str) -> RunState:
    try:
        return RunState(name)
    except ValueError:
        known = [state.value for state in RunState]
        raise BadInput("--state", [f"{name!r} is no state{did_you_mean(name, known)} ({', '.join(known)})"]) from None
