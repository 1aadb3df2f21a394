"""Verbs about what runs said: logs, metrics, events, manifests, exports."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer
from rich.live import Live
from rich.text import Text

from mosaic.cli import render
from mosaic.cli.options import AsJson, AttemptOption, RunArgument, connect
from mosaic.cli.plot import Line, plot
from mosaic.client import Mosaic, Run, write_jsonl, write_parquet
from mosaic.errors import BadInput, NotFound, did_you_mean
from mosaic.worker.plain import to_json

#: Curves shown when none is named: the first that the runs have.
_FAVOURITES = ("episode_return", "charts/episodic_return", "return", "total_reward")
#: The curve that is made from episodes, whatever metrics a worker sends.
_EPISODES = "episode_return"
_REFRESH_S = 1.0

#: Steps, values, and the unit of the steps.
_Curve = tuple[list[float], list[float], str]

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
        for line in platform.logs(run_id, attempt=attempt, tail=tail, follow=follow, on_away=_telemetry_away):
            if as_json:
                print(to_json(line), flush=True)
            else:
                moment = f"{datetime.fromtimestamp(line.time, timezone.utc):%H:%M:%S}"
                render.out.print(
                    f"[dim]{moment} {render.shown(line.stream):6}[/] {render.shown(line.text)}", soft_wrap=True
                )


def metrics(
    runs: Annotated[list[str], typer.Argument(help="Runs to draw into one picture.")],
    name: Annotated[list[str] | None, typer.Option("--name", "-n", help="Curve to draw; repeatable.")] = None,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Again every second until the runs end.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="Only list the curves there are.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw curves of one or several runs in the terminal."""
    with connect() as platform:
        details = {run_id: platform.run(run_id).run for run_id in runs}
        run_ids = [run.run_id for run in details.values()]
        if listing:
            _list_series(platform, run_ids, as_json)
            return
        if watch:
            _tell_awaited(platform, details.values(), name or [])
        if as_json and watch:
            for may_come in _looks(platform, run_ids):
                print(to_json(_curves(platform, run_ids, name, may_come=may_come)), flush=True)
        elif as_json:
            render.document(_curves(platform, run_ids, name))
        elif watch:
            with Live(console=render.out, auto_refresh=False) as live:
                for may_come in _looks(platform, run_ids):
                    drawn = picture(platform, run_ids, name, may_come=may_come)
                    live.update(Text.from_markup(drawn), refresh=True)
        else:
            render.out.print(picture(platform, run_ids, name))


def _curves(
    platform: Mosaic, run_ids: list[str], names: list[str] | None, *, may_come: bool = False
) -> dict[str, dict[str, _Curve]]:
    chosen = names or [_favourite(platform, run_ids)]
    return {run_id: {name: _line(platform, run_id, name, may_come=may_come) for name in chosen} for run_id in run_ids}


def _tell_awaited(platform: Mosaic, runs: Iterable[Run], names: Sequence[str]) -> None:
    """Say which of the named curves are waited for: a name that is misspelt would be until the run ends."""
    for run in runs:
        known = {info.name for info in platform.series(run.run_id)} | {_EPISODES}
        for name in names:
            if name not in known and not run.has_ended:
                hint = did_you_mean(name, known)
                waited = f"run {run.run_id} has no curve {name!r} yet{hint}; waiting for it"
                render.aside.print(render.shown(waited), style="yellow")


