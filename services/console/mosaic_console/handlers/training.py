"""The form that starts runs: what it offers, what is wrong with what was filled in, and the submission it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mosaic.client import Run
from mosaic.errors import BadInput
from mosaic.model.fleet import Worker
from mosaic.model.identity import Caller
from mosaic.model.run import Priority
from mosaic.worker.environments import Environment, catalog, find
from mosaic.worker.spelling import default_of, setting_of
from mosaic.worker.suitability import pair_fault, why_unsuited
from mosaic_console.domain.problem import faults_of
from mosaic_console.domain.train_form import (
    Control,
    as_yaml,
    choices_of,
    controls_of,
    filled_from,
    read_controls,
    read_seeds,
    shown,
    with_faults,
)
from mosaic_console.handlers.submission import predict, submit
from mosaic_console.ports import Platform

_NEEDS = ("cpus", "memory_mb", "gpus")
#: What every run has, whatever its worker.
_OF_THE_RUN = (
    Control("name", "text", "For people; wherever a run id is taken, it may stand for the run"),
    Control("seeds", "text", "7, or 1,2,3, or 1..5: one run for each; nothing draws one"),
    Control("team", "text", "For which team"),
    Control("priority", "choice", default="normal", choices=tuple(priority.label for priority in Priority)),
    Control("labels", "text", "KEY=VALUE, separated by blanks, to find it again"),
    Control("cpus", "number", "Nothing = the worker's own estimate"),
    Control("memory_mb", "integer", "Nothing = the worker's own estimate"),
    Control("gpus", "number", "Whole ones, or a fraction of one"),
    Control("max_wall_s", "number", "Seconds after which an attempt is ended"),
    Control("max_retries", "integer", "Crashes that are tried again; nothing = the platform's"),
    Control("secrets", "text", "VARIABLE=NAME of a secret, such as WANDB_API_KEY=wandb"),
)


@dataclass(frozen=True)
class Offer:
    """One thing that can be chosen, or why it cannot."""

    name: str
    why_not: str = ""


@dataclass(frozen=True)
class TrainForm:
    """Everything on the page."""

    workers: Sequence[Worker]
    worker: Worker | None
    algo: str = ""
    env: str = ""
    algos: Sequence[Offer] = ()
    envs: Sequence[Offer] = ()
    #: Whether any text may stand for the environment.
    takes_any_env: bool = False
    about: Environment | None = None
    #: Why algorithm and environment do not go together.
    pair_fault: str = ""
    groups: Mapping[str, Sequence[Control]] = field(default_factory=dict)
    run: Sequence[Control] = ()
    faults: Sequence[str] = ()
    body: Mapping[str, Any] = field(default_factory=dict)
    prediction: Sequence[str] = ()
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_faults(self) -> bool:
        """Whether anything must be mended before it can run."""
        controls = [control for group in self.groups.values() for control in group]
        return bool(self.faults or self.pair_fault or any(one.fault for one in (*controls, *self.run)))

    @property
    def yaml(self) -> str:
        """The same for `mosaic submit FILE`."""
        told = {key: value for key, value in self.body.items() if key != "seeds"}
        return as_yaml(told | ({"seed": list(self.body["seeds"])} if self.body.get("seeds") else {}))

    @property
    def command(self) -> str:
        """What an agent would start."""
        launch = self.worker.launch if self.worker else ()
        return " ".join(["python", *launch, "--config", "config.json"]) if launch else ""


def see_form(platform: Platform, values: Mapping[str, str]) -> TrainForm:
    """Return the form with *values* in it; ``like`` fills it as a run was submitted."""
    if values.get("like"):
        values = {**_values_of(platform.run(values["like"]).run), **{k: v for k, v in values.items() if k != "like"}}
    workers = sorted(platform.fleet().workers, key=lambda worker: worker.name)
    worker = next((one for one in workers if one.name == values.get("worker")), workers[0] if workers else None)
    if worker is None:
        return TrainForm(workers, None)
    schema = worker.config_schema
    algo_name, env_name = setting_of(schema, "algo") or "", setting_of(schema, "env") or ""
    algo = values.get("algo") or shown(default_of(schema, algo_name))
    env = values.get("env") or shown(default_of(schema, env_name))
    algos = [Offer(one, _why_not(schema, algo_name, one, env_name, env)) for one in choices_of(schema, "algo")]
    groups, config, all_filled = dict[str, Sequence[Control]](), dict[str, Any](), list[Control]()
    for group, controls in controls_of(schema, algo).items():
        filled, part = read_controls(controls, values)
        groups[group] = filled
        config = {**config, **part}
        all_filled += filled
    run, told = _read_run(values)
    chosen = {name: value for name, value in ((algo_name, algo), (env_name, env)) if name and value}
    body = {"worker": str(worker.name), **told, "config": {**chosen, **config}}
    return TrainForm(
        workers,
        worker,
        algo,
        env,
        algos,
        _environments(worker) if env_name else [],
        bool(env_name) and not choices_of(schema, "env"),
        find(env) if env else None,
        next((one.why_not for one in algos if one.name == algo), "") or "",
        groups,
        run,
        body=body,
        values=values,
    )


def dry_run(platform: Platform, caller: Caller, form: TrainForm) -> TrainForm:
    """Return *form* with what would happen, or with every fault beside its field."""
    # What cannot be read is left out of the body; what else is wrong is said at the same time.
    try:
        told = predict(platform, caller, form.body)
    except BadInput as error:
        return _faulty(form, faults_of(error))
    return form if form.has_faults else replace(form, prediction=told)


def start(platform: Platform, caller: Caller, form: TrainForm, *, key: str) -> tuple[TrainForm, list[Run]]:
    """Return the runs that *form* makes, one for each seed, or the form with every fault beside its field."""
    if form.has_faults:
        return dry_run(platform, caller, form), []
    try:
        return form, submit(platform, caller, form.body, key=key)
    except BadInput as error:
        return _faulty(form, faults_of(error)), []


def _faulty(form: TrainForm, faults: Sequence[str]) -> TrainForm:
    groups, left = dict[str, Sequence[Control]](), list(faults)
    for group, controls in form.groups.items():
        groups[group], left = with_faults(controls, left)
    run, left = with_faults(form.run, left)
    return replace(form, groups=groups, run=run, faults=left)


def _why_not(schema: Mapping[str, Any], algo_name: str, algo: str, env_name: str, env: str) -> str:
    return pair_fault(schema, {algo_name or "algo": algo, env_name or "env_id": env}) or ""


def _environments(worker: Worker) -> list[Offer]:
    listed = choices_of(worker.config_schema, "env")
    known = [Offer(one.env_id, why_unsuited(worker.capabilities, worker.config_schema, one) or "") for one in catalog()]
    unknown = [Offer(one) for one in listed if find(one) is None]
    return sorted([*known, *unknown], key=lambda offer: bool(offer.why_not))


def _read_run(values: Mapping[str, str]) -> tuple[list[Control], dict[str, Any]]:
    filled, told = read_controls([one for one in _OF_THE_RUN if one.name not in ("seeds", "labels", "secrets")], values)
    special = {one.name: one for one in _OF_THE_RUN}
    try:
        seeds = read_seeds(values.get("seeds", ""))
        told |= {"seeds": seeds} if seeds else {}
        filled.insert(1, _with(special["seeds"], values))
    except ValueError as error:
        filled.insert(1, _with(special["seeds"], values, str(error)))
    for name in ("labels", "secrets"):
        pairs = [pair.partition("=") for pair in values.get(name, "").split()]
        wrong = [first for first, dash, _ in pairs if not (first and dash)]
        filled.append(_with(special[name], values, f"{wrong[0]!r} is not KEY=VALUE" if wrong else ""))
        told |= {name: {first: last for first, _, last in pairs}} if pairs and not wrong else {}
    needs = {name: told.pop(name) for name in _NEEDS if name in told}
    if "gpus" in needs:
        wanted = needs.pop("gpus")
        needs |= {"gpu_fraction": wanted} if 0 < wanted < 1 else {"gpus": int(wanted)}
    return filled, told | ({"resources": needs} if needs else {})


def _with(control: Control, values: Mapping[str, str], fault: str = "") -> Control:
    return replace(control, value=values.get(control.name, ""), fault=fault)


def _values_of(run: Run) -> dict[str, str]:
    spec = run.spec
    config = dict(filled_from(spec.config))
    common = {"algo": config.pop("algo", ""), "env": config.pop("env_id", "") or config.pop("env", "")}
    told = {
        "worker": spec.worker,
        "name": spec.name,
        "seeds": shown(spec.seed),
        "team": spec.team,
        "priority": spec.priority.label,
        "labels": " ".join(f"{key}={value}" for key, value in spec.labels.items()),
        "secrets": " ".join(f"{key}={value}" for key, value in spec.secrets.items()),
        "cpus": shown(spec.resources.cpus or None),
        "memory_mb": shown(spec.resources.memory_mb or None),
        "gpus": shown(spec.resources.gpus or spec.resources.gpu_fraction or None),
    }
    return {name: value for name, value in {**config, **common, **told}.items() if value}
