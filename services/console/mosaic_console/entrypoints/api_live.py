"""``/api/v1/live``: one stream of server-sent events for all that a page shows."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from mosaic_console.domain.access import Permission
from mosaic_console.domain.live import Update, read_topics
from mosaic_console.entrypoints.door import cookie_name, session_of
from mosaic_console.entrypoints.feed import Feed
from mosaic_console.entrypoints.needs import needs
from mosaic_console.entrypoints.parts import TheCaller, TheParts
from mosaic_console.handlers.topics import whole_topic

router = APIRouter(prefix="/api/v1", tags=["live"])

#: A comment after so long keeps proxies from ending a stream that has nothing to say.
_COMMENT_S = 15.0
#: A session that was closed loses its streams within this time.
_BREATH_S = 5.0
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@router.get("/live", response_class=StreamingResponse)
@needs(Permission.RUNS_READ)
async def live(
    request: Request,
    parts: TheParts,
    caller: TheCaller,
    topics: Annotated[str, Query(description="`run:ID`, `queue`, `fleet`, separated by commas.")],
    last_event_id: Annotated[str, Header(description="The last `id` that was seen: what is newer follows.")] = "",
) -> StreamingResponse:
    """Follow topics: each event is a topic as it stands, at most one in 250 ms, none that was seen before."""
    wanted = [await run_in_threadpool(whole_topic, parts.platform, topic) for topic in read_topics(topics)]
    session_id = session_of(request.headers, cookie_name(parts, request.url.scheme)) if caller.via == "session" else ""

    def is_welcome() -> bool:
        return not session_id or parts.keyring.is_session(session_id)

    feed: Feed = request.app.state.feed
    after = int(last_event_id) if last_event_id.isascii() and last_event_id.isdigit() else 0
    return StreamingResponse(_stream(feed, wanted, after, is_welcome), media_type="text/event-stream", headers=_HEADERS)


async def _stream(feed: Feed, topics: Sequence[str], after: int, is_welcome: Callable[[], bool]) -> AsyncIterator[str]:
    yield "retry: 2000\n\n"
    said_at = time.monotonic()
    async for update in feed.follow(topics, after, breath_s=_BREATH_S):
        if not is_welcome():
            return
        if update is not None:
            yield _event(update)
        elif time.monotonic() - said_at >= _COMMENT_S:
            yield ": still here\n\n"
        else:
            continue
        said_at = time.monotonic()


def _event(update: Update) -> str:
    return f"id: {update.seq}\nevent: {update.topic.partition(':')[0]}\ndata: {update.data}\n\n"
