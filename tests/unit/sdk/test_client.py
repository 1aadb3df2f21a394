"""The client against a door that answers what a test wants."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from mosaic.client import Login, Mosaic
from mosaic.client.rest import error_of
from mosaic.errors import (
    BadInput,
    Forbidden,
    IllegalTransition,
    MosaicError,
    Refused,
    RunNotFound,
    ServiceUnavailable,
    Unauthenticated,
    WorkerNotFound,
)
from mosaic_console.adapters.as_json import dumps
from mosaic_console.domain.problem import problem_of
from tests.stack.waiting import until

RUN = "01M7QNABQSJ201JX6VAY5CB7RS"
ERRORS = [
    BadInput("submission", ["one", "two\nlines"]),
    RunNotFound("x"),
    WorkerNotFound("x", ["y"]),
    Forbidden("ada", "runs:change", "run x"),
    IllegalTransition("queued", "paused"),
    Unauthenticated("who are you?"),
    ServiceUnavailable("telemetry", "t:1", "away"),
    Refused("not now"),
]


class Asked:
    """One request, and how it is answered."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self._handler = handler
        parts = urlsplit(handler.path)
        self.path = parts.path.removeprefix("/api/v1/")
        self.query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        self.token = handler.headers.get("Authorization", "").removeprefix("Bearer ")

    def answer(self, value: Any, status: int = 200) -> None:
        """Answer with JSON."""
        self.begin(status, value if isinstance(value, bytes) else json.dumps(value).encode())

    def begin(self, status: int, content: bytes) -> None:
        """Answer with *content*; what ends here ends the connection."""
        self._handler.send_response(status)
        self._handler.end_headers()
        self.more(content)

    def more(self, content: bytes) -> None:
        """Send more of a stream."""
        self._handler.wfile.write(content)
        self._handler.wfile.flush()


@contextmanager
def door(answer: Callable[[Asked], None]) -> Iterator[str]:
    """Serve *answer* and return the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(Asked(self))

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def event(seq: int) -> bytes:
    return json.dumps({"attempt": 1, "seq": seq, "time": 0.0, "kind": "step", "line": f"line {seq}"}).encode() + b"\n"


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_the_same_on_both_sides_of_the_door(error: MosaicError) -> None:
    told = problem_of(error)

    crossed = error_of(told.status, dumps(told).encode(), "http://x")

    assert (type(error), str(error), error.exit_code) == (type(crossed), str(crossed), crossed.exit_code)
    assert getattr(error, "faults", None) == getattr(crossed, "faults", None)


@pytest.mark.parametrize(("status", "exit_code"), [(502, 5), (503, 5), (401, 7), (403, 4), (404, 3), (500, 1)])
def test_a_proxy_that_knows_nothing_of_us_is_understood_by_its_status(status: int, exit_code: int) -> None:
    error = error_of(status, b"<html>nginx</html>", "http://x")

    assert exit_code == error.exit_code
    assert str(status) in str(error)


def test_what_is_no_platform_is_said() -> None:
    with (
        door(lambda asked: asked.answer(b"<html>hello</html>")) as url,
        Mosaic(Login(url)) as client,
        pytest.raises(MosaicError, match="is no platform"),
    ):
        client.fleet()


def test_a_follower_goes_on_where_the_stream_broke_off() -> None:
    asked_from: list[str] = []

    def answer(asked: Asked) -> None:
        asked_from.append(asked.query.get("from", ""))
        if len(asked_from) == 1:
            asked.answer(event(0) + b"\n" + event(1) + event(2)[:20])
        elif len(asked_from) == 2:
            problem = {"status": 503, "code": "service_unavailable", "detail": "telemetry is away", "faults": []}
            asked.answer(event(2) + json.dumps({"problem": problem}).encode() + b"\n")
        else:
            asked.answer(event(3) + b'{"finished":true}\n')

    away: list[int] = []
    with door(answer) as url, Mosaic(Login(url)) as client:
        seen = [line.seq for line in client.events(RUN, follow=True, on_away=lambda: away.append(1))]

    assert [0, 1, 2, 3] == seen
    assert ["", "1.2", "1.3"] == asked_from
    assert [1, 1] == away


def test_a_stream_that_cannot_be_opened_is_an_error_with_its_sentence() -> None:
    def answer(asked: Asked) -> None:
        asked.answer(json.loads(dumps(problem_of(RunNotFound("x")))), 404)

    with door(answer) as url, Mosaic(Login(url)) as client, pytest.raises(RunNotFound, match="there is no run 'x'"):
        next(client.events("x", follow=True))


def test_a_platform_that_came_back_elsewhere_is_found() -> None:
    with door(lambda asked: asked.answer({"fault": f"of {asked.token}"})) as url:
        found = [Login("http://127.0.0.1:1", "old"), Login(url, "new")]
        with Mosaic(found[0], find=lambda: found[1]) as client:
            assert "of new" == client.telemetry_fault()
            assert found[1] == client.login


def test_a_platform_that_has_a_new_token_is_asked_with_it_by_every_thread() -> None:
    def answer(asked: Asked) -> None:
        if asked.token == "new":
            asked.answer({"fault": "well"})
        else:
            asked.answer(json.loads(dumps(problem_of(Unauthenticated("who are you?")))), 401)

    with door(answer) as url:
        old, new = Login(url, "old"), Login(url, "new")
        with Mosaic(old, find=lambda: new) as client:
            assert "well" == client.telemetry_fault()
            client._rest.login = old
            found: list[str] = []
            threads = [threading.Thread(target=lambda: found.append(client.telemetry_fault())) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
            assert ["well"] * 8 == found
        with Mosaic(old) as client, pytest.raises(Unauthenticated, match="who are you"):
            client.telemetry_fault()


def test_nobody_there_is_said_with_the_address() -> None:
    with Mosaic(Login("http://127.0.0.1:1")) as client, pytest.raises(ServiceUnavailable, match=r"127\.0\.0\.1:1"):
        client.fleet()


def test_closing_lets_go_of_who_waits() -> None:
    leave, outcome = threading.Event(), []

    def answer(asked: Asked) -> None:
        asked.begin(200, event(0))
        leave.wait(30)

    def follow(client: Mosaic) -> None:
        try:
            for line in client.events(RUN, follow=True):
                outcome.append(line.seq)
        except Refused as error:
            outcome.append(str(error))

    with door(answer) as url:
        client = Mosaic(Login(url))
        waiting = threading.Thread(target=follow, args=[client])
        waiting.start()
        until(lambda: outcome, what="the first event")
        begun = time.monotonic()
        client.close()
        waiting.join(10)
        leave.set()

    assert not waiting.is_alive()
    assert 5 > time.monotonic() - begun
    assert [0, "the connection to the platform was closed"] == outcome
