"""Runs that begin where another ended: what they take over from it, and when that cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from mosaic.errors import BadInput, Refused
from mosaic.lifecycle import RunState, is_terminal
from mosaic.model.resources import Resources
from mosaic.model.run import Run, RunSpec
from mosaic.worker.spelling import default_of, names_of, setting_of
from mosaic_scheduler.domain.run import ResumeGrade
from mosaic_scheduler.ports import WorkerFacts

#: Labels that tell how a run itself came to be, and nothing about one that continues it.
_OWN_LABELS = ("retry_of", "retried_by")


def continuing(spec: RunSpec, before: Run, seeds: tuple[int, ...]) -> RunSpec:
    """Return *spec* with what it leaves out taken from the run *before* it.

    Raises:
        BadInput: it asks for another worker or another seed.
        Refused: the run has not ended, or left no checkpoint.
    """
    old = before.spec
    faults = []
    if spec.worker and spec.worker != old.worker:
        faults.append(f"run {before.run_id} is of worker {old.worker}; {spec.worker} cannot continue it")
    if seeds or spec.seed not in (None, old.seed):
        faults.append(f"a run keeps the seed of the one that it continues, which is {old.seed}; ask for no other")
    if faults:
        raise BadInput("run", faults)
    if not is_terminal(before.state):
        raise Refused(f"run {before.run_id} is {before.state.value}; only an ended run can be continued")
    if not before.checkpoint:
        raise Refused(f"run {before.run_id} cannot be continued: {_why_no_checkpoint(before)}")
    labels = {key: value for key, value in old.labels.items() if key not in _OWN_LABELS}
    return replace(
        spec,
        continues=before.run_id,
        worker=old.worker,
        team=spec.team or old.team,
        config={**old.config, **spec.config},
        seed=old.seed,
        name=spec.name or old.name,
        resources=_needs(spec.resources, old.resources),
        max_wall=spec.max_wall or old.max_wall,
        max_retries=old.max_retries if spec.max_retries is None else spec.max_retries,
        hang_limit=spec.hang_limit or old.hang_limit,
        labels={**labels, **spec.labels},
        secrets={**old.secrets, **spec.secrets},
        environment={**old.environment, **spec.environment},
    )


def checkpoint_of(before: Run) -> str:
    """Return where the last checkpoint of *before* is, as seen from the directory of any other run."""
    path = before.checkpoint
    is_elsewhere = PurePosixPath(path).is_absolute() or path.startswith("../")
    return path if is_elsewhere else f"../{before.run_id}/{path}"


def continuation_faults(spec: RunSpec, before: Run, worker: WorkerFacts) -> list[str]:
    """Return why *spec* would not go on where *before* ended: its worker cannot, or nothing is left to do."""
    if worker.resume_grade is ResumeGrade.RESTARTS:
        return [f"worker {worker.name} starts over from its checkpoints (resume grade C), so it continues no run"]
    if before.state is not RunState.SUCCEEDED:
        return []
    now, then = (_length(worker.config_schema, config) for config in (spec.config, before.spec.config))
    if spec.config != before.spec.config and (now is None or then is None or now > then):
        return []
    done = "all that it asks for" if then is None else f"all of its {then:g} steps"
    return [f"run {before.run_id} has trained {done}; ask for more with --steps, counted from its very beginning"]


def _length(schema: Mapping[str, Any], config: Mapping[str, Any]) -> float | None:
    setting = setting_of(schema, "steps")
    if setting is None:
        return None
    length = next((config[name] for name in names_of(setting) if name in config), default_of(schema, setting))
    return length if isinstance(length, (int, float)) else None


def _needs(asked: Resources, old: Resources) -> Resources:
    has_gpus = asked.gpus or asked.gpu_fraction
    return Resources(
        cpus=asked.cpus or old.cpus,
        memory_mb=asked.memory_mb or old.memory_mb,
        gpus=asked.gpus if has_gpus else old.gpus,
        gpu_fraction=asked.gpu_fraction if has_gpus else old.gpu_fraction,
        gpu_memory_mb=asked.gpu_memory_mb or old.gpu_memory_mb,
    )


def _why_no_checkpoint(before: Run) -> str:
    if before.started_at is None:
        return "it ended before it started, so it left no checkpoint; `mosaic retry` begins it anew"
    return f"its worker {before.spec.worker} saved no checkpoint; `mosaic retry` begins it anew"
