"""How much a request may bring, and how long it may take to bring it."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

#: A submission is a few kilobytes; a config of this size is a mistake.
MOST_BYTES = 1024 * 1024
_BODY_S = 30.0


class BodyTooLarge(Exception):
    """A request brings more than anybody needs to say."""

    def __init__(self) -> None:
        super().__init__(f"the body is larger than {MOST_BYTES // 1024} KiB; put data into files and name them")


class BodyTooLate(Exception):
    """A request does not bring what it promised."""

    def __init__(self) -> None:
        super().__init__(f"the body did not arrive within {_BODY_S:g} s")


async def read_whole(scope: Scope, receive: Receive) -> tuple[bytes, Receive]:
    """Read the body; return it, and what hands it on.

    Raises:
        BodyTooLarge: it says so, or turns out to be.
        BodyTooLate: whoever sends it is too slow.
    """
    told = Headers(scope=scope).get("content-length", "0")
    if told.isdigit() and int(told) > MOST_BYTES:
        raise BodyTooLarge
    try:
        async with asyncio.timeout(_BODY_S):
            return await _read(receive)
    except TimeoutError as error:
        raise BodyTooLate from error


async def _read(receive: Receive) -> tuple[bytes, Receive]:
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body), _first(message, receive)
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST_BYTES:
            raise BodyTooLarge
    whole = bytes(body)
    return whole, _first({"type": "http.request", "body": whole, "more_body": False}, receive)


def _first(message: Message, receive: Receive) -> Receive:
    waiting = [message]

    async def receiving() -> Message:
        return waiting.pop() if waiting else await receive()

    return receiving
