"""Accepting runs: everything that is wrong is said at once, and a repeated submit is harmless."""

from __future__ import annotations

import hashlib
import json
import secrets as entropy
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from mosaic.errors import BadInput, Refused, did_you_mean
from mosaic.hosting.audit import by
from mosaic.hosting.rights import visible_teams
from mosaic.ids import RunId, TeamName, WorkerName, new_run_id
from mosaic.lifecycle import RunState
from mosaic.model.audit import AuditEntry
from mosaic.model.identity import Caller, Permission
from mosaic.model.resources import DEFAULT_MEMORY_MB, Resources
from mosaic.model.run import Change, Run, RunSpec
from mosaic.model.team import Team
from mosaic.model.variables import submitted_faults
from mosaic.worker.spelling import as_published
from mosaic_scheduler.handlers.checks import capacity_faults, config_faults, name_faults, seed_faults
from mosaic_scheduler.handlers.continuation import checkpoint_of, continuation_faults, continuing
from mosaic_scheduler.handlers.lookup import find
from mosaic_scheduler.handlers.sight import hidden_run_faults, team_faults
from mosaic_scheduler.ports import (
    Clock,
    Fleet,
    FleetView,
    OutboxKind,
    OutboxMessage,
    RunStore,
    RunTransaction,
    Secrets,
    WorkerFacts,
)

#: The team that exists without being set up, so that one person needs no administration.
DEFAULT_TEAM = TeamName("default")

#: Seeds of one submit; a sweep larger than this is several submits.
MAX_SEEDS = 1000

#: Characters of an idempotency key.
MAX_KEY = 256
#: Letters of config, environment and secrets as JSON: a page of a thousand runs must fit into one answer.
MAX_SPEC = 60_000

#: Bits of a seed that is drawn: what every library takes.
SEED_BITS = 31


#: What tells runs apart in upstream's lists.
ID_LABELS = ("agent_id", "worker_id")


@dataclass(frozen=True, slots=True)
class Request:
    """One submit: the spec, and one run for each seed."""

    spec: RunSpec
    seeds: tuple[int, ...] = ()
    idempotency_key: str = ""
    #: What could not even be read, to be reported together with what is wrong otherwise.
    unreadable: tuple[str, ...] = ()
    #: The run that this one continues.
    before: Run | None = None

    def digest(self) -> str:
        """Return what makes two requests the same; a seed that nobody asked for is not part of it."""
        spec = {**asdict(self.spec), "config": dict(self.spec.config)}
        # Written as it was when the first keys were remembered: they still count.
        spec["requirements"], not_before = spec.pop("resources"), spec.pop("not_before")
        if not self.spec.continues:
            del spec["continues"]
        parts = [spec, list(self.seeds), not_before]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()

    def specs(self) -> list[RunSpec]:
        """Return the spec of every run asked for."""
        return [replace(self.spec, seed=seed) for seed in self.seeds] or [self.spec]


@dataclass(frozen=True, slots=True)
class Accepted:
    """The runs of a submit; `repeated` when its idempotency key had been seen before."""

    runs: tuple[Run, ...]
    repeated: bool = False


