"""Accepting runs: everything that is wrong is said at once, and a repeated submit is harmless."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from mosaic.errors import BadInput, Refused, did_you_mean
from mosaic.ids import RunId, TeamName, WorkerName, is_id, new_run_id
from mosaic.lifecycle import RunState
from mosaic.worker import environments
from mosaic.worker.suitability import pair_fault
from mosaic.worker.validation import validate_config
from mosaic_scheduler.domain.entries import HistoryEntry, RunEntry, RunSpec
from mosaic_scheduler.domain.run import Requirements
from mosaic_scheduler.domain.snapshot import Node, Team
from mosaic_scheduler.ports import Clock, Fleet, FleetView, RunStore, RunTransaction, Secrets, WorkerFacts

#: The team that exists without being set up, so that one person needs no administration.
DEFAULT_TEAM = TeamName("default")

#: Seeds of one submit; a sweep larger than this is several submits.
MAX_SEEDS = 1000

#: Characters of an idempotency key.
MAX_KEY = 256


@dataclass(frozen=True, slots=True)
class Request:
    """One submit: the spec, and one run for each seed."""

    spec: RunSpec
    seeds: tuple[int, ...] = ()
    not_before: datetime | None = None
    idempotency_key: str = ""
    #: What could not even be read, to be reported together with what is wrong otherwise.
    unreadable: tuple[str, ...] = ()

    def digest(self) -> str:
        """Return what makes two requests the same."""
        spec = {**asdict(self.spec), "config": dict(self.spec.config)}
        parts = [spec, list(self.seeds), self.not_before]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()

    def specs(self) -> list[RunSpec]:
        """Return the spec of every run asked for."""
        return [replace(self.spec, seed=seed) for seed in self.seeds] or [self.spec]


@dataclass(frozen=True, slots=True)
class Accepted:
    """The runs of a submit; `repeated` when its idempotency key had been seen before."""

    runs: tuple[RunEntry, ...]
    repeated: bool = False


def validate(request: Request, *, store: RunStore, fleet: Fleet, secrets: Secrets) -> Request:
    """Return *request* with the worker's own needs filled in.

    Raises:
        BadInput: lists every fault of the request.
        Unavailable: the worker is not known here and the registry cannot be asked.
    """
    spec, faults = request.spec, [*request.unreadable, *_name_faults(request)]
    with store.read() as work:
        faults += _team_faults(spec.team, _teams(work))
    view = _view_with(spec.worker, fleet)
    worker = view.workers.get(spec.worker)
    if worker is None:
        known = sorted(view.workers)
        listing = ", ".join(known) or "none yet: no agent has announced itself"
        faults.append(f"no worker is called {spec.worker!r}{did_you_mean(spec.worker, known)} (known: {listing})")
    else:
        spec = replace(spec, requirements=_filled(spec.requirements, worker))
        faults += _config_faults(spec, worker)
        faults += _capacity_faults(spec, worker, view)
        faults += spec.requirements.faults()
    faults += [
        f"secret {name!r} (for {variable}) is not known to the scheduler"
        for variable, name in sorted(spec.secrets.items())
        if secrets.value(name) is None
    ]
    if faults:
        raise BadInput("run", faults)
    return replace(request, spec=spec)


def submit(request: Request, *, store: RunStore, fleet: Fleet, secrets: Secrets, clock: Clock) -> Accepted:
    """Store the runs of *request* in one transaction.

    Raises:
        BadInput: the request has faults, all of which are listed; nothing was stored.
        Refused: the team may not queue more, or the idempotency key belongs to another request.
    """
    request = validate(request, store=store, fleet=fleet, secrets=secrets)
    with store.write() as work:
        earlier = earlier_submit(work, request)
        if earlier is not None:
            return earlier
        entries = tuple(_enter(work, spec, request, clock()) for spec in request.specs())
        if request.idempotency_key:
            run_ids = [entry.run_id for entry in entries]
            work.remember_key(request.spec.team, request.idempotency_key, request.digest(), run_ids)
    return Accepted(entries)


def earlier_submit(work: RunTransaction, request: Request) -> Accepted | None:
    """Return what a submit with the same key gave before; None means that *request* may be stored now.

    Raises:
        Refused: the team may not queue more, or the idempotency key belongs to another request.
    """
    earlier = _earlier(work, request)
    if earlier is None:
        _check_queue_caps(work, _teams(work)[request.spec.team], request)
    return earlier


def _view_with(worker: WorkerName, fleet: Fleet) -> FleetView:
    """Return the newest view; the registry is asked once before a worker is called unknown."""
    view = fleet.view()
    return view if worker in view.workers else fleet.refresh()


def _enter(work: RunTransaction, spec: RunSpec, request: Request, now: datetime) -> RunEntry:
    entry = RunEntry(new_run_id(), spec, RunState.QUEUED, now, now, not_before=request.not_before)
    work.add_history([HistoryEntry(entry.run_id, 0, now, "submitted", "", entry.state.value, f"user:{spec.user}")])
    return work.save_run(entry)


def _earlier(work: RunTransaction, request: Request) -> Accepted | None:
    if not request.idempotency_key:
        return None
    known = work.runs_of_key(request.spec.team, request.idempotency_key)
    if known is None:
        return None
    digest, run_ids = known
    if digest != request.digest():
        raise Refused(f"idempotency key {request.idempotency_key!r} was used for another request; choose a new key")
    runs = (work.run(RunId(run_id)) for run_id in run_ids)
    return Accepted(tuple(run for run in runs if run is not None), repeated=True)


def _teams(work: RunTransaction) -> dict[TeamName, Team]:
    return {DEFAULT_TEAM: Team(DEFAULT_TEAM)} | {team.name: team for team in work.teams()}


def _team_faults(name: TeamName, teams: Mapping[TeamName, Team]) -> list[str]:
    if name in teams:
        return []
    return [f"there is no team {name!r}{did_you_mean(name, teams)} (known: {', '.join(sorted(teams))})"]


def _check_queue_caps(work: RunTransaction, team: Team, request: Request) -> None:
    if team.max_queued is None and team.max_queued_per_user is None:
        return
    queued = work.count_queued(team.name)
    added, user = len(request.specs()), request.spec.user
    total, own = sum(queued.values()) + added, queued.get(user, 0) + added
    if team.max_queued is not None and total > team.max_queued:
        raise Refused(f"team {team.name} would have {total} runs waiting, {team.max_queued} are allowed")
    if team.max_queued_per_user is not None and own > team.max_queued_per_user:
        raise Refused(f"user {user} would have {own} runs waiting, {team.max_queued_per_user} are allowed")


def _name_faults(request: Request) -> list[str]:
    spec = request.spec
    named = (("team", spec.team), ("user", spec.user))
    faults = [f"{what} {name!r} is not a name" for what, name in named if not is_id(name)]
    if len(request.idempotency_key) > MAX_KEY:
        faults.append(f"the idempotency key has {len(request.idempotency_key)} characters, {MAX_KEY} are allowed")
    if len(request.seeds) > MAX_SEEDS:
        faults.append(f"{len(request.seeds)} seeds in one submit, {MAX_SEEDS} are allowed")
    if len(set(request.seeds)) != len(request.seeds):
        faults.append("the same seed is asked for twice")
    if spec.max_wall is not None and spec.max_wall.total_seconds() <= 0:
        faults.append("max_wall must be more than 0 seconds")
    return faults


def _filled(needs: Requirements, worker: WorkerFacts) -> Requirements:
    """Where the person said nothing, the worker's own estimate counts."""
    return replace(
        needs,
        cpus=needs.cpus or float(worker.capabilities.get("cpu_cores") or 1),
        memory_mb=needs.memory_mb or int(worker.capabilities.get("estimated_memory_mb") or 512),
    )


