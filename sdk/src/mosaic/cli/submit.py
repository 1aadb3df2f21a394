"""``mosaic submit``: from flags or a file to runs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from mosaic.cli import render
from mosaic.cli.asking import Typed, whole_submission
from mosaic.cli.follow import follow_to_the_end
from mosaic.cli.options import (
    AsJson,
    Faults,
    connect,
    current_team,
    read_count,
    read_limit,
    read_pairs,
    read_seeds,
    read_values,
)
from mosaic.cli.run_file import RunFile, read_mapping, read_run_file, with_gpus
from mosaic.cli.upstream_file import read_upstream
from mosaic.client import Mosaic, RunSpec
from mosaic.errors import BadInput
from mosaic.home import home_directory
from mosaic.ids import TeamName, WorkerName
from mosaic.worker.spelling import as_published

_FILES = (".yaml", ".yml", ".json")


def submit(
    worker: Annotated[
        str | None,
        typer.Argument(help="Worker, or a YAML or JSON file that describes the run.", show_default=False),
    ] = None,
    env: Annotated[str | None, typer.Option(help="Environment to train on.")] = None,
    algo: Annotated[str | None, typer.Option(help="Algorithm; in upper or lower case.")] = None,
    steps: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Length of the training, in the worker's own unit: 100000 or 1e5."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", help="KEY=VALUE of the worker's config; algo_params.gamma=0.9 sets one within."),
    ] = None,
    of_worker: Annotated[
        str | None, typer.Option("--worker", metavar="NAME", help="Whose config a file is that names no worker.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Config of the worker as a YAML or JSON file.")] = None,
    seed: Annotated[
        str | None, typer.Option(help="7, or 1,2,3, or 1..5: one run for each. Without it, one is drawn and told.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="A name for people, which every verb takes for the id: at most 128 characters.")
    ] = None,
    team: Annotated[str | None, typer.Option(help="For which team; default MOSAIC_TEAM.")] = None,
    priority: Annotated[str | None, typer.Option(help="low, normal, high or urgent.")] = None,
    cpus: Annotated[float | None, typer.Option(help="CPUs; 0 = the worker's own estimate.")] = None,
    memory_mb: Annotated[int | None, typer.Option(help="Memory, at most; 0 = as the worker estimates.")] = None,
    gpus: Annotated[float | None, typer.Option(help="GPUs: whole ones, or a fraction of one.")] = None,
    gpu_memory_mb: Annotated[int | None, typer.Option("--gpu-memory-mb", help="Memory needed on each GPU.")] = None,
    max_wall: Annotated[str | None, typer.Option(help="Time limit of an attempt: 90s, 15m, 2h.")] = None,
    hang_limit: Annotated[str | None, typer.Option(help="Silence after which it counts as hung.")] = None,
    retries: Annotated[
        int | None, typer.Option(help="Crashes that are tried again; -1 = the platform's default.")
    ] = None,
    label: Annotated[list[str] | None, typer.Option(help="KEY=VALUE to find it again.")] = None,
    secret: Annotated[list[str] | None, typer.Option(help="VARIABLE=NAME of a secret the scheduler knows.")] = None,
    key: Annotated[str | None, typer.Option(help="Idempotency key: a repeated submit returns the same runs.")] = None,
    continues: Annotated[
        str | None,
        typer.Option(
            "--continue",
            metavar="RUN",
            help="Begin from the last checkpoint of this ended run, with its worker, config and seed; "
            "--steps counts from its beginning.",
        ),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Watch until it ends.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything and say what would happen.")] = False,
    as_json: AsJson = False,
) -> None:
    """Submit a run, or one for each seed.

    For example: `mosaic submit reference --env CartPole-v1 --steps 50000 --seed 1..5 --follow`

    A file says the same by keys that are named like the options (`worker`, `env`, `algo`, `steps`, `seed`, `max_wall`,
    ...) and `config`, the settings of the worker; what is typed beside it goes before.
    docs/reference/submission.md lists all of them. The config of a worker, alone or under `metadata.worker.config`,
    and a TrainRunConfig of upstream are taken as they are.
    """
    faults = Faults()
    texts = {"--env": env, "--algo": algo, "--name": name, "--team": team, "--priority": priority, "--key": key}
    texts |= {"--continue": continues}
    faults.add_all(f"{option}: is empty; leave it out, or give it a value" for option in texts if texts[option] == "")
    described = faults.read(_described, worker, of_worker or "") or RunFile(RunSpec(WorkerName("unreadable")))
    asked = described.spec
    # The scheduler knows the words for it, and says beside them what else is wrong.
    urgency: Any = priority or asked.priority
    seeds = () if seed is None else faults.read(read_seeds, seed) or ()
    asked = replace(
        asked,
        seed=(seeds[0] if len(seeds) == 1 else None) if seeds else asked.seed,
        name=name or asked.name,
        team=TeamName(team or asked.team or current_team()),
        priority=urgency,
        resources=replace(
            faults.read(with_gpus, asked.resources, gpus) or asked.resources,
            **_given(cpus=cpus, memory_mb=memory_mb, gpu_memory_mb=gpu_memory_mb),
        ),
        max_wall=asked.max_wall if max_wall is None else faults.read(read_limit, "--max-wall", max_wall),
        hang_limit=asked.hang_limit if hang_limit is None else faults.read(read_limit, "--hang-limit", hang_limit),
        max_retries=asked.max_retries if retries is None else (None if retries == -1 else retries),
        labels={**asked.labels, **(faults.read(read_pairs, "--label", label or ()) or {})},
        secrets={**asked.secrets, **(faults.read(read_pairs, "--secret", secret or ()) or {})},
        continues=continues or asked.continues,
    )
    described = replace(
        described,
        spec=asked,
        seeds=(seeds if len(seeds) > 1 else ()) if seeds else described.seeds,
        idempotency_key=key or described.idempotency_key,
    )
    described, told = _with_config(described, config, faults)
    typed = Typed(
        common=_given(env=env, algo=algo, steps=None if steps is None else faults.read(read_count, "--steps", steps)),
        values=faults.read(read_values, "--set", settings or ()) or {},
        config=told,
    )
    dry_run = _upstream(described, faults) or dry_run
    if not (asked.worker or asked.continues):
        faults.add("name a worker, a file that describes the run, or with --continue a run to go on with")
    faults.raise_if_any("submit")
    with connect() as platform:
        described = whole_submission(platform, described, typed)
        if dry_run:
            _rehearse(platform, described, as_json=as_json)
            return
        runs = platform.submit(described.spec, seeds=described.seeds, idempotency_key=described.idempotency_key)
        if not (follow and as_json):
            render.submitted(runs, as_json=as_json)
        if follow:
            run_ids = [run.run_id for run in runs]
            raise typer.Exit(follow_to_the_end(platform, run_ids, as_json=as_json))


def _described(worker: str | None, of_worker: str) -> RunFile:
    if worker and worker.endswith(_FILES):
        return read_run_file(Path(worker), of_worker)
    if worker and of_worker and worker != of_worker:
        raise BadInput("submit", [f"two workers are named, {worker} and {of_worker}; name one"])
    return RunFile(RunSpec(WorkerName(worker or of_worker)))


def _with_config(described: RunFile, path: Path | None, faults: Faults) -> tuple[RunFile, dict[str, Any]]:
    """Return the config in *path*, in any form that a worker takes, and what it says about the run itself."""
    data = (faults.read(read_mapping, path) if path else None) or {}
    theirs = faults.read(read_upstream, str(path), data, described.spec.worker or "any") if data else None
    if theirs is None:
        return described, data
    asked, has_seed = described.spec, described.spec.seed is not None or bool(described.seeds)
    asked = replace(
        asked,
        name=asked.name or str(theirs.told.get("name", "")),
        seed=asked.seed if has_seed else theirs.told.get("seed"),
    )
    return replace(described, spec=asked), dict(theirs.told["config"])


def _upstream(described: RunFile, faults: Faults) -> bool:
    """Say what became of what an upstream file has beyond a submission; return whether it asks for a dry run."""
    theirs = described.upstream
    if theirs is None:
        return False
    faults.add_all(
        f"environment.{name}: would be stored with the run; keep it as a secret and add --secret {name}=NAME"
        for name in theirs.withheld
        if name not in described.spec.secrets
    )
    for sentence in theirs.remarks:
        render.aside.print(sentence, markup=False, highlight=False)
    return theirs.dry_run


def _rehearse(platform: Mosaic, described: RunFile, *, as_json: bool) -> None:
    """Say what the platform would do, and what the worker would execute if that can be asked here."""
    # What asks workers needs what starts them, which a submit does not.
    from mosaic.cli.plan import plan_of

    asked, seeds = described.spec, described.seeds
    prediction = platform.predict(asked, seeds=seeds, idempotency_key=described.idempotency_key)
    known = platform.worker(asked.worker)
    asked = replace(
        asked, config=as_published(known.config_schema, asked.config), seed=seeds[0] if seeds else asked.seed
    )
    with render.aside.status(f"asking {render.display(asked.worker, render.aside)} what it would execute"):
        plan = plan_of(asked, home_directory(os.environ))
    if as_json:
        render.document({"prediction": prediction, "plan": plan})
        return
    # Only now: that a run would be accepted is no news of one that its worker has just refused.
    render.sentences(prediction, as_json=False)
    if plan is not None:
        render.plan(plan)
    else:
        render.no_plan(asked.worker, known.launch)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