def validate(request: Request, *, caller: Caller, store: RunStore, fleet: Fleet, secrets: Secrets) -> Request:
    """Return *request* as *caller*'s, with the worker's own needs and the run that it continues filled in.

    Raises:
        BadInput: lists every fault of the request; a team or run that the caller may not see does not exist.
        Forbidden: the caller sees the team, but may not submit to it.
        Refused: the run to be continued has not ended, or left no checkpoint.
        RunNotFound: there is no such run to continue.
        Unavailable: the worker is not known here and the registry cannot be asked.
    """
    with store.read() as work:
        request = _of_caller(_with_predecessor(work, request, caller), caller)
        spec, faults = request.spec, [*request.unreadable, *_request_faults(request), *name_faults(request.spec)]
        faults += team_faults(spec.team, _teams(work, caller), caller)
        faults += hidden_run_faults(spec.config, work, caller)
    view = _view_with(spec.worker, fleet)
    worker = view.workers.get(spec.worker)
    faults += submitted_faults(spec.environment, spec.secrets.keys(), also=worker.variables if worker else ())
    if worker is None:
        known = sorted(view.workers)
        listing = ", ".join(known) or "none yet: no agent has announced itself"
        faults.append(f"no worker is called {spec.worker!r}{did_you_mean(spec.worker, known)} (known: {listing})")
    else:
        spec = _with_ids(spec, worker)
        config = as_published(worker.config_schema, spec.config)
        spec = replace(spec, config=config, resources=_filled(spec.resources, worker))
        faults += config_faults(spec, worker)
        faults += seed_faults(request.seeds, worker)
        faults += capacity_faults(spec, worker, view)
        faults += continuation_faults(spec, request.before, worker) if request.before else []
        faults += spec.resources.faults()
    faults += [
        f"secret {name!r} (for {variable}) is none of {spec.user} or of team {spec.team}; `mosaic secrets` lists them"
        for variable, name in sorted(spec.secrets.items())
        if secrets.value(name, user=spec.user, team=spec.team) is None
    ]
    if faults:
        raise BadInput("run", faults)
    return replace(request, spec=spec)


def submit(
    request: Request, *, caller: Caller, store: RunStore, fleet: Fleet, secrets: Secrets, clock: Clock
) -> Accepted:
    """Store the runs of *request* as *caller*'s, in one transaction.

    Raises:
        BadInput: the request has faults, all of which are listed; nothing was stored.
        Forbidden: the caller may not submit to the team.
        Refused: the team may not queue more, or the idempotency key belongs to another request.
    """
    request = validate(request, caller=caller, store=store, fleet=fleet, secrets=secrets)
    with store.write() as work:
        earlier = earlier_submit(work, request, caller)
        if earlier is not None:
            return earlier
        _set_up_team(work, request.spec.team)
        entries = tuple(_enter(work, _with_seed(spec), request, clock()) for spec in request.specs())
        work.audit(_asked(entries, caller))
        if request.idempotency_key:
            run_ids = [entry.run_id for entry in entries]
            work.remember_key(request.spec.team, request.idempotency_key, request.digest(), run_ids)
    return Accepted(entries)


def _asked(entries: Sequence[Run], caller: Caller) -> AuditEntry:
    first = entries[0]
    after = {"runs": [entry.run_id for entry in entries], "priority": first.spec.priority.label}
    return by(caller, "runs:submit", at=first.submitted_at, target=first.run_id, team=first.spec.team, after=after)


def _set_up_team(work: RunTransaction, name: TeamName) -> None:
    """A team with members gets the usual terms by the first of its runs."""
    if name != DEFAULT_TEAM and name not in {team.name for team in work.teams()}:
        work.save_team(Team(name))


def earlier_submit(work: RunTransaction, request: Request, caller: Caller) -> Accepted | None:
    """Return what a submit with the same key gave before; None means that *request* may be stored now.

    Raises:
        Refused: the team may not queue more, or the idempotency key belongs to another request.
    """
    earlier = _earlier(work, request)
    if earlier is None:
        _check_queue_caps(work, _teams(work, caller)[request.spec.team], request)
    return earlier


def _view_with(worker: WorkerName, fleet: Fleet) -> FleetView:
    """Return the newest view; the registry is asked once before a worker is called unknown."""
    view = fleet.view()
    return view if worker in view.workers else fleet.refresh()


def _of_caller(request: Request, caller: Caller) -> Request:
    """Say whose it is: nobody submits in another's name, and who has one team need not name it."""
    team = request.spec.team or _usual_team(caller)
    return replace(request, spec=replace(request.spec, team=team, user=caller.user))


