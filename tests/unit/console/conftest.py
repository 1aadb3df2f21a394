"""A console before a platform in memory."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest
from starlette.testclient import TestClient

from mosaic_console.adapters.local_identity import LocalIdentity
from mosaic_console.bootstrap import Parts
from mosaic_console.domain.keys import Keyring
from mosaic_console.entrypoints.app import build_door
from tests.fakes.console import InMemoryPlatform

TOKEN = "the-token-of-the-tests"
URL = "http://127.0.0.1:7420"


@dataclass
class Console:
    """A console and three ways to ask it."""

    platform: InMemoryPlatform
    keyring: Keyring
    #: Has no credential.
    stranger: TestClient
    #: Sends the token.
    script: TestClient

    def browser(self) -> TestClient:
        """Return a client that has signed in by a link."""
        client = TestClient(self.stranger.app, base_url=URL, follow_redirects=False)
        welcome = client.get("/sign-in", params={"code": self.keyring.new_code()})
        assert 200 == welcome.status_code
        return client


@pytest.fixture
def console() -> Console:
    platform, keyring = InMemoryPlatform(), Keyring(TOKEN, clock=time.monotonic)
    door = build_door(Parts(platform, LocalIdentity(keyring, "ada"), cookie="mosaic_session_7420"))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return Console(
        platform,
        keyring,
        TestClient(door, base_url=URL, follow_redirects=False),
        TestClient(door, base_url=URL, headers=headers, follow_redirects=False),
    )
