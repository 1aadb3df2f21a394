"""``mosaic submit``: from flags or a file to runs."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from mosaic.cli import render
from mosaic.cli.follow import follow_runs
from mosaic.cli.options import (
    AsJson,
    connect,
    current_team,
    current_user,
    read_pairs,
    read_seeds,
    read_span,
    read_values,
)
from mosaic.client import Resources, Submission
from mosaic.client.spelling import spell
from mosaic.errors import BadInput, did_you_mean


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
    cpus: Annotated[float, typer.Option(help="CPUs; 0 = the worker's own estimate.")] = 0.0,
    memory_mb: Annotated[int, typer.Option("--memory-mb", help="Memory; 0 = the worker's own estimate.")] = 0,
    gpus: Annotated[float, typer.Option(help="GPUs: whole ones, or a fraction of one.")] = 0.0,
    gpu_memory_mb: Annotated[int, typer.Option("--gpu-memory-mb", help="Memory needed on each GPU.")] = 0,
    max_wall: Annotated[str, typer.Option(help="Time limit of an attempt: 90s, 15m, 2h.")] = "",
    hang_limit: Annotated[str, typer.Option(help="Silence after which it counts as hung.")] = "",
    retries: Annotated[int, typer.Option(help="Crashes that are tried again; -1 = the platform's default.")] = -1,
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
    asked = read_submission(Path(worker)) if worker.endswith((".yaml", ".yml", ".json")) else Submission(worker)
    seeds = read_seeds(seed)
    needs = asked.resources
    with connect() as platform:
        values = dict(asked.config) | _read_config(config) | read_values("--set", settings or ())
        values |= spell(platform, asked.worker, {"env": env, "algo": algo, "steps": steps})
        asked = replace(
            asked,
            config=values,
            seed=seeds[0] if len(seeds) == 1 else asked.seed,
            seeds=seeds if len(seeds) > 1 else asked.seeds,
            name=name or asked.name,
            team=team or asked.team or current_team(),
            user=asked.user or current_user(),
            priority=priority or asked.priority,
            resources=Resources(
                cpus or needs.cpus,
                memory_mb or needs.memory_mb,
                int(gpus) if gpus >= 1 else needs.gpus,
                gpus if 0 < gpus < 1 else needs.gpu_fraction,
                gpu_memory_mb or needs.gpu_memory_mb,
            ),
            max_wall_s=read_span("--max-wall", max_wall) or asked.max_wall_s,
            hang_limit_s=read_span("--hang-limit", hang_limit) or asked.hang_limit_s,
            max_retries=retries if retries >= 0 else asked.max_retries,
            labels={**asked.labels, **read_pairs("--label", label or ())},
            secrets={**asked.secrets, **read_pairs("--secret", secret or ())},
            idempotency_key=key or asked.idempotency_key,
        )
        if dry_run:
            render.sentences(platform.predict(asked), as_json=as_json)
            return
        runs = platform.submit(asked)
        render.submitted(runs, as_json=as_json)
        if follow:
            raise typer.Exit(follow_runs(platform, [run.run_id for run in runs], quiet=as_json))


def _read_config(path: Path | None) -> dict[str, Any]:
    return {} if path is None else _read_mapping(path)


def read_submission(path: Path) -> Submission:
    """Read a whole submission; its keys are the fields of `Submission`."""
    data = _read_mapping(path)
    known = {field.name for field in fields(Submission)}
    faults = [f"{key!r} is not known{did_you_mean(key, known)}" for key in data if key not in known]
    if "worker" not in data:
        faults.append("'worker' is missing")
    resources = data.pop("resources", None) or {}
    try:
        needs = Resources(**resources)
    except TypeError as error:
        faults.append(f"resources: {error}")
    if faults:
        raise BadInput(str(path), faults)
    if "seeds" in data:
        data["seeds"] = tuple(data["seeds"])
    return Submission(**data, resources=needs)


def _read_mapping(path: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(str(path), [f"cannot be read: {error.strerror}"]) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadInput(str(path), [f"is neither YAML nor JSON: {error}"]) from error
    if not isinstance(data, dict):
        raise BadInput(str(path), ["must hold keys and values"])
    return data
