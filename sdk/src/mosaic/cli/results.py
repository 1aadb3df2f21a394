"""Verbs about what runs said: logs, metrics, events, manifests, exports."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer

from mosaic.cli import render
from mosaic.cli.curves import EPISODES, Curves, label_of
from mosaic.cli.follow import goes_on
from mosaic.cli.options import AsJson, AttemptOption, RunArgument, RunArguments, connect, runs_named
from mosaic.client import EventLine, LogLine, Mosaic, Run, write_csv, write_jsonl, write_parquet
from mosaic.errors import BadInput, did_you_mean
from mosaic.worker.plain import to_json

AllAttempts = Annotated[
    bool, typer.Option("--all-attempts", help="Each attempt by itself, with what a later one trained again.")
]

_REFRESH_S = 1.0

#: A manifest waits for the last events of its run; so does who asks for it.
_MANIFEST_WAIT_S = 45.0


def logs(
    run: RunArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run ends.")] = False,
    tail: Annotated[int, typer.Option(help="Only the newest lines; 0 = all.")] = 0,
    attempt: AttemptOption = 0,
    as_json: AsJson = False,
) -> None:
    """Print what a run wrote besides events: standard output, standard error and its log lines."""
    with connect() as platform:
        run_id = platform.run(run).run.run_id
        told = platform.logs(run_id, attempt=attempt, tail=tail, follow=follow, on_away=_telemetry_away)
        with goes_on([run_id], watch="mosaic logs -f") if follow else nullcontext():
            for line in told:
                _print_log_line(line, as_json=as_json)


def _print_log_line(line: LogLine, *, as_json: bool) -> None:
    if as_json:
        print(to_json(line), flush=True)
        return
    moment = f"{datetime.fromtimestamp(line.time, timezone.utc):%H:%M:%S}"
    render.out.print(f"[dim]{moment} {render.display(line.stream):6}[/] {render.display(line.text)}", soft_wrap=True)


def metrics(
    runs: RunArguments,
    name: Annotated[list[str] | None, typer.Option("--name", "-n", help="Curve to draw; repeatable.")] = None,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Again every second until the runs end.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="Only list the curves there are.")] = False,
    attempt: Annotated[int, typer.Option(help="All that this attempt told; 0 = what counts of each.")] = 0,
    all_attempts: AllAttempts = False,
    as_json: AsJson = False,
) -> None:
    """Draw curves of one or several runs in the terminal; `--json` gives every point as it was told."""
    with connect() as platform:
        details = runs_named(platform, runs)
        asked = Curves(platform, details, name or (), attempt, all_attempts)
        if listing:
            _list_series(platform, details, attempt, as_json)
            return
        if watch:
            _tell_awaited(asked)
        if as_json and watch:
            for may_come in _looks(platform, details):
                print(to_json(asked.document(may_come=may_come)), flush=True)
        elif as_json:
            render.document(asked.document())
        elif watch:
            from rich.live import Live
            from rich.text import Text

            with Live(console=render.out, auto_refresh=False) as live:
                for may_come in _looks(platform, details):
                    live.update(Text.from_markup(asked.picture(may_come=may_come)), refresh=True)
        else:
            render.out.print(asked.picture())


def _tell_awaited(asked: Curves) -> None:
    """Say which of the named curves are waited for: a name that is misspelt would be until the run ends."""
    for run in asked.runs:
        known = asked.known(run) | {EPISODES}
        for name in asked.names:
            if name not in known and not run.has_ended:
                hint = did_you_mean(name, known)
                waited = f"run {run.run_id} has no curve {name!r} yet{hint}; waiting for it"
                render.aside.print(render.display(waited), style="yellow")


def _looks(platform: Mosaic, runs: Sequence[Run]) -> Iterator[bool]:
    """Yield whenever it is time to look again, for the last time after all runs have ended; tell whether more comes."""
    has_ended = False
    while not has_ended:
        has_ended = all(platform.run(run.run_id).run.has_ended for run in runs)
        yield not has_ended
        if not has_ended:
            time.sleep(_REFRESH_S)


def events(
    run: RunArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run ends.")] = False,
    kind: Annotated[list[str] | None, typer.Option(help="Only events of this kind; repeatable.")] = None,
    attempt: AttemptOption = 0,
    from_seq: Annotated[int | None, typer.Option("--from", help="Start at this sequence number.")] = None,
    limit: Annotated[int, typer.Option(help="At most so many; 0 = all.")] = 0,
    jsonl: Annotated[bool, typer.Option("--jsonl", "--json", help="One JSON object a line.")] = False,
) -> None:
    """Print the events of a run in order, each stamped with attempt, sequence number and time."""
    with connect() as platform:
        run_id = platform.run(run).run.run_id
        stream = platform.events(
            run_id,
            attempt=attempt,
            from_seq=from_seq,
            kinds=kind or (),
            follow=follow,
            limit=limit,
            on_away=_telemetry_away,
        )
        with goes_on([run_id], watch="mosaic events -f") if follow else nullcontext():
            for event in stream:
                _print_event(event, jsonl=jsonl, flush=follow)


def _print_event(event: EventLine, *, jsonl: bool, flush: bool) -> None:
    if jsonl:
        print(to_json(event.as_json()), flush=flush)
        return
    body = render.display(event.line.decode("utf-8", "replace"))
    stamp = f"[dim]{event.attempt}.{event.seq}[/]"
    render.out.print(f"{stamp} [cyan]{render.display(event.kind):18}[/] {body}", soft_wrap=True)


def manifest(
    run: RunArgument,
    path: Annotated[bool, typer.Option("--path", help="Print only where the file is.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the manifest of an ended run, which is JSON with or without `--json`."""
    with connect() as platform:
        asked = platform.run(run).run
        found = platform.manifest(asked.run_id, within_s=_MANIFEST_WAIT_S if asked.has_ended else 0.0)
    if not path:
        render.document(found.content)
    elif as_json:
        render.document({"path": found.path})
    else:
        print(found.path)


