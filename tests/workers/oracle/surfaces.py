"""Every place that shows numbers of a run. Each function returns what it shows, by the names of `Expected.numbers`."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.parquet

from mosaic.client import Curve, Mosaic
from tests.stack.embedded import Machine
from tests.workers.conftest import InstalledWorker
from tests.workers.oracle.expected import AGENT, EVALUATION, TRAINING, Episode

Numbers = Mapping[str, Any]

#: The curves that follow from the formula.
CURVES = ("episode_return_mean", "eval/mean_return")
#: What each row of a table of episodes says.
_ROW = ("kind", "attempt", "index", "episode_return", "length", "step", "agent")


@dataclass(frozen=True)
class Sight:
    """A run that has ended, and from where it is looked at."""

    machine: Machine
    mosaic: Mosaic
    run_id: str
    #: Where it was exported to, in every format.
    exports: Path

    def typed(self, *words: str) -> str:
        """Return what ``mosaic WORDS`` printed."""
        typed = self.machine.type(*words)
        assert 0 == typed.exit_code, typed.errors
        return typed.output

    def document(self, *words: str) -> Any:
        """Return what ``mosaic WORDS --json`` printed."""
        return json.loads(self.typed(*words, "--json"))

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """What ``mosaic manifest`` prints."""
        found: Mapping[str, Any] = self.document("manifest", self.run_id)
        return found

    @property
    def run_dir(self) -> Path:
        """Where the worker left its files."""
        return self.machine.runs_root / self.run_id


def printed(value: float | None) -> str:
    """Return a number as the tables print it: four digits, or whole with commas."""
    return "" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


# What a person types.


def follow(sight: Sight) -> Numbers:
    """Return what the last line of ``mosaic follow`` says; only a terminal gets it."""
    drawn = re.findall(r" return (\S+)", _in_terminal(sight.machine, "follow", sight.run_id))
    return {"mean_return": drawn[-1]}


def runs(sight: Sight) -> Numbers:
    """Return the row of ``mosaic runs``."""
    head, *rows = sight.typed("runs").splitlines()
    row = next(row for row in rows if sight.run_id[-8:] in row)
    # Right-aligned: a number ends where its title does.
    ends = {title: head.index(title) + len(title) for title in ("step", "return")}
    last = {title: row[:end].split()[-1] for title, end in ends.items()}
    return {"last_step": last["step"], "mean_return": last["return"]}


def show(sight: Sight) -> Numbers:
    """Return what ``mosaic show`` says."""
    lines = dict(re.findall(r"^  (\S[\w /]*?)  +(\S.*)$", sight.typed("show", sight.run_id), re.MULTILINE))
    mean = re.fullmatch(r"(\S+) of the newest (\d+) episodes, best (\S+)", lines["mean return"])
    assert mean, lines["mean return"]
    evaluation = re.fullmatch(r"(\S+) over (\S+) episodes at step (\S+)", lines.get("evaluation", ""))
    assert evaluation or "evaluation" not in lines, lines["evaluation"]
    return {
        "last_step": lines["step"].partition(" ")[0],
        "episodes": lines["episodes"],
        "mean_return": mean[1],
        "best_return": mean[3],
        "evaluation.mean_return": evaluation[1] if evaluation else "",
        "evaluation.episodes": evaluation[2] if evaluation else "0",
        "evaluation.step": evaluation[3] if evaluation else "",
    }


def picture(sight: Sight) -> Numbers:
    """Return what the title and the axes of the picture of ``mosaic metrics`` say."""
    lines = sight.typed("metrics", sight.run_id).splitlines()
    marks = [line.partition("┤")[0].strip() for line in lines if "┤" in line]
    first_step, last_step, *_unit = lines[-2].split()
    return {"title": lines[0].strip(), "y": (marks[-1], marks[0]), "x": (first_step, last_step)}


def metrics_list(sight: Sight) -> Numbers:
    """Return what ``mosaic metrics --list`` says of the curves that are known."""
    pattern = r"^  (\S+)  ([\d,]+) points, last (\S+) at step (\S+)$"
    rows = re.findall(pattern, sight.typed("metrics", sight.run_id, "--list"), re.MULTILINE)
    return {name: [tuple(row[1:]) for row in rows if row[0] == name] for name in CURVES}


# What a program reads.


def summary(sight: Sight) -> Numbers:
    """Return what `Mosaic.summaries` says."""
    found = sight.mosaic.summaries([sight.run_id])[sight.run_id]
    return {
        "episodes": found.episodes,
        "mean_return": found.mean_return,
        "best_return": found.best_return,
        "last_step": found.last_step,
        **{f"evaluation.{name}": value for name, value in _evaluation(found.evaluation).items()},
    }


def episodes(sight: Sight) -> dict[str, list[Episode]]:
    """Return what `Mosaic.episodes` returns of each kind."""
    kinds = (TRAINING, EVALUATION, AGENT)
    found = {kind: sight.mosaic.episodes(sight.run_id, kind=kind) for kind in kinds}
    return {kind: [_episode(asdict(one)) for one in told] for kind, told in found.items()}


def curves(sight: Sight) -> dict[str, list[tuple[float, float]]]:
    """Return what `Mosaic.curve` returns of the curves that are known."""
    known = {info.name for info in sight.mosaic.series(sight.run_id)}
    found = {name: sight.mosaic.curve(sight.run_id, name, resolution=0) for name in CURVES if name in known}
    return {name: _pairs(found.get(name)) for name in CURVES}


def metrics_json(sight: Sight) -> dict[str, list[tuple[float, float]]]:
    """Return the curves of ``mosaic metrics --json``, that of the episodes first."""
    known = {info.name for info in sight.mosaic.series(sight.run_id)}
    names = [word for name in CURVES if name in known for word in ("--name", name)]
    told = sight.document("metrics", sight.run_id)[sight.run_id]
    told |= sight.document("metrics", sight.run_id, *names)[sight.run_id]
    return {name: list(zip(*told.get(name, ([], []))[:2], strict=True)) for name in ("episode_return", *CURVES)}


def metrics_list_json(sight: Sight) -> dict[str, list[Numbers]]:
    """Return what ``mosaic metrics --list --json`` says of the curves that are known."""
    rows = sight.document("metrics", sight.run_id, "--list")[sight.run_id]
    kept = ("count", "last_step", "last_value", "min_value", "max_value")
    return {name: [{key: row[key] for key in kept} for row in rows if row["name"] == name] for name in CURVES}


def manifest_numbers(sight: Sight) -> Numbers:
    """Return what the manifest says of episodes, and what the worker said at its end."""
    told, result = sight.manifest["episodes"], sight.manifest["result"]
    return {
        **{name: told[name] for name in ("mean_return", "last_return", "best_return", "best_step")},
        "episodes": told["count"],
        "total_reward": result["total_reward"],
        "last_step": result["steps"],
        **{f"evaluation.{name}": value for name, value in _evaluation(told["evaluation"]).items()},
        **{f"evaluation.{name}": result.get("evaluation", {}).get(name) for name in ("max_return", "min_return")},
    }


# What is on the disk.

#: Prints the scalars of all event files in a folder, the oldest first; read by TensorBoard itself.
_READ_EVENT_FILES = """
import collections, json, sys
from pathlib import Path
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.util.tensor_util import make_ndarray
scalars = collections.defaultdict(list)
for path in sorted(Path(sys.argv[1]).rglob("events.out.tfevents.*")):
    for event in EventFileLoader(str(path)).Load():
        for value in event.summary.value:
            if value.metadata.plugin_data.plugin_name == "scalars":
                scalars[value.tag].append((event.step, float(make_ndarray(value.tensor))))
