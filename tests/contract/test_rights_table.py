"""The whole table, executed: every verb, every role, one's own thing, a team-mate's and another team's.

The calls go to the real methods behind the real access control, over real stores.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import grpc
import pytest
from prometheus_client import CollectorRegistry

import mosaic.wire.v1
from mosaic.errors import BadInput, Forbidden, NotFound, Refused
from mosaic.hosting.access import AccessControl, declared, declared_methods
from mosaic.ids import RunId, TeamName, UserName
from mosaic.model.identity import Permission, Role
from mosaic.model.run import RunAccepted
from mosaic.model.team import Team
from mosaic.wire.v1 import audit_pb2, registry_pb2, scheduler_pb2, telemetry_pb2
from mosaic_console.domain.live import TOPICS
from mosaic_console.entrypoints.app import ROUTERS
from mosaic_console.entrypoints.needs import permission_of
from mosaic_registry.bootstrap import build as build_registry
from mosaic_registry.entrypoints.audit_api import AuditApi as RegistryAuditApi
from mosaic_registry.entrypoints.grpc_api import RegistryApi
from mosaic_registry.entrypoints.identity_api import IdentityApi
from mosaic_registry.handlers.fleet import register
from mosaic_registry.settings import Settings as RegistrySettings
from mosaic_scheduler.entrypoints.audit_api import AuditApi
from mosaic_scheduler.entrypoints.grpc_api import SchedulerApi
from mosaic_telemetry.entrypoints.grpc_api import TelemetryApi
from mosaic_telemetry.entrypoints.service import TelemetryService
from mosaic_telemetry.entrypoints.service import build as build_telemetry
from mosaic_telemetry.settings import Settings as TelemetrySettings
from tests.announcements import NOON, an_announcement
from tests.fakes.calls import Call, admin, member
from tests.fakes.databases import migrated_file
from tests.fakes.scheduler import Desk
from tests.fakes.telemetry import EVENT_KEY, a_finished_run, encoded, metrics
from tests.unit.hosting.test_rights import EXPECTED, OTHER_TEAM, OWN, SAME_TEAM, a_caller

PLACES = {"own": OWN, "same team": SAME_TEAM, "other team": OTHER_TEAM}
SCHEDULER, TELEMETRY = "mosaic.wire.v1.Scheduler", "mosaic.wire.v1.Telemetry"
REGISTRY, AUDIT = "mosaic.wire.v1.Registry", "mosaic.wire.v1.Audit"


class World:
    """The three services, with a run of each place that telemetry has heard of."""

    def __init__(self, folder: Path) -> None:
        self.desk = Desk(folder)
        with self.desk.store.write() as work:
            for _, team in PLACES.values():
                work.save_team(Team(team))
        self.runs = {place: self._run(*place) for place in PLACES.values()}
        self.telemetry = self._telemetry(folder)
        url = migrated_file("mosaic_registry.adapters.migrations", folder / "registry.db")
        self.registry = build_registry(RegistrySettings(url))
        register(an_announcement("a1"), catalog=self.registry.catalog, now=NOON)
        self.apis: dict[str, Any] = {
            SCHEDULER: self.desk.api(),
            TELEMETRY: self.telemetry.servicer(),
            REGISTRY: RegistryApi(self.registry, CollectorRegistry()),
            AUDIT: AuditApi(self.desk.store),
        }

    def _run(self, owner: str, team: TeamName) -> str:
        researcher = member(owner, **{team: Role.RESEARCHER})
        return self.desk.submit(caller=researcher, team=team).run_id

    def _telemetry(self, folder: Path) -> TelemetryService:
        service = build_telemetry(TelemetrySettings(f"sqlite:///{folder}/events.db", str(folder), EVENT_KEY))
        for (owner, team), run_id in self.runs.items():
            service.ingest.send([encoded(metrics(3), run_id=run_id)])
            service.run_finished(a_finished_run(2, run_id=run_id))
            service.runs_accepted([RunAccepted(RunId(run_id), team, UserName(owner))])
        return service

    def close(self) -> None:
        self.telemetry.parts.engine.dispose()
        self.registry.engine.dispose()
        self.desk.engine.dispose()

    def call(self, service: str, method: str, request: Any, call: Call) -> list[Any]:
        """Return the messages with which *method* answers, or raise what it raises."""
        api = self.apis[service]
        behaviour = getattr(api, method)
        is_stream = method.startswith(("Watch", "ReadEvents", "ReadLogs", "ReadAudit"))
        handler = (grpc.unary_stream_rpc_method_handler if is_stream else grpc.unary_unary_rpc_method_handler)(
            behaviour
        )
        control = AccessControl(declared_methods(api, service))
        guarded = control.intercept_service(lambda _: handler, _Details(f"/{service}/{method}"))
        return list(guarded.unary_stream(request, call)) if is_stream else [guarded.unary_unary(request, call)]


@dataclass
class _Details:
    method: str


Place = tuple[str, TeamName]


@dataclass(frozen=True)
class Verb:
    """A call about a thing: what it needs, who may know of the thing, and whether an answer holds it."""

    service: str
    method: str
    needs: Permission
    seen_by: Permission
    request: Callable[[World, Place], Any]
    holds: Callable[[list[Any], str, TeamName], bool] = lambda answers, run_id, team: True
    #: The thing is of the team or of whoever asks, not of another member.
    is_of_team: bool = False
    #: Whoever may ask may ask of every thing, be it there or not.
    is_of_fleet: bool = False


def _run_verb(service: str, method: str, kind: Any, permission: Permission = Permission.RUNS_READ) -> Verb:
    return Verb(service, method, permission, Permission.RUNS_READ, lambda world, place: kind(run_id=world.runs[place]))


def _listing(service: str, method: str, kind: Any, permission: Permission, holds: Callable[..., bool]) -> Verb:
    return Verb(service, method, permission, permission, lambda world, place: kind(), holds, is_of_team=True)


def _of_fleet(method: str, request: Any) -> Verb:
    admit = Permission.AGENTS_ADMIT
    return Verb(REGISTRY, method, admit, admit, lambda world, place: request, is_of_fleet=True)


def _team(name: str, **terms: Any) -> Any:
    return scheduler_pb2.SetTeamRequest(team=scheduler_pb2.Team(name=name, **terms), terms=list(terms))


P, W, T = Permission, scheduler_pb2, telemetry_pb2
VERBS = {
    "get": _run_verb(SCHEDULER, "GetRun", W.GetRunRequest),
    "explain": _run_verb(SCHEDULER, "Explain", W.GetRunRequest),
    "watch": Verb(
        SCHEDULER,
        "WatchRuns",
        P.RUNS_READ,
        P.RUNS_READ,
        lambda world, place: W.WatchRunsRequest(run_ids=[world.runs[place]]),
    ),
    "list": _listing(
        SCHEDULER,
        "ListRuns",
        W.ListRunsRequest,
        P.RUNS_READ,
        lambda answers, run_id, team: run_id in {run.run_id for run in answers[0].runs},
    ),
    "cancel": _run_verb(SCHEDULER, "Cancel", W.RunCommand, P.RUNS_CHANGE),
    "pause": _run_verb(SCHEDULER, "Pause", W.RunCommand, P.RUNS_CHANGE),
    "resume": _run_verb(SCHEDULER, "Resume", W.RunCommand, P.RUNS_CHANGE),
    "retry": _run_verb(SCHEDULER, "Retry", W.RunCommand, P.RUNS_CHANGE),
    "submit": Verb(
        SCHEDULER,
        "Submit",
        P.RUNS_SUBMIT,
        P.TEAMS_READ,
        lambda world, place: W.SubmitRequest(spec=W.RunSpec(worker="toy", team=place[1])),
        is_of_team=True,
    ),
    "limit a team": Verb(
        SCHEDULER,
        "SetTeam",
        P.TEAMS_LIMIT,
        P.TEAMS_READ,
        lambda world, place: _team(place[1], max_running_per_user=3),
        is_of_team=True,
    ),
    "weigh a team": Verb(
        SCHEDULER, "SetTeam", P.TEAMS_CHANGE, P.TEAMS_READ, lambda world, place: _team(place[1], weight=2)
    ),
    "list teams": _listing(
        SCHEDULER,
        "ListTeams",
        W.ListTeamsRequest,
        P.TEAMS_READ,
        lambda answers, run_id, team: team in {each.name for each in answers[0].teams},
    ),
    "set a team's secret": Verb(
        SCHEDULER,
        "SetSecret",
        P.SECRETS_CHANGE,
        P.SECRETS_READ,
        lambda world, place: W.SetSecretRequest(name="hub", value="x", team=place[1]),
    ),
    "list secrets": _listing(
        SCHEDULER,
        "ListSecrets",
        W.ListSecretsRequest,
        P.SECRETS_READ,
        lambda answers, run_id, team: team in {each.team for each in answers[0].secrets},
    ),
    "delete a team's secret": Verb(
        SCHEDULER,
        "DeleteSecret",
        P.SECRETS_CHANGE,
        P.SECRETS_READ,
        lambda world, place: W.DeleteSecretRequest(name="hub", team=place[1]),
    ),
    "events": _run_verb(TELEMETRY, "ReadEvents", T.ReadEventsRequest),
    "logs": _run_verb(TELEMETRY, "ReadLogs", T.ReadLogsRequest),
    "series": _run_verb(TELEMETRY, "ListSeries", T.ListSeriesRequest),
    "curve": _run_verb(
        TELEMETRY, "ReadSeries", lambda run_id: T.ReadSeriesRequest(run_id=run_id, key=T.SeriesKey(name="loss"))
    ),
    "episodes": _run_verb(TELEMETRY, "ReadEpisodes", T.ReadEpisodesRequest),
    "summary": Verb(
        TELEMETRY,
        "Summarise",
        P.RUNS_READ,
        P.RUNS_READ,
        lambda world, place: T.SummariseRequest(run_ids=[world.runs[place]]),
        lambda answers, run_id, team: bool(answers[0].summaries),
    ),
    "manifest": _run_verb(TELEMETRY, "GetManifest", T.GetManifestRequest),
    "fleet": _listing(REGISTRY, "GetFleet", registry_pb2.GetFleetRequest, P.FLEET_READ, lambda *_: True),
    "describe": Verb(
        REGISTRY,
        "DescribeWorker",
        P.FLEET_READ,
        P.FLEET_READ,
        lambda world, place: registry_pb2.DescribeWorkerRequest(name="cleanrl"),
    ),
    "drain": Verb(
        REGISTRY,
        "Drain",
        P.FLEET_CHANGE,
        P.FLEET_READ,
        lambda world, place: registry_pb2.DrainRequest(node_id="n1", draining=True),
    ),
    "invite": _of_fleet("Invite", registry_pb2.InviteRequest(uses=1, ttl_s=60)),
    "list the admitted": _of_fleet("ListAdmitted", registry_pb2.ListAdmittedRequest()),
    "revoke an agent": _of_fleet("RevokeAgent", registry_pb2.RevokeAgentRequest(agent_id="a1")),
    "audit": _listing(
        AUDIT,
        "ReadAudit",
        audit_pb2.ReadAuditRequest,
        P.AUDIT_READ,
        lambda answers, run_id, team: run_id in {entry.target for entry in answers},
    ),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("world"))
    world.telemetry.start()
    yield world
    world.telemetry.stop()
    world.close()


def outcome(world: World, verb: Verb, role: Role, place: Place) -> str:
    if "ecret" in verb.method:
        for team in {team for _, team in PLACES.values()}:
            world.call(SCHEDULER, "SetSecret", W.SetSecretRequest(name="hub", value="x", team=team), Call(admin()))
    looks_once = Call(a_caller(role), wanted=1, on_look=world.desk.changes.notify)
    try:
        answers = world.call(verb.service, verb.method, verb.request(world, place), looks_once)
    except Forbidden:
        return "forbidden"
    except (NotFound, BadInput) as error:
        # Of a manifest that is not written yet one hears only who may see the run.
        return "ok" if verb.is_of_fleet or "no manifest yet" in str(error) else "not found"
    except Refused:
        return "ok"  # who may, but not in this state
    return "ok" if verb.holds(answers, world.runs[place], place[1]) else "not found"


def expected(world: World, verb: Verb, role: Role, place: Place) -> str:
    granted = EXPECTED[role]
    door = declared(getattr(type(world.apis[verb.service]), verb.method))
    assert door is not None
    if not granted.get(door):
        return "forbidden"  # whatever it is about
    thing = OWN if verb.is_of_team and place == SAME_TEAM else place
    if verb.method.endswith("etSecret") or verb.method == "DeleteSecret":
        thing = SAME_TEAM if place == OWN else place  # a team's is nobody's own
    if thing in granted.get(verb.needs, ()):
        return "ok"
    return "forbidden" if thing in granted.get(verb.seen_by, ()) else "not found"


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("verb", VERBS)
def test_each_role_gets_what_the_table_says_and_what_is_out_of_sight_is_not_there(
    world: World, verb: str, role: Role, place: str
) -> None:
    told = outcome(world, VERBS[verb], role, PLACES[place])

    assert expected(world, VERBS[verb], role, PLACES[place]) == told


#: What answers calls, by the service of the protocol.
ANSWERS: dict[str, tuple[type, ...]] = {
    "Scheduler": (SchedulerApi,),
    "Telemetry": (TelemetryApi,),
    "Registry": (RegistryApi,),
    "Identity": (IdentityApi,),
    "Audit": (AuditApi, RegistryAuditApi),
}
_OF_NOBODY_ELSE = {Permission.AGENT, Permission.SERVICE, Permission.CONSOLE, Permission.SIGNED_IN, Permission.ANYONE}


def protocol() -> dict[str, list[str]]:
    """Return every gRPC service and its methods."""
    modules = [one.name for one in pkgutil.iter_modules(mosaic.wire.v1.__path__) if one.name.endswith("_pb2")]
    services = [import_module(f"mosaic.wire.v1.{name}").DESCRIPTOR.services_by_name for name in modules]
    return {name: [method.name for method in found.methods] for each in services for name, found in each.items()}


def test_every_method_of_the_protocol_declares_what_it_needs() -> None:
    undeclared = [
        f"{kind.__name__}.{method}"
        for service, methods in protocol().items()
        for kind in ANSWERS[service]
        for method in methods
        if declared(getattr(kind, method)) is None
    ]

    assert [] == undeclared


def test_every_method_that_a_role_opens_is_in_the_table() -> None:
    people = {"Identity"}  # whose table is tests/unit/registry/test_people.py
    opened = {
        (f"mosaic.wire.v1.{service}", method)
        for service, methods in protocol().items()
        if service not in people
        for method in methods
        if declared(getattr(ANSWERS[service][0], method)) not in _OF_NOBODY_ELSE
    }

    assert opened == {(verb.service, verb.method) for verb in VERBS.values()}


def test_every_route_and_topic_declares_what_it_needs() -> None:
    routes = [route for router in ROUTERS for route in router.routes]

    assert [] == [route for route in routes if permission_of(route) is None]
    assert all(isinstance(permission, Permission) for permission in TOPICS.values())
