"""What is taken back is gone: at the next request, and from open streams within five seconds, on every replica."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

from mosaic.client import EventLine
from mosaic.ids import TeamName, UserName
from mosaic.model.identity import Role
from mosaic.model.people import User
from mosaic_console.bootstrap import Parts
from mosaic_console.entrypoints import slow_clients
from mosaic_console.entrypoints.server import ConsoleServer
from mosaic_console.ports import Credential
from tests.fakes.console import InMemoryPlatform
from tests.fakes.identity import InMemoryIdentity
from tests.stack.waiting import until
from tests.unit.console.test_server import settings

PASSWORD = "correct horse battery"
#: As promised, and what a busy machine takes besides.
WITHIN_S = 5.0


class Going:
    """A stream of events that goes on until it is closed."""

    def __init__(self) -> None:
        self._left = [EventLine(1, 1, 0.0, "step", b'{"event": "step"}')]
        self._closed = threading.Event()

    def __iter__(self) -> Going:
        return self

    def __next__(self) -> list[EventLine]:
        if self._left:
            return [self._left.pop()]
        self._closed.wait(60)
        raise StopIteration

    def close(self) -> None:
        self._closed.set()


class GoingOn(InMemoryPlatform):
    """A platform whose run goes on."""

    def events(self, *_: Any, **__: Any) -> Any:
        return Going()


class Replicas:
    """Two consoles before one platform and one registry, and a person with a token."""

    def __init__(self, started: ExitStack) -> None:
        self.identity, platform = InMemoryIdentity("root"), GoingOn()
        platform.add("r1")
        self.urls = [self._served(platform, started) for _ in range(2)]
        owner = self.identity.authenticate(Credential("token", self.identity.token))
        assert owner is not None
        self.admin = self.identity.people(owner)
        self.admin.add(User(UserName("eve"), teams={TeamName("vision"): Role.RESEARCHER}), PASSWORD)
        self.session = self.identity.sign_in("eve", PASSWORD, "")
        eve = self.identity.authenticate(Credential("session", self.session))
        assert eve is not None
        issued = self.identity.people(eve).issue_token("ci")
        self.token, self.token_id = issued.secret, issued.credential.credential_id

    def _served(self, platform: InMemoryPlatform, started: ExitStack) -> str:
        parts = Parts(platform, self.identity)
        server = ConsoleServer(settings(http_address="127.0.0.1:0"), parts=parts)
        server.start()
        started.callback(server.stop)
        # One after the other: the framework builds its routes with a filter of warnings that is the process's.
        until(lambda: server.fault() is None, what="the console")
        return server.login.url

    def status(self, url: str, secret: str) -> int:
        return httpx2.get(f"{url}/api/v1/runs", headers={"Authorization": f"Bearer {secret}"}, timeout=20).status_code


@pytest.fixture
def replicas() -> Iterator[Replicas]:
    with ExitStack() as started:
        yield Replicas(started)


class Listener:
    """Follows a stream until it ends."""

    def __init__(self, url: str, path: str, secret: str) -> None:
        self._asked = (f"{url}{path}", {"Authorization": f"Bearer {secret}"})
        self.has_begun = threading.Event()
        self.ended_at = 0.0
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        address, headers = self._asked
        with httpx2.stream("GET", address, headers=headers, timeout=60) as answer:
            assert 200 == answer.status_code
            for _ in answer.iter_bytes():
                self.has_begun.set()
        self.ended_at = time.monotonic()

    def wait(self) -> float:
        self._thread.join(30)
        return self.ended_at


TAKEN: dict[str, Callable[[Replicas], object]] = {
    "the token is revoked": lambda replicas: replicas.admin.revoke(replicas.token_id),
    "the user is deactivated": lambda replicas: replicas.admin.change("eve", active=False),
    "the role is taken": lambda replicas: replicas.admin.set_member("vision", "eve", None),
}


@pytest.mark.parametrize("what", TAKEN)
def test_streams_end_and_the_next_request_is_refused_on_both_replicas(replicas: Replicas, what: str) -> None:
    paths = ("/api/v1/live?topics=run:r1", "/api/v1/runs/r1/events?follow=true")
    listeners = [Listener(url, path, replicas.token) for url in replicas.urls for path in paths]
    for listener in listeners:
        assert listener.has_begun.wait(30)

    TAKEN[what](replicas)
    taken_at = time.monotonic()

    refused = 403 if what == "the role is taken" else 401
    assert [refused] * 2 == [replicas.status(url, replicas.token) for url in replicas.urls]
    late = [listener.wait() - taken_at for listener in listeners]
    assert all(0 < each < WITHIN_S for each in late), late


def test_who_signs_out_is_out_on_both_replicas(replicas: Replicas) -> None:
    assert [200, 200] == [replicas.status(url, replicas.session) for url in replicas.urls]

    replicas.identity.end_session(replicas.session)

    assert [401, 401] == [replicas.status(url, replicas.session) for url in replicas.urls]


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "])
def test_a_request_whose_head_never_comes_is_cut_off(
    replicas: Replicas, said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_clients, "HEAD_S", 0.5)
    host, _, port = replicas.urls[0].removeprefix("http://").partition(":")

    with socket.create_connection((host, int(port)), timeout=20) as slow:
        slow.sendall(said)
        assert b"" == slow.recv(1000)


def test_the_head_of_a_second_request_is_not_waited_for_either(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_clients, "HEAD_S", 0.5)
    host, _, port = replicas.urls[0].removeprefix("http://").partition(":")

    with socket.create_connection((host, int(port)), timeout=20) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        answer = b""
        while b"ok\n" not in answer:
            answer += slow.recv(4096)
        slow.sendall(b"GET /healthz HTT")
        assert b"" == slow.recv(1000)
