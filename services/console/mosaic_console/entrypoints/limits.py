"""How much a request may bring."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

#: A submission is a few kilobytes; a config of this size is a mistake.
MOST_BYTES = 1024 * 1024


class BodyTooLarge(Exception):
    """A request brings more than anybody needs to say."""

    def __init__(self) -> None:
        super().__init__(f"the body is larger than {MOST_BYTES // 1024} KiB; put data into files and name them")


async def read_whole(scope: Scope, receive: Receive) -> Receive:
    """Read the body and return what hands it on.

    Raises:
        BodyTooLarge: it says so, or turns out to be.
    """
    told = Headers(scope=scope).get("content-length", "0")
    if told.isdigit() and int(told) > MOST_BYTES:
        raise BodyTooLarge
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return _first(message, receive)
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST_BYTES:
            raise BodyTooLarge
    return _first({"type": "http.request", "body": bytes(body), "more_body": False}, receive)


def _first(message: Message, receive: Receive) -> Receive:
    waiting = [message]

    async def receiving() -> Message:
        return waiting.pop() if waiting else await receive()

    return receiving
