"""Seeded episodes without learning, told the same way by every worker: each one, what they come to, one file."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mosaic.worker.emitter import TelemetryEmitter
from mosaic.worker.statistics import ReturnSummary, summarise_returns

#: Rows and summary of an evaluation, in the run directory.
EVALUATION_FILE = "evaluation.json"

#: Takes figures by name, and where the run stands.
Listener = Callable[[Mapping[str, float], int], None]


def evaluation_seeds(seed: int, count: int) -> list[int]:
    """Return the seeds of *count* evaluation episodes; they follow from the run's *seed* and no training draws them.

    The same for every library and every evaluation of a run, so that policies are compared on the same episodes.
    """
    digests = (hashlib.sha256(f"evaluation {seed} {number}".encode()).digest() for number in range(count))
    return [int.from_bytes(digest[:4], "big") >> 1 for digest in digests]


@dataclass
class EvaluationSchedule:
    """When to evaluate during training: whenever *every* more steps are behind it. Checkpoints keep `done_at`."""

    #: Steps between two evaluations; 0 = never.
    every: int
    #: The step of the last evaluation.
    done_at: int = 0

    @property
    def due_at(self) -> float:
        """The next multiple of `every`."""
        return (self.done_at // self.every + 1) * self.every if self.every else math.inf

    def is_due(self, step: int) -> bool:
        """Tell whether *step* has passed the next multiple of `every`."""
        return step >= self.due_at


@dataclass(frozen=True)
class PlayedEpisode:
    """One episode of an evaluation."""

    seed: int
    episode_return: float
    length: int
    #: How it ended, where the library says so.
    terminated: bool | None = None
    truncated: bool | None = None
    #: Return of each agent, where there are several.
    agents: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return what is known of the episode as JSON values."""
        return {name: value for name, value in asdict(self).items() if value is not None and value != {}}


def tell_evaluation(
    episodes: Iterable[PlayedEpisode], emitter: TelemetryEmitter, step: int, also_tell: Listener, *, seed: int = 0
) -> dict[str, Any]:
    """Tell of each of *episodes* once it is played, then of all together; return their rows and summary.

    The fleet hears the mean, because it keeps the whole summary with the run; *also_tell* hears every figure.
    The confidence intervals follow from *seed*.
    """
    rows = []
    for index, played in enumerate(episodes):
        told = played.to_dict()
        ends = {name: told.get(name) for name in ("terminated", "truncated", "seed")}
        emitter.episode(index, played.episode_return, played.length, step=step, evaluation=True, **ends)
        rows.append(told)
    summary = summarise_returns([row["episode_return"] for row in rows], seed=seed)
    emitter.metric("eval/mean_return", summary.mean_return, step)
    also_tell(figures_of(summary), step)
    return {**summary.to_dict(), "episodes": rows}


def figures_of(summary: ReturnSummary) -> dict[str, float]:
    """Return each figure of *summary* that can be plotted, by the name of its curve."""
    told = asdict(summary)
    figures = {f"eval/{name}": told[name] for name in told if name.endswith("_return")}
    for name in ("mean_ci", "iqm_ci"):
        figures[f"eval/{name}_low"], figures[f"eval/{name}_high"] = told[name]
    figures["eval/episodes"] = float(summary.count)
    return {name: value for name, value in figures.items() if math.isfinite(value)}


def write_evaluation(result: Mapping[str, Any], emitter: TelemetryEmitter, run_dir: Path) -> dict[str, Any]:
    """Keep what `tell_evaluation` returned in *run_dir*, tell of the file, and return the summary without the rows."""
    content = (json.dumps(result, indent=2) + "\n").encode()
    (run_dir / EVALUATION_FILE).write_bytes(content)
    emitter.artifact(EVALUATION_FILE, "evaluation", hashlib.sha256(content).hexdigest(), size_bytes=len(content))
    return {name: value for name, value in result.items() if name != "episodes"}