print(json.dumps(scalars))
"""


def tensorboard(sight: Sight, reader: InstalledWorker) -> dict[str, list[tuple[float, float]]]:
    """Return the scalars that the library wrote for TensorBoard; *reader* is a worker that has TensorBoard."""
    told = reader.answer(_READ_EVENT_FILES, str(sight.run_dir / "tensorboard"))
    return {tag: [tuple(point) for point in points] for tag, points in told.items()}


def exported_episodes(sight: Sight, form: str) -> dict[str, list[Episode]]:
    """Return the episodes of an export, by kind."""
    rows = [_episode(row) for row in _rows(sight, form, "episodes")]
    return {kind: [row for row in rows if row.kind == kind] for kind in (TRAINING, EVALUATION, AGENT)}


def exported_curves(sight: Sight, form: str) -> dict[str, list[tuple[float, float]]]:
    """Return the points of an export."""
    rows = list(_rows(sight, form, "metrics"))
    return {name: [(float(row["step"]), float(row["value"])) for row in rows if row["name"] == name] for name in CURVES}


def evaluation_file(sight: Sight) -> list[Mapping[str, Any]]:
    """Return the episodes of the newest evaluation."""
    rows: list[Mapping[str, Any]] = json.loads((sight.run_dir / "evaluation.json").read_text())["episodes"]
    return rows


def _evaluation(told: Any) -> Numbers:
    """Return what is said of evaluations, which is nothing where there was none."""
    said = asdict(told) if is_dataclass(told) else told
    return said or {"count": 0, "episodes": 0, "mean_return": None, "step": None}


def _episode(row: Mapping[str, Any]) -> Episode:
    """Return a row of a table of episodes, whose cells may be text."""
    kinds: Mapping[str, Callable[[Any], Any]] = {"kind": str, "agent": str, "episode_return": float, "step": float}
    return Episode(**{name: kinds.get(name, int)(row[name]) for name in _ROW})


def _rows(sight: Sight, form: str, table: str) -> Iterator[Mapping[str, Any]]:
    path = sight.exports / f"{table}.{form}"
    if form == "parquet":
        rows: Sequence[Mapping[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
    elif form == "csv":
        rows = list(csv.DictReader(path.read_text().splitlines()))
    else:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    return iter(rows)


def _pairs(curve: Curve | None) -> list[tuple[float, float]]:
    return [] if curve is None else list(zip(curve.steps, curve.means, strict=True))


def _in_terminal(machine: Machine, *words: str) -> str:
    """Return what ``mosaic WORDS`` draws in a terminal."""
    ours, theirs = pty.openpty()
    typed = machine.begin(*words, terminal=theirs)
    os.close(theirs)
    drawn = b""
    while part := _read(ours):
        drawn += part
    os.close(ours)
    assert 0 == typed.wait(timeout=60)
    return drawn.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""  # whoever held the other end has gone