def _usual_team(caller: Caller) -> TeamName:
    own = visible_teams(caller, Permission.RUNS_SUBMIT)
    return next(iter(own)) if own and len(own) == 1 else DEFAULT_TEAM


def _with_predecessor(work: RunTransaction, request: Request, caller: Caller) -> Request:
    if not request.spec.continues:
        return request
    before = find(work, request.spec.continues, caller)
    return replace(request, spec=continuing(request.spec, before, request.seeds), before=before)


def _with_seed(spec: RunSpec) -> RunSpec:
    """A run whose seed nobody chose gets one that is written down, so that it can be repeated."""
    return spec if spec.seed is not None else replace(spec, seed=entropy.randbits(SEED_BITS))


def _enter(work: RunTransaction, spec: RunSpec, request: Request, now: datetime) -> Run:
    entry, detail = Run(new_run_id(), spec, RunState.QUEUED, now, now, not_before=spec.not_before), ""
    if request.before is not None:
        begins_from = checkpoint_of(request.before)
        entry = replace(entry, checkpoint=begins_from, checkpoint_at=request.before.checkpoint_at)
        detail = f"continues {request.before.run_id} from {begins_from}"
    actor = f"user:{spec.user}"
    work.add_history([Change(entry.run_id, 0, now, "submitted", "", entry.state.value, actor, detail)])
    whose = {"team": spec.team, "user": spec.user}
    work.send_later(OutboxMessage(OutboxKind.RUN_ACCEPTED, entry.run_id, 0, whose))
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


def _teams(work: RunTransaction, caller: Caller) -> dict[TeamName, Team]:
    """Return the teams with their terms; one that has members but no terms yet has the usual ones."""
    usual = {name: Team(name) for name in (DEFAULT_TEAM, *caller.teams)}
    return usual | {team.name: team for team in work.teams()}


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


def _request_faults(request: Request) -> list[str]:
    spec, faults = request.spec, []
    if len(request.idempotency_key) > MAX_KEY:
        faults.append(f"the idempotency key has {len(request.idempotency_key)} characters, {MAX_KEY} are allowed")
    if len(request.seeds) > MAX_SEEDS:
        faults.append(f"{len(request.seeds)} seeds in one submit, {MAX_SEEDS} are allowed")
    size = len(json.dumps([dict(spec.config), dict(spec.environment), dict(spec.secrets)], default=str))
    if size > MAX_SPEC:
        faults.append(f"config, environment and secrets have {size} letters as JSON, {MAX_SPEC} are allowed")
    if len(set(request.seeds)) != len(request.seeds):
        faults.append("the same seed is asked for twice")
    if spec.max_wall is not None and spec.max_wall.total_seconds() <= 0:
        faults.append("max_wall must be more than 0 seconds")
    return faults


def _with_ids(spec: RunSpec, worker: WorkerFacts) -> RunSpec:
    """Ids that upstream's forms put into a config are labels here, unless the worker has such a setting."""
    known = worker.config_schema.get("properties", {})
    config, extras = dict(spec.config), spec.config.get("extras")
    told = {**(extras if isinstance(extras, Mapping) else {}), **config}
    labels = {name: str(told[name]) for name in ID_LABELS if told.get(name) is not None and name not in known}
    if "extras" not in known:
        config = {name: value for name, value in config.items() if name not in labels}
    return replace(spec, config=config, labels={**labels, **spec.labels})


def _filled(needs: Resources, worker: WorkerFacts) -> Resources:
    """Where the person said nothing, the worker's own estimate counts."""
    on_gpu = needs.gpus or needs.gpu_fraction
    return replace(
        needs,
        cpus=needs.cpus or float(worker.capabilities.get("cpu_cores") or 1),
        memory_mb=needs.memory_mb or int(worker.capabilities.get("estimated_memory_mb") or DEFAULT_MEMORY_MB),
        gpu_memory_mb=needs.gpu_memory_mb or (int(worker.capabilities.get("gpu_memory_mb") or 0) if on_gpu else 0),
    )
