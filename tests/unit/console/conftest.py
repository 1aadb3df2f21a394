"""A console before a platform in memory."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from starlette.testclient import TestClient

from mosaic.model.identity import Caller
from mosaic.model.people import CredentialKind, new_text
from mosaic_console.bootstrap import Parts
from mosaic_console.entrypoints.app import build_door
from mosaic_console.ports import Credential
from tests.fakes.console import InMemoryPlatform
from tests.fakes.identity import InMemoryIdentity

URL = "http://127.0.0.1:7420"
TOKEN = new_text(CredentialKind.TOKEN)


@dataclass
class Console:
    """A console and three ways to ask it."""

    platform: InMemoryPlatform
    identity: InMemoryIdentity
    #: Has no credential.
    stranger: TestClient
    #: Sends the token.
    script: TestClient

    def caller(self) -> Caller:
        """Return the owner, as the console knows them."""
        caller = self.identity.authenticate(Credential("token", self.identity.token))
        assert caller is not None
        return caller

    def browser(self) -> TestClient:
        """Return a client that has signed in by a link."""
        client = TestClient(self.stranger.app, base_url=URL, follow_redirects=False)
        welcome = client.get("/sign-in", params={"code": self.identity.code()})
        assert 200 == welcome.status_code
        return client


@pytest.fixture
def console() -> Console:
    platform, identity = InMemoryPlatform(), InMemoryIdentity(token=TOKEN)
    door = build_door(Parts(platform, identity, cookie="mosaic_session_7420"))
    headers = {"Authorization": f"Bearer {identity.token}"}
    return Console(
        platform,
        identity,
        TestClient(door, base_url=URL, follow_redirects=False),
        TestClient(door, base_url=URL, headers=headers, follow_redirects=False),
    )
