"""Streams of JSON lines: whoever reads slowly is waited for, whoever leaves is noticed, whoever is revoked is ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from mosaic.errors import MosaicError, Unavailable
from mosaic.model.identity import Caller
from mosaic_console.adapters.as_json import dumps
from mosaic_console.domain.problem import problem_of
from mosaic_console.ports import Credential, Identity, Stream

ItemT = TypeVar("ItemT")

#: Of each stream a thread waits for what comes next.
_MOST = 1000
#: What fails so soon is a problem with a status of its own; afterwards it is the last line of the stream.
_FIRST_S = 0.5
#: An empty line after so long tells readers and proxies that the stream is still there.
_STILL_THERE_S = 5.0
#: So often a stream asks whether its reader is still welcome.
LOOK_S = 2.0
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
NDJSON = "application/x-ndjson"
_END: Any = object()


class Welcome:
    """Asks now and then whether the one who reads a stream still may."""

    def __init__(self, identity: Identity, credential: Credential, caller: Caller) -> None:
        self._identity = identity
        self._credential = credential
        self._caller = caller
        self._looked_at = time.monotonic()

    async def lasts(self) -> bool:
        """Tell whether the credential still stands for the same caller with the same roles."""
        if time.monotonic() - self._looked_at < LOOK_S:
            return True
        self._looked_at = time.monotonic()
        now = await run_in_threadpool(self._identity.authenticate, self._credential)
        then = self._caller
        return now is not None and (now.teams, now.roles, now.scopes) == (then.teams, then.roles, then.scopes)


class Streams:
    """The open streams of one console."""

    def __init__(self) -> None:
        self._open: set[Stream[Any]] = set()
        self._limiter = CapacityLimiter(_MOST)

    def close(self) -> None:
        """End all of them."""
        for stream in list(self._open):
            stream.close()

    async def answer(
        self,
        stream: Stream[ItemT],
        write: Callable[[ItemT], str | bytes],
        welcome: Welcome,
        *,
        says_end: bool = False,
        within_s: float | None = None,
        media_type: str = NDJSON,
        headers: Mapping[str, str] = HEADERS,
    ) -> StreamingResponse:
        """Return *stream* as lines; one that is no NDJSON is whole and goes on, or breaks off.

        One that *says_end* closes with ``{"finished": true}``, since its connection may also end before its run.
        """
        if len(self._open) >= _MOST:
            stream.close()
            raise Unavailable(f"{_MOST} streams are open already; try again later")
        self._open.add(stream)
        first = self._fetch(stream)
        try:
            await asyncio.wait([first], timeout=_FIRST_S)
            if first.done() and isinstance(first.exception(), MosaicError):
                first.result()
        except BaseException:
            self._end(stream)
            raise
        parts = self._parts(stream, first, write, welcome, says_end, media_type == NDJSON, within_s)
        told = _with_problems(parts) if media_type == NDJSON else parts
        return StreamingResponse(told, media_type=media_type, headers=dict(headers))

    async def _parts(
        self,
        stream: Stream[ItemT],
        fetch: asyncio.Task[Any],
        write: Callable[[ItemT], str | bytes],
        welcome: Welcome,
        says_end: bool,
        keeps_alive: bool,
        within_s: float | None,
    ) -> AsyncIterator[str | bytes]:
        said_at = begun_at = time.monotonic()
        try:
            while True:
                now = time.monotonic()
                left = LOOK_S if within_s is None else min(LOOK_S, within_s - (now - begun_at))
                if left <= 0 or not await welcome.lasts():
                    return
                await asyncio.wait([fetch], timeout=left)
                if fetch.done():
                    item = fetch.result()
                    if item is _END:
                        break
                    fetch = self._fetch(stream)
                    yield write(item)
                elif keeps_alive and now - said_at >= _STILL_THERE_S:
                    yield "\n"
                else:
                    continue
                said_at = now
            if says_end:
                yield '{"finished":true}\n'
        finally:
            self._end(stream)

    def _fetch(self, stream: Stream[Any]) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(run_sync(next, stream, _END, limiter=self._limiter, abandon_on_cancel=True))
        # Whoever leaves does not ask how the last look went.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    def _end(self, stream: Stream[Any]) -> None:
        self._open.discard(stream)
        stream.close()


async def _with_problems(parts: AsyncIterator[str | bytes]) -> AsyncIterator[str | bytes]:
    try:
        async for part in parts:
            yield part
    except MosaicError as error:
        yield dumps({"problem": problem_of(error)}) + "\n"