def _config_faults(spec: RunSpec, worker: WorkerFacts) -> list[str]:
    config = dict(spec.config)
    faults = [
        f"config: {reserved} is set by the scheduler; leave it out of the config"
        for reserved in ("run_id", "seed")
        if reserved in config
    ]
    # The agent adds these two; they take part in the check so that "required" holds.
    config |= {"run_id": "check", "seed": spec.seed}
    seen = validate_config(worker.config_schema, config)
    pair = _pair_faults(spec, worker)
    # The reason why a pair cannot work says more than a list of environments that would.
    faults += [f"config: {fault}" for fault in seen if not (pair and fault.startswith("env_id: "))]
    return faults + pair


def _pair_faults(spec: RunSpec, worker: WorkerFacts) -> list[str]:
    """A pair that cannot work is refused now, not after an hour in the queue."""
    asked = spec.config.get("env_id")
    environment = environments.find(asked) if isinstance(asked, str) else None
    reason = environments.why_not(environment, worker.capabilities) if environment else None
    if reason:
        return [f"worker {worker.name} cannot train on that environment: {reason}"]
    fault = pair_fault(worker.config_schema, spec.config)
    return [f"config: {fault}"] if fault else []


def _capacity_faults(spec: RunSpec, worker: WorkerFacts, view: FleetView) -> list[str]:
    needs = spec.requirements
    if worker.capabilities.get("requires_gpu") and not (needs.gpus or needs.gpu_fraction):
        return [f"worker {worker.name} needs a GPU; ask for --gpus 1 or a fraction"]
    nodes = [view.nodes[agent.node_id] for agent in view.agents.values() if agent.worker == worker.name]
    # No agent at this moment is not a fault: a machine may come back while the run waits.
    if not nodes or any(_could_hold(needs, node) for node in nodes):
        return []
    largest = max(nodes, key=lambda node: (len(node.gpus), node.cpus, node.memory_mb))
    has = f"{largest.cpus:g} cpus, {largest.memory_mb} MB and {len(largest.gpus)} GPUs"
    return [f"no machine with worker {worker.name} could ever hold {_needs(needs)}; the largest has {has}"]


def _could_hold(needs: Requirements, node: Node) -> bool:
    cards = [gpu for gpu in node.gpus if gpu.memory_mb >= needs.gpu_memory_mb]
    wanted = needs.gpus or (1 if needs.gpu_fraction else 0)
    return bool(needs.cpus <= node.cpus and needs.memory_mb <= node.memory_mb and wanted <= len(cards))


def _needs(needs: Requirements) -> str:
    gpus = f" and {needs.gpus or needs.gpu_fraction:g} GPUs" if needs.gpus or needs.gpu_fraction else ""
    return f"{needs.cpus:g} cpus, {needs.memory_mb} MB{gpus}"
