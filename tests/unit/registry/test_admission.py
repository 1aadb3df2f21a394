"""Who is let into the fleet, who is not, and who is put out of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from mosaic.errors import BadInput, Forbidden, NotFound, Refused
from mosaic.hosting.access import Peer
from mosaic.hosting.join_token import JoinToken
from mosaic.hosting.pki import Authority, Issued, new_key, request_pem, utc_now
from mosaic.ids import AgentId, UserName, WorkerName
from mosaic.model.admission import Invite
from mosaic.model.identity import Caller, Role
from mosaic_registry.domain.admission import NotInvited
from mosaic_registry.handlers import admission
from mosaic_registry.handlers.fleet import register
from tests.announcements import an_announcement
from tests.fakes.catalog import InMemoryCatalog

NOW = utc_now()
HOUR = timedelta(hours=1)
OPERATOR = Caller(UserName("olga"), roles=frozenset({Role.OPERATOR}), via="token:1")
CSR = request_pem(new_key())


class OwnIssuer:
    """The CA of a test."""

    def __init__(self) -> None:
        self.authority = Authority.new(NOW)

    def ca(self) -> bytes:
        return self.authority.ca_pem

    def issue(self, agent_id: str, request: bytes, *, now: Any) -> Issued:
        return self.authority.issue_agent(agent_id, request, now=now)


class Door:
    """The registry's door: invite, join, renew, revoke, at a time of one's choice."""

    def __init__(self) -> None:
        self.catalog, self.issuer, self.now = InMemoryCatalog(), OwnIssuer(), NOW

    def invite(self, uses: int = 1, ttl_s: float = 3600, worker: str = "", caller: Caller = OPERATOR) -> JoinToken:
        parts = {"catalog": self.catalog, "issuer": self.issuer, "now": self.now}
        token, known = admission.invite(caller, uses=uses, ttl_s=ttl_s, worker=WorkerName(worker), **parts)
        assert isinstance(known, Invite)
        return token

    def join(self, token: JoinToken, agent_id: str = "a1", request: bytes = CSR) -> Issued:
        parts = {"catalog": self.catalog, "issuer": self.issuer, "now": self.now}
        return admission.join(token, agent_id, request, **parts)

    def renew(self, issued: Issued, agent_id: str = "a1") -> Issued:
        peer = Peer(agent_id=agent_id, serial=issued.serial, expires=issued.expires)
        return admission.renew(peer, CSR, catalog=self.catalog, issuer=self.issuer, now=self.now)

    def revoke(self, agent_id: str, caller: Caller = OPERATOR) -> None:
        admission.revoke(caller, AgentId(agent_id), catalog=self.catalog, now=self.now)

    def actions(self) -> list[tuple[str, str]]:
        return [(entry.action, entry.actor) for entry in self.catalog._trail]


@pytest.fixture
def door() -> Door:
    return Door()


def test_an_invitation_lets_as_many_in_as_it_says_and_no_more(door: Door) -> None:
    token = door.invite(uses=2)
    first, second = (door.join(token, name, request_pem(new_key())) for name in ("a1", "a2"))

    with pytest.raises(NotInvited, match="used up"):
        door.join(token, "a3", request_pem(new_key()))

    assert first.serial != second.serial
    assert [("agents:invite", "user:olga"), ("agents:join", "agent:a1"), ("agents:join", "agent:a2")] == door.actions()


def test_asking_again_with_the_same_key_is_no_second_use(door: Door) -> None:
    token = door.invite()
    lost, heard = door.join(token), door.join(token)

    assert lost.key_digest == heard.key_digest
    with pytest.raises(NotInvited):
        door.join(token, "a1", request_pem(new_key()))


def test_an_invitation_ends_with_its_time(door: Door) -> None:
    token = door.invite(ttl_s=60)
    door.now += timedelta(seconds=60)

    with pytest.raises(NotInvited, match="expired"):
        door.join(token)


def test_who_guesses_learns_nothing(door: Door) -> None:
    token = door.invite()
    wrong_secret, wrong_id = replace(token, secret="0" * 64), replace(token, invite_id="0" * 16)

    said = set()
    for guess in (wrong_secret, wrong_id):
        with pytest.raises(NotInvited) as caught:
            door.join(guess)
        said.add(str(caught.value).replace(guess.invite_id, "ID"))

    assert 1 == len(said)
    assert token.secret not in repr(door.catalog._now.invite_by_id)


def test_nobody_joins_under_the_name_of_an_agent_of_the_fleet(door: Door) -> None:
    door.join(door.invite())
    another = door.invite()

    with pytest.raises(NotInvited, match="mosaic agents revoke a1"):
        door.join(another, "a1", request_pem(new_key()))

    door.revoke("a1")
    door.join(another, "a1", request_pem(new_key()))


def test_a_revoked_agent_is_out_of_the_fleet_and_gets_no_new_certificate(door: Door) -> None:
    issued = door.join(door.invite())
    peer = Peer(agent_id="a1", serial=issued.serial, expires=issued.expires)
    register(an_announcement(agent_id="a1"), catalog=door.catalog, now=NOW, peer=peer)

    door.revoke("a1")

    assert door.catalog.is_denied(issued.serial)
    assert [issued.serial] == list(door.catalog.denied(NOW))
    assert not door.catalog.fleet().agents
    with pytest.raises(NotInvited, match="revoked"):
        door.renew(issued)


def test_all_certificates_of_an_agent_are_revoked_and_none_of_another(door: Door) -> None:
    token = door.invite(uses=2)
    first, other = door.join(token), door.join(token, "a2", request_pem(new_key()))
    door.now += HOUR / 2
    second = door.renew(first)

    door.revoke("a1")

    assert sorted([first.serial, second.serial]) == list(door.catalog.denied(door.now))
    assert not door.catalog.is_denied(other.serial)
    assert [] == list(door.catalog.denied(door.now + timedelta(days=2)))


def test_a_certificate_from_elsewhere_can_be_revoked_once_it_was_seen(door: Door) -> None:
    issued = Authority.new(NOW).issue_agent("a1", CSR, now=NOW)
    peer = Peer(agent_id="a1", serial=issued.serial, expires=issued.expires)
    register(an_announcement(agent_id="a1"), catalog=door.catalog, now=NOW, peer=peer)

    door.revoke("a1")

    assert door.catalog.is_denied(issued.serial)


def test_an_agent_invited_for_one_worker_presents_no_other_even_after_a_renewal(door: Door) -> None:
    issued = door.renew(door.join(door.invite(worker="another")))
    peer = Peer(agent_id="a1", serial=issued.serial, expires=issued.expires)

    with pytest.raises(NotInvited, match="another"):
        register(an_announcement(agent_id="a1"), catalog=door.catalog, now=NOW, peer=peer)


def test_a_withdrawn_invitation_lets_nobody_in(door: Door) -> None:
    token = door.invite(uses=5)
    admission.withdraw_invite(OPERATOR, token.invite_id, catalog=door.catalog, now=NOW)

    with pytest.raises(NotInvited):
        door.join(token)


def test_what_is_open_is_listed_without_its_secret(door: Door) -> None:
    token = door.invite(uses=2)
    issued = door.join(token)
    door.invite(ttl_s=1)
    door.now += timedelta(seconds=2)

    found = admission.admitted(OPERATOR, catalog=door.catalog, now=door.now)

    assert [(token.invite_id, 1)] == [(one.invite_id, one.uses) for one in found.invites]
    assert [(issued.serial, "a1")] == [(one.serial, one.agent_id) for one in found.certificates]


@pytest.mark.parametrize("role", [Role.AUDITOR, None])
def test_only_operators_and_admins_admit(door: Door, role: Role | None) -> None:
    caller = Caller(UserName("eve"), roles=frozenset({role} if role else ()))

    for act in (lambda: door.invite(caller=caller), lambda: door.revoke("a1", caller)):
        with pytest.raises((Forbidden, NotFound)):
            act()
    assert not door.catalog._now.invite_by_id


@pytest.mark.parametrize(
    ("uses", "ttl_s"), [(0, 60), (-1, 60), (10**9, 60), (1, 0), (1, -1), (1, 1e12), (1, float("nan"))]
)
def test_an_invitation_without_end_is_refused(door: Door, uses: int, ttl_s: float) -> None:
    with pytest.raises(BadInput, match="invitation"):
        door.invite(uses, ttl_s)


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a\n", "x" * 200, "mosaic://service/console"])
def test_a_name_that_is_no_id_gets_no_certificate(door: Door, name: str) -> None:
    with pytest.raises(BadInput, match="agent_id"):
        door.join(door.invite(), name)


def test_a_registry_without_a_ca_says_so(door: Door) -> None:
    with pytest.raises(Refused, match="MOSAIC_REGISTRY_CA_KEY_FILE"):
        admission.invite(OPERATOR, uses=1, ttl_s=60, worker=WorkerName(""), catalog=door.catalog, issuer=None, now=NOW)


def test_a_misspelt_agent_is_not_revoked(door: Door) -> None:
    door.join(door.invite(), "agent-1")

    with pytest.raises(NotFound, match="did you mean 'agent-1'"):
        door.revoke("agent-l")
