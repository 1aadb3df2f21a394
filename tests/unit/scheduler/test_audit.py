"""What the scheduler writes down: every change, every refusal, and no secret."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from mosaic.errors import BadInput, MosaicError, SessionRejected
from mosaic.hosting.grpc_server import GrpcServer, Registration
from mosaic.ids import TeamName, UserName
from mosaic.model.audit import ActorKind, AuditEntry, AuditFilter, broken_link
from mosaic.model.identity import Caller, Role
from mosaic.testing.certificates import certificates
from mosaic.wire.caller import speak_for
from mosaic.wire.channel import open_channel
from mosaic.wire.tls import TlsFiles
from mosaic.wire.v1 import audit_pb2, scheduler_pb2_grpc
from mosaic.wire.v1 import scheduler_pb2 as wire
from mosaic_scheduler.entrypoints.audit_api import AuditApi
from tests.fakes.calls import Call, admin, member
from tests.fakes.scheduler import Desk

ANN = Caller(
    UserName("ann"),
    teams={TeamName("vision"): Role.RESEARCHER},
    via="token:7",
    request_id="req-1",
    address="10.0.0.9",
)
EVE = member("eve", speech=Role.TEAM_ADMIN)
LEAD = member("lead", vision=Role.TEAM_ADMIN)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.engine.dispose()


def trail(desk: Desk) -> list[AuditEntry]:
    return desk.store.audit_trail(AuditFilter(), teams=None, limit=1000)


def submit(desk: Desk, caller: Caller, team: str) -> str:
    spec = wire.RunSpec(worker="toy", team=team)
    return desk.api().Submit(wire.SubmitRequest(spec=spec), Call(caller)).runs[0].run_id


def test_an_entry_says_who_what_whose_and_by_which_credential(desk: Desk) -> None:
    run_id = submit(desk, ANN, "vision")

    (entry,) = trail(desk)

    assert ("user:ann", ActorKind.PERSON, "token:7", "req-1", "10.0.0.9") == (
        entry.actor,
        entry.kind,
        entry.via,
        entry.request_id,
        entry.address,
    )
    assert ("runs:submit", run_id, "vision", True) == (entry.action, entry.target, entry.team, entry.allowed)
    assert (desk.now, "scheduler", 1) == (entry.time, entry.service, entry.seq)


def test_every_change_leaves_an_entry(desk: Desk) -> None:
    api, boss = desk.api(), Call(admin())
    run_id = submit(desk, admin(), "default")
    desk.rounds.plan()
    launch = desk.claim(desk.run_of(run_id))
    desk.report(launch, "started")
    api.Pause(wire.RunCommand(run_id=run_id), boss)
    desk.report(launch, "paused")
    api.Resume(wire.RunCommand(run_id=run_id), boss)
    api.Cancel(wire.RunCommand(run_id=run_id), boss)
    desk.report(launch, "cancelled")
    api.Retry(wire.RunCommand(run_id=run_id), boss)
    api.SetTeam(wire.SetTeamRequest(team=wire.Team(name="vision", weight=2), terms=["weight"]), boss)

    actions = [entry.action for entry in trail(desk)]

    changes = ["runs:submit", "runs:pause", "runs:resume", "runs:cancel", "runs:submit", "teams:change"]
    assert changes == actions
    assert ({}, 2.0) == (trail(desk)[-1].before, trail(desk)[-1].after["weight"])
    assert broken_link(trail(desk)) is None


def test_what_failed_left_no_entry_of_a_change(desk: Desk) -> None:
    with pytest.raises(BadInput):
        desk.submit({"nonsense": 1})

    assert [] == trail(desk)


@pytest.mark.parametrize("verb", ["Cancel", "Pause", "Resume", "Retry"])
@pytest.mark.parametrize(("caller", "code"), [(member("bob", vision=Role.VIEWER), "forbidden"), (EVE, "run_not_found")])
def test_every_refusal_leaves_one_too(desk: Desk, verb: str, caller: Caller, code: str) -> None:
    run_id = submit(desk, ANN, "vision")

    with pytest.raises(MosaicError):
        getattr(desk.api(), verb)(wire.RunCommand(run_id=run_id), Call(caller))

    refused = trail(desk)[-1]
    assert (caller.actor, f"runs:{verb.lower()}", run_id, "vision", False) == (
        refused.actor,
        refused.action,
        refused.target,
        refused.team,
        refused.allowed,
    )
    assert refused.reason.startswith(code)


@pytest.mark.parametrize("team", ["vision", "unknown"])
def test_a_submit_to_a_team_out_of_sight_is_a_refusal(desk: Desk, team: str) -> None:
    submit(desk, ANN, "vision")

    with pytest.raises(BadInput):
        submit(desk, EVE, team)

    assert ("runs:submit", team, False) == (trail(desk)[-1].action, trail(desk)[-1].target, trail(desk)[-1].allowed)


def test_a_claim_with_a_wrong_session_is_written_down_as_the_agents(desk: Desk) -> None:
    request = wire.ClaimRequest(run_id="01", attempt=1, agent_id="agent-1", session_token="guessed")

    with pytest.raises(SessionRejected):
        desk.api().Claim(request, Call(peer="agent/agent-1"))

    (entry,) = trail(desk)
    assert ("agent:agent-1", ActorKind.AGENT, "attempts:claim", False) == (
        entry.actor,
        entry.kind,
        entry.action,
        entry.allowed,
    )
    assert "guessed" not in str(entry)


def test_who_administers_a_team_reads_what_concerns_it_and_no_more(desk: Desk) -> None:
    mine, theirs = submit(desk, ANN, "vision"), submit(desk, EVE, "speech")

    def read(caller: Caller, **wanted: object) -> list[str]:
        request = audit_pb2.ReadAuditRequest(**wanted)  # type: ignore[arg-type]
        return [entry.target for entry in AuditApi(desk.store).ReadAudit(request, Call(caller))]

    auditor = Caller(UserName("aud"), roles=frozenset({Role.AUDITOR}))
    assert ([mine], [theirs], [mine, theirs]) == (read(LEAD), read(EVE), read(auditor))
    assert ([], []) == (read(LEAD, team="speech"), read(ANN))
    assert ([theirs], [theirs], [mine]) == (read(auditor, actor="eve"), read(auditor, after=1), read(auditor, limit=1))


def test_texts_that_a_caller_chose_are_bounded(desk: Desk) -> None:
    with pytest.raises(MosaicError):
        desk.api().Cancel(wire.RunCommand(run_id="x" * 100_000 + "\0"), Call(ANN))

    assert 256 == len(trail(desk)[-1].target)


def test_who_is_refused_before_it_is_known_what_about_is_written_down_too(desk: Desk) -> None:
    add = scheduler_pb2_grpc.add_SchedulerServicer_to_server
    registration = Registration("mosaic.wire.v1.Scheduler", desk.api(), add, note=desk.store.note)
    server = GrpcServer([registration], "127.0.0.1:0", certificates().service("scheduler"))
    server.start()

    def refused(peer: TlsFiles, method: str, request: object, caller: Caller | None = None) -> None:
        with open_channel(server.address, "scheduler", peer) as channel:
            call = getattr(scheduler_pb2_grpc.SchedulerStub(channel), method)
            with pytest.raises(grpc.RpcError):
                call(request, timeout=30, metadata=speak_for(caller) if caller else ())

    guest = member("guest", vision=Role.VIEWER)
    refused(certificates().service("console"), "Cancel", wire.RunCommand(run_id="01"), guest)
    refused(certificates().agent("a1"), "Claim", wire.ClaimRequest(run_id="01", agent_id="a2"))
    refused(certificates().agent("a1"), "Cancel", wire.RunCommand(run_id="01"), admin())
    server.stop(grace_s=0)

    told = [(entry.actor, entry.action, entry.target.rpartition("/")[2], entry.allowed) for entry in trail(desk)]
    assert [("user:guest", "runs:change", "Cancel", False), ("agent:a1", "agent", "Claim", False)] == told[:2]
