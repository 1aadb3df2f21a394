"""Connections on which nothing comes or goes are closed: whoever is slow on purpose holds nothing of ours."""

from __future__ import annotations

import asyncio

from starlette.types import Message, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

#: A request's line and headers arrive within this time.
HEAD_S = 15.0
#: Whoever takes nothing of an answer for so long is gone.
READ_S = 60.0


class ImpatientProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, which by itself waits for the head of a request for ever."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self._late = self.loop.call_later(HEAD_S, self._cut)

    def data_received(self, data: bytes) -> None:
        """Wait no longer once the head is whole, and again when another one begins."""
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()
        elif self._late is None and not self.transport.is_closing():
            self._late = self.loop.call_later(HEAD_S, self._cut)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _cut(self) -> None:
        self._late = None
        if not self._is_answering():
            self.transport.close()


def impatient(send: Send) -> Send:
    """Return *send*, which gives up when what it sends is not taken."""

    async def sending(message: Message) -> None:
        try:
            async with asyncio.timeout(READ_S):
                await send(message)
        except TimeoutError as error:
            raise ConnectionAbortedError("the reader takes nothing") from error

    return sending