def export(
    runs: Annotated[list[str], typer.Argument(help="Runs to write into the same files.")],
    to: Annotated[Path, typer.Option("--to", help="Directory for the files; it is made if missing.")],
    form: Annotated[str, typer.Option("--format", help="jsonl, csv or parquet.")] = "jsonl",
    all_attempts: AllAttempts = False,
    as_json: AsJson = False,
) -> None:
    """Write everything that runs said into files: events, episodes and curves, and the runs themselves."""
    writers = {"jsonl": write_jsonl, "csv": write_csv, "parquet": write_parquet}
    if form not in writers:
        raise BadInput("--format", [f"{form!r} is not known{did_you_mean(form, writers)} ({', '.join(writers)})"])
    with connect() as platform:
        run_ids = list(dict.fromkeys(platform.run(run).run.run_id for run in runs))
        files = []
        for written, count in writers[form](platform, run_ids, to, all_attempts=all_attempts):
            files.append({"path": str(written), "rows": count})
            if not as_json:
                render.out.print(f"[green]✓[/] {render.display(str(written))}  {count:,} rows")
    if as_json:
        render.document(files)


def _telemetry_away() -> None:
    render.away("telemetry")


def _list_series(platform: Mosaic, runs: Sequence[Run], attempt: int, as_json: bool) -> None:
    found = {run.run_id: platform.series(run.run_id, attempt=attempt) for run in runs}
    if as_json:
        render.document(found)
        return
    for run in runs:
        render.out.print(f"[bold]{run.run_id}[/]  {render.display(label_of(run))}")
        for info in found[run.run_id]:
            name = f"{info.name} ({info.agent})" if info.agent else info.name
            last = f"last {render.number(info.last_value)} at step {render.number(info.last_step)}"
            render.out.print(f"  {render.display(name)}  {info.count:,} points, {last}")
