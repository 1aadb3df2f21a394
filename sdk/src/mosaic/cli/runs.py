"""Verbs about runs: list, show, cancel, pause, resume, retry, explain."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from mosaic.cli import render
from mosaic.cli.options import AsJson, RunArgument, RunArguments, connect, read_pairs, runs_named
from mosaic.client import Mosaic, Run, Summary
from mosaic.errors import BadInput, Refused, Unavailable, did_you_mean
from mosaic.home import home_directory
from mosaic.lifecycle import RunState


def list_runs(
    state: Annotated[list[str] | None, typer.Option(help="Only runs in this state; repeatable.")] = None,
    team: Annotated[str, typer.Option(help="Only of this team.")] = "",
    user: Annotated[str, typer.Option(help="Only of this user.")] = "",
    worker: Annotated[str, typer.Option(help="Only of this worker.")] = "",
    name: Annotated[str, typer.Option(help="Only of this name.")] = "",
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
            name=name,
            labels=read_pairs("--label", label or ()),
            limit=limit,
        )
        if as_json:
            render.document(found)
        elif found:
            _print_table(platform, found)
        else:
            render.out.print(_none(state=state, team=team, user=user, worker=worker, name=name, label=label))


def _print_table(platform: Mosaic, found: list[Run]) -> None:
    numbers = _numbers(platform, found)
    width = render.out.width if render.out.is_terminal else None
    render.out.print(render.run_table(found, numbers, width=width))


def _numbers(platform: Mosaic, runs: list[Run]) -> dict[str, Summary]:
    """Return the newest numbers of *runs*; without telemetry none, as what the scheduler knows is worth showing."""
    try:
        numbers, fault = platform.summaries([run.run_id for run in runs]), platform.telemetry_fault()
    except Unavailable as error:
        render.aside.print(f"without steps and returns: {render.display(error, render.aside)}", soft_wrap=True)
        return {}
    if fault and not all(run.has_ended for run in runs):
        render.not_stored(fault)
    return numbers


def _none(**filters: str | list[str] | None) -> str:
    """Say that there is no run, or none of those that were asked for."""
    asked = [f"--{name} {value}" for name, given in filters.items() if given for value in _several(given)]
    if not asked:
        return "no runs yet; `mosaic submit reference --follow` makes one"
    return f"no run fits {render.display(' '.join(asked))}; `mosaic runs` lists them all"


def _several(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given


def show(run: RunArgument, as_json: AsJson = False) -> None:
    """Show everything about one run: where it stands, its attempts, its history."""
    with connect() as platform:
        shown = platform.run(run)
        if as_json:
            render.document(shown)
            return
        numbers = _numbers(platform, [shown.run]).get(shown.run.run_id)
        render.detail(shown, numbers, _directory_here(shown.run.run_id))


def _directory_here(run_id: str) -> Path | None:
    """Return the directory of a run that was executed on this machine, by the platform of the state directory."""
    directory = home_directory(os.environ) / "runs" / run_id
    return directory if directory.is_dir() else None


def cancel(
    runs: RunArguments,
    reason: Annotated[str, typer.Option(help="Why; it stands in the history.")] = "",
    as_json: AsJson = False,
) -> None:
    """End runs: SIGTERM, their grace, SIGKILL. Ended runs stay as they are."""
    _each(runs, lambda platform, run: platform.cancel(run, reason=reason), _stands, as_json)


def pause(runs: RunArguments, as_json: AsJson = False) -> None:
    """Stop running runs in place; they keep their machine."""
    _each(runs, Mosaic.pause, _asked("pause"), as_json)


def resume(runs: RunArguments, as_json: AsJson = False) -> None:
    """Let paused runs go on."""
    _each(runs, Mosaic.resume, _asked("go on"), as_json)


def retry(runs: RunArguments, as_json: AsJson = False) -> None:
    """Submit ended runs again, each as a new run labelled `retry_of`."""
    _each(runs, Mosaic.retry, _tried_again, as_json)


def explain(run: RunArgument, as_json: AsJson = False) -> None:
    """Say why a run waits, and when it may start."""
    with connect() as platform:
        told = platform.explain(run)
    if as_json:
        render.document(told)
    else:
        render.explained(told)


def _each(names: list[str], act: Callable[[Mosaic, str], Run], say: Callable[[Run], str], as_json: bool) -> None:
    """Do *act* to every run, or to none if one of *names* names no run; tell what was done, whatever was refused.

    A name that several runs bear means all of them, except where each would become a new run of that name.
    """
    done: list[Run] = []
    refused: list[str] = []
    with connect() as platform:
        run_ids = [run.run_id for run in runs_named(platform, names, all_of_a_name=act is not Mosaic.retry)]
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


def _tell(done: list[Run], say: Callable[[Run], str], as_json: bool) -> None:
    if as_json:
        render.document(done)
        return
    for run in done:
        render.out.print(f"run [bold]{run.run_id}[/] {say(run)}", soft_wrap=True)


def _stands(run: Run) -> str:
    had_ended = run.has_ended and run.state is not RunState.CANCELLED
    return f"had ended before: it {render.state(run)}" if had_ended else f"is {render.state(run)}"


def _asked(verb: str) -> Callable[[Run], str]:
    # The agent is told at its next renewal, so how the run stands now is not yet what was asked for.
    return lambda _run: f"is asked to {verb}"


def _tried_again(run: Run) -> str:
    return f"tries {render.display(run.spec.labels.get('retry_of', ''))} again and is {render.state(run)}"


def _state(name: str) -> RunState:
    try:
        return RunState(name)
    except ValueError:
        known = [state.value for state in RunState]
        raise BadInput("--state", [f"{name!r} is no state{did_you_mean(name, known)} ({', '.join(known)})"]) from None
