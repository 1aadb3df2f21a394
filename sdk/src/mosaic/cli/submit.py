"""``mosaic submit``: from flags or a file to runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from mosaic.cli import render
from mosaic.cli.follow import follow_to_the_end
from mosaic.cli.options import (
    AsJson,
    Faults,
    connect,
    current_team,
    current_user,
    read_pairs,
    read_seeds,
    read_span,
    read_values,
)
from mosaic.cli.plan import plan_of
from mosaic.cli.yaml_values import load
from mosaic.client import Mosaic, Resources, Submission
from mosaic.client.checks import faults_of
from mosaic.client.spelling import spell
from mosaic.errors import BadInput, WorkerNotFound, did_you_mean
from mosaic.hosting.settings import home_directory


def submit(
    worker: Annotated[str, typer.Argument(help="Worker, or a YAML file that describes the run.", show_default=False)],
    env: Annotated[str, typer.Option(help="Environment to train on.")] = "",
    algo: Annotated[str, typer.Option(help="Algorithm.")] = "",
    steps: Annotated[int, typer.Option(help="Length of the training, in the worker's own unit.")] = 0,
    settings: Annotated[list[str] | None, typer.Option("--set", "-s", help="KEY=VALUE of the worker's config.")] = None,
    config: Annotated[Path | None, typer.Option(help="Config of the worker as a YAML or JSON file.")] = None,
    seed: Annotated[str, typer.Option(help="7, or 1,2,3, or 1..5: one run for each.")] = "",
    name: Annotated[str, typer.Option(help="A name for people.")] = "",
    team: Annotated[str, typer.Option(help="For which team; default MOSAIC_TEAM.")] = "",
    priority: Annotated[str, typer.Option(help="low, normal, high or urgent.")] = "",
    cpus: Annotated[float | None, typer.Option(help="CPUs; 0 = the worker's own estimate.")] = None,
    memory_mb: Annotated[int | None, typer.Option("--memory-mb", help="Memory; 0 = the worker's own estimate.")] = None,
    gpus: Annotated[float | None, typer.Option(help="GPUs: whole ones, or a fraction of one.")] = None,
    gpu_memory_mb: Annotated[int | None, typer.Option("--gpu-memory-mb", help="Memory needed on each GPU.")] = None,
    max_wall: Annotated[str, typer.Option(help="Time limit of an attempt: 90s, 15m, 2h.")] = "",
    hang_limit: Annotated[str, typer.Option(help="Silence after which it counts as hung.")] = "",
    retries: Annotated[
        int | None, typer.Option(help="Crashes that are tried again; -1 = the platform's default.")
    ] = None,
    label: Annotated[list[str] | None, typer.Option(help="KEY=VALUE to find it again.")] = None,
    secret: Annotated[list[str] | None, typer.Option(help="VARIABLE=NAME of a secret the scheduler knows.")] = None,
    key: Annotated[str, typer.Option(help="Idempotency key: a repeated submit returns the same runs.")] = "",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Watch until it ends.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything and say what would happen.")] = False,
    as_json: AsJson = False,
) -> None:
    """Submit a run, or one for each seed.

    For example: `mosaic submit reference --env CartPole-v1 --steps 50000 --seed 1..5 --follow`
    """
    faults = Faults()
    asked = faults.read(_asked, worker) or Submission(worker)
    values = {
        **asked.config,
        **((faults.read(_read_mapping, config) if config else None) or {}),
        **(faults.read(read_values, "--set", settings or ()) or {}),
    }
    seeds = faults.read(read_seeds, seed) or ()
    asked = replace(
        asked,
        config=values,
        seed=(seeds[0] if len(seeds) == 1 else None) if seeds else asked.seed,
        seeds=(seeds if len(seeds) > 1 else ()) if seeds else asked.seeds,
        name=name or asked.name,
        team=team or asked.team or current_team(),
        user=asked.user or current_user(),
        priority=priority or asked.priority,
        resources=replace(
            faults.read(_with_gpus, asked.resources, gpus) or asked.resources,
            **_given(cpus=cpus, memory_mb=memory_mb, gpu_memory_mb=gpu_memory_mb),
        ),
        max_wall_s=faults.read(read_span, "--max-wall", max_wall) or asked.max_wall_s,
        hang_limit_s=faults.read(read_span, "--hang-limit", hang_limit) or asked.hang_limit_s,
        max_retries=asked.max_retries if retries is None else retries,
        labels={**asked.labels, **(faults.read(read_pairs, "--label", label or ()) or {})},
        secrets={**asked.secrets, **(faults.read(read_pairs, "--secret", secret or ()) or {})},
        idempotency_key=key or asked.idempotency_key,
    )
    faults.tell("submit")
    with connect() as platform:
        asked = _spelt(platform, asked, {"env": env, "algo": algo, "steps": steps})
        if dry_run:
            _rehearse(platform, asked, as_json=as_json)
            return
        runs = platform.submit(asked)
        if not (follow and as_json):
            render.submitted(runs, as_json=as_json)
        if follow:
            run_ids = [run.run_id for run in runs]
            raise typer.Exit(follow_to_the_end(platform, run_ids, as_json=as_json))


def _asked(worker: str) -> Submission:
    return read_submission(Path(worker)) if worker.endswith((".yaml", ".yml", ".json")) else Submission(worker)


def _spelt(platform: Mosaic, asked: Submission, common: Mapping[str, Any]) -> Submission:
    """Return *asked* with what every library has, under the names that its worker gives it."""
    try:
        return replace(asked, config={**asked.config, **spell(platform, asked.worker, common)})
    except WorkerNotFound:
        # The platform says so, too, and beside it everything else that is wrong.
        platform.predict(asked)
        raise


def _rehearse(platform: Mosaic, asked: Submission, *, as_json: bool) -> None:
    """Say what the platform would do with *asked*, and what its worker would execute if that can be asked here."""
    prediction = platform.predict(asked)
    if not as_json:
        render.sentences(prediction, as_json=False)
    with render.aside.status(f"asking {render.shown(asked.worker, render.aside)} what it would execute"):
        plan = plan_of(asked, home_directory(os.environ))
    if as_json:
        render.document({"prediction": prediction, "plan": plan})
    elif plan is not None:
        render.plan(plan)
    else:
        render.no_plan(asked.worker, platform.worker(asked.worker).launch)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _with_gpus(needs: Resources, gpus: float | None) -> Resources:
    """Return *needs* with the GPUs of a flag, whole ones or a fraction of one; what it had before is gone."""
    if gpus is None:
        return needs
    if 0 < gpus < 1:
        return replace(needs, gpus=0, gpu_fraction=gpus)
    if gpus < 0 or not gpus.is_integer():
        raise BadInput("--gpus", [f"{gpus:g} is neither a whole number nor a fraction of one GPU"])
    return replace(needs, gpus=int(gpus), gpu_fraction=0.0)


def read_submission(path: Path) -> Submission:
    """Read a whole submission; its keys are the fields of `Submission`.

    ``seeds`` may also be a text such as ``1..5``, and ``not_before`` is a time such as ``2030-01-31T12:00:00Z``.

    Raises:
        BadInput: lists everything in the file that cannot be used.
    """
    data = _read_mapping(path)
    faults = Faults()
    faults.read(_check_keys, "keys", data, Submission)
    needs = faults.read(_resources, data.pop("resources", None) or {}) or Resources()
    known = {field.name for field in fields(Submission)} - {"resources"}
    values = {key: value for key, value in data.items() if key in known and value is not None}
    if isinstance(values.get("seeds"), str):
        values["seeds"] = faults.read(read_seeds, values["seeds"]) or ()
    elif isinstance(values.get("seeds"), list):
        values["seeds"] = tuple(values["seeds"])
    if isinstance(values.get("not_before"), str):
        values["not_before"] = _moment(values["not_before"])
    asked = Submission(**{"worker": "", **values}, resources=needs)
    for fault in faults_of(asked):
        faults.add(fault)
    faults.tell(str(path))
    return asked


def _check_keys(source: str, data: Mapping[Any, Any], kind: type[Any]) -> None:
    known = {field.name for field in fields(kind)}
    faults = [f"{key!r} is not known{did_you_mean(str(key), known)}" for key in data if key not in known]
    if faults:
        raise BadInput(source, faults)


def _resources(data: Any) -> Resources:
    if not isinstance(data, dict):
        raise BadInput("resources", ["must hold keys and values"])
    _check_keys("resources", data, Resources)
    return Resources(**data)


def _moment(text: str) -> datetime | str:
    """Return the time that *text* says, or the text itself for whoever lists the faults."""
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return text


def _read_mapping(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(str(path), [f"cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise BadInput(str(path), [f"is neither YAML nor JSON: {error}"]) from error
    data = load(str(path), text)
    if not isinstance(data, dict):
        raise BadInput(str(path), ["must hold keys and values"])
    return data