def _looks(platform: Mosaic, run_ids: list[str]) -> Iterator[bool]:
    """Yield whenever it is time to look again, for the last time after all runs have ended; tell whether more comes."""
    has_ended = False
    while not has_ended:
        has_ended = all(platform.run(run_id).run.has_ended for run_id in run_ids)
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
        for event in stream:
            if jsonl:
                print(to_json(event.as_json()), flush=follow)
            else:
                body = render.shown(event.line.decode("utf-8", "replace"))
                stamp = f"[dim]{event.attempt}.{event.seq}[/]"
                render.out.print(f"{stamp} [cyan]{render.shown(event.kind):18}[/] {body}", soft_wrap=True)


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
    run: RunArgument,
    to: Annotated[Path, typer.Option("--to", help="Directory for the files; it is made if missing.")],
    form: Annotated[str, typer.Option("--format", help="jsonl or parquet.")] = "jsonl",
    as_json: AsJson = False,
) -> None:
    """Write everything a run said into files: events, episodes and curves."""
    writers = {"jsonl": write_jsonl, "parquet": write_parquet}
    if form not in writers:
        raise BadInput("--format", [f"{form!r} is not known{did_you_mean(form, writers)} (jsonl, parquet)"])
    with connect() as platform:
        run_id = platform.run(run).run.run_id
        files = []
        for written, count in writers[form](platform, run_id, to):
            files.append({"path": str(written), "rows": count})
            if not as_json:
                render.out.print(f"[green]✓[/] {render.shown(str(written))}  {count:,} rows")
    if as_json:
        render.document(files)


def picture(platform: Mosaic, run_ids: list[str], names: list[str] | None, *, may_come: bool = False) -> str:
    """Return the named curves of the runs, or their favourite one, drawn as rich markup.

    Raises:
        NotFound: a run has no such curve; one that *may_come* is drawn without points meanwhile.

    """
    chosen = names or [_favourite(platform, run_ids)]
    return "\n\n".join(_plot_one(platform, run_ids, name, may_come=may_come) for name in chosen)


def _plot_one(platform: Mosaic, run_ids: list[str], name: str, *, may_come: bool) -> str:
    lines, unit = [], ""
    for run_id in run_ids:
        xs, ys, unit = _line(platform, run_id, name, may_come=may_come)
        lines.append(Line(render.short_id(run_id) if len(run_ids) > 1 else name, xs, ys))
    width = max(40, min(100, render.out.width - 16))
    return plot(lines, width=width, title=name, unit=unit.replace("_", " "))


def _line(platform: Mosaic, run_id: str, name: str, *, may_come: bool = False) -> _Curve:
    known = {info.name for info in platform.series(run_id)}
    if name in known:
        curve = platform.curve(run_id, name, resolution=400)
        return list(curve.steps), list(curve.means), curve.unit
    if name == _EPISODES:
        told = platform.episodes(run_id)
        # Those of single agents and of evaluations belong to other curves; some runs tell of nothing else.
        episodes = [episode for episode in told if not episode.agent] or told
        has_steps = any(episode.step for episode in episodes)
        xs = [episode.step if has_steps else float(episode.index) for episode in episodes]
        ys = [episode.episode_return for episode in episodes]
        return xs, _smoothed(ys), "env_steps" if has_steps else "episodes"
    if may_come:
        return [], [], ""
    hint = did_you_mean(name, known | {_EPISODES})
    raise NotFound(f"run {run_id} has no curve {name!r}{hint} (`mosaic metrics {run_id} --list`)")


def _telemetry_away() -> None:
    render.away("telemetry")


def _smoothed(values: list[float], window: int = 20) -> list[float]:
    """Return the mean over the last *window* values: single returns hide the trend."""
    total, means = 0.0, []
    for index, value in enumerate(values):
        total += value - (values[index - window] if index >= window else 0.0)
        means.append(total / min(index + 1, window))
    return means


def _favourite(platform: Mosaic, run_ids: list[str]) -> str:
    known = {info.name for run_id in run_ids for info in platform.series(run_id)}
    return next((name for name in _FAVOURITES if name in known), _EPISODES)


def _list_series(platform: Mosaic, run_ids: list[str], as_json: bool) -> None:
    found = {run_id: platform.series(run_id) for run_id in run_ids}
    if as_json:
        render.document(found)
        return
    for run_id, infos in found.items():
        render.out.print(f"[bold]{run_id}[/]")
        for info in infos:
            name = f"{info.name} ({info.agent})" if info.agent else info.name
            last = f"last {render.number(info.last_value)} at step {render.number(info.last_step)}"
            render.out.print(f"  {render.shown(name)}  {info.count:,} points, {last}")
