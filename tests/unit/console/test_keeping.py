"""Secrets and the audit trail over REST, and topics that are not everybody's."""

from __future__ import annotations

import json

import pytest

from mosaic.ids import TeamName, UserName
from mosaic.model.audit import AuditEntry, broken_link
from mosaic.model.codec import from_json
from mosaic.model.identity import Caller, Permission, Role
from mosaic.model.people import User
from mosaic_console.domain.live import TOPICS, permission_of, read_topics
from mosaic_console.entrypoints.feed import Feeds
from mosaic_console.ports import Credential as SignedIn
from tests.fakes.calls import admin, member
from tests.fakes.console import InMemoryPlatform
from tests.unit.console.conftest import Console

VALUE = "hunter2-hunter2"


def test_a_secret_is_set_listed_and_forgotten_and_never_told(console: Console) -> None:
    told = console.script.put("/api/v1/secrets/hub", params={"team": "vision"}, json={"value": VALUE})
    listed = console.script.get("/api/v1/secrets")
    gone = console.script.delete("/api/v1/secrets/hub", params={"team": "vision"})

    assert [200] * 3 == [answer.status_code for answer in (told, listed, gone)]
    assert [("hub", "vision", "ada")] == [(one["name"], one["team"], one["user"]) for one in listed.json()]
    assert ("set_secret", "hub", VALUE, "vision", "ada") in console.platform.done
    assert VALUE not in told.text + listed.text + gone.text
    assert 404 == console.script.delete("/api/v1/secrets/hub").status_code


def test_agents_are_invited_listed_and_put_out(console: Console) -> None:
    invited = console.script.post("/api/v1/agents/invites", json={"uses": 2, "worker": "toy"})
    listed = console.script.get("/api/v1/agents")
    for path in ("agents/a1", "agents/invites/i1"):
        assert 200 == console.script.delete(f"/api/v1/{path}").status_code

    assert ("mosaic_join_x", "i1") == (invited.json()["token"], invited.json()["invite"]["invite_id"])
    assert ["a1"] == [one["agent_id"] for one in listed.json()["certificates"]]
    done = [one for one in console.platform.done if one[0] in ("invite", "revoke_agent")]
    assert [("invite", "2", "3600.0", "toy"), ("revoke_agent", "a1", ""), ("revoke_agent", "", "i1")] == done


@pytest.mark.parametrize("body", [{}, {"value": None}, {"value": 7}, {"values": VALUE}])
def test_a_refused_value_is_not_told_back(console: Console, body: object) -> None:
    refused = console.script.put("/api/v1/secrets/hub", json=body)

    assert 400 == refused.status_code
    assert VALUE not in refused.text


def test_the_trail_comes_as_lines_that_can_be_verified(console: Console) -> None:
    asked = {"team": "vision", "actor": "ann", "after": "3", "limit": "9"}

    got = console.script.get("/api/v1/audit/scheduler", params=asked)

    entries = [from_json(AuditEntry, json.loads(line)) for line in got.text.splitlines() if line]
    assert broken_link(entries) is None
    assert ("audit", "scheduler", "vision", "ann", "3", "9") in console.platform.done


@pytest.mark.parametrize("path", ["/api/v1/audit/telemetry", "/api/v1/audit/scheduler?since=yesterday"])
def test_a_trail_that_there_is_not_is_bad_input(console: Console, path: str) -> None:
    assert 400 == console.script.get(path).status_code


def test_who_is_refused_at_the_door_to_change_something_is_written_down(console: Console) -> None:
    root = console.identity.people(console.caller())
    root.add(User(UserName("gus")), "correct horse battery")
    root.set_member("vision", "gus", Role.VIEWER)
    session = console.identity.sign_in("gus", "correct horse battery", "")
    gus = console.identity.authenticate(SignedIn("session", session))
    assert gus is not None
    issued = console.identity.people(gus).issue_token("mine")
    guest = {"Authorization": f"Bearer {issued.secret}"}

    refused = console.stranger.post("/api/v1/runs/r1/cancel", headers=guest)
    looked = console.stranger.get("/api/v1/audit/scheduler", headers=guest)

    assert (403, 403) == (refused.status_code, looked.status_code)
    assert [("gus", "runs:change", "POST /api/v1/runs/r1/cancel")] == console.identity.refused


def test_every_topic_declares_what_it_needs() -> None:
    assert {"run", "queue", "fleet"} == set(TOPICS)
    assert [Permission.RUNS_READ] * 2 + [Permission.FLEET_READ] == [
        permission_of(topic) for topic in read_topics("run:r1,queue,fleet")
    ]


def test_only_who_may_see_the_same_share_a_look() -> None:
    feeds = Feeds(InMemoryPlatform())
    scoped = Caller(UserName("bob"), teams={TeamName("vision"): Role.VIEWER}, scopes=frozenset({Permission.RUNS_READ}))
    ann, bob, eve = (
        member("ann", vision=Role.VIEWER),
        member("bob", vision=Role.RESEARCHER),
        member("eve", visio=Role.VIEWER),
    )

    assert feeds.of(ann) is feeds.of(bob)
    assert 4 == len({id(feeds.of(caller)) for caller in (ann, eve, scoped, admin())})
