"""Verbs about runs: list, show, cancel, pause, resume, retry, explain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from mosaic.cli import render
from mosaic.cli.options import AsJson, RunArgument, connect, current_user, read_pairs
from mosaic.client import Mosaic, Run
from mosaic.errors import BadInput, NotFound, Refused, Unavailable, did_you_mean
from mosaic.lifecycle import RunState

RunArguments = Annotated[list[str], typer.Argument(help="Run ids, or their first or last characters.")]


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
    _each(runs, lambda platform, run: platform.cancel(run, actor=current_user(), reason=reason), _stands, as_json)


def pause(runs: RunArguments, as_json: AsJson = False) -> None:
    """Stop running runs in place; they keep their machine."""
    _each(runs, lambda platform, run: platform.pause(run, actor=current_user()), _asked("pause"), as_json)


def resume(runs: RunArguments, as_json: AsJson = False) -> None:
    """Let paused runs go on."""
    _each(runs, lambda platform, run: platform.resume(run, actor=current_user()), _asked("go on"), as_json)


def retry(runs: RunArguments, as_json: AsJson = False) -> None:
    """Submit ended runs again, each as a new run labelled `retry_of`."""
    _each(runs, lambda platform, run: platform.retry(run, actor=current_user()), _tried_again, as_json)


def explain(run: RunArgument, as_json: AsJson = False) -> None:
    """Say why a run waits, and when it may start."""
    with connect() as platform:
        told = platform.explain(run)
    if as_json:
        render.document(told)
    else:
        render.explained(told)


def _each(names: list[str], act: Callable[[Mosaic, str], Run], say: Callable[[Run], str], as_json: bool) -> None:
    """Do *act* to every run, or to none if one of *names* names no run; tell what was done, whatever was refused."""
    done: list[Run] = []
    refused: list[str] = []
    with connect() as platform:
        run_ids = _whole_ids(platform, names)
        try:
            for run_id in run_ids:
                try:
                    done.append(act(platform, run_id))
                except Refused as error:
                    refused.append(str(error))
        finally:
            _tell(done, say, as_json)
    if refused:
        raise Refused("\n".join(refused))


def _whole_ids(platform: Mosaic, names: list[str]) -> list[str]:
    found, unknown = [], []
    for name in names:
        try:
            found.append(platform.run(name).run.run_id)
        except NotFound as error:
            unknown.append(str(error))
    if unknown:
        raise NotFound("\n".join([*unknown, *(["nothing was done to the others"] if found else [])]))
    return found


def _tell(done: list[Run], say: Callable[[Run], str], as_json: bool) -> None:
    if as_json:
        render.document(done)
        return
    for run in done:
        render.out.print(f"run [bold]{run.run_id}[/] {say(run)}", soft_wrap=True)


def _stands(run: Run) -> str:
    had_ended = run.has_ended and run.state is not RunState.CANCELLED
    return f"had ended before: it {render.state(run)}" if had_ended else f"is {render.state(run)}"


def _asked(wish: str) -> Callable[[Run], str]:
    # The agent is told at its next renewal, so how the run stands now is not yet what was asked for.
    return lambda _run: f"is asked to {wish}"


def _tried_again(run: Run) -> str:
    return f"tries {render.shown(run.labels.get('retry_of', ''))} again and is {render.state(run)}"


def _state(name: str) -> RunState:
    try:
        return RunState(name)
    except ValueError:
        known = [state.value for state in RunState]
        raise BadInput("--state", [f"{name!r} is no state{did_you_mean(name, known)} ({', '.join(known)})"]) from None
