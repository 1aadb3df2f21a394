"""``/api/v1/live``: one stream of server-sent events for all that a page shows."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from mosaic.errors import Forbidden
from mosaic.hosting.access import needs
from mosaic.hosting.rights import may_somewhere
from mosaic.model.identity import Permission
from mosaic_console.domain.live import Update, permission_of, read_topics
from mosaic_console.entrypoints.feed import Feed, Feeds
from mosaic_console.entrypoints.parts import TheCaller, TheCredential, TheParts
from mosaic_console.entrypoints.streams import HEADERS, LOOK_S, Welcome
from mosaic_console.handlers.topics import whole_topic

router = APIRouter(prefix="/api/v1", tags=["live"])

#: A comment after so long keeps proxies from ending a stream that has nothing to say.
_COMMENT_S = 15.0


@router.get("/live", response_class=StreamingResponse)
@needs(Permission.SIGNED_IN)
async def live(
    request: Request,
    parts: TheParts,
    caller: TheCaller,
    credential: TheCredential,
    topics: Annotated[str, Query(description="`run:ID`, `queue`, `fleet`, separated by commas.")],
    last_event_id: Annotated[str, Header(description="The last `id` that was seen: what is newer follows.")] = "",
) -> StreamingResponse:
    """Follow topics: each event is a topic as it stands, at most one in 250 ms, none that was seen before."""
    platform = parts.services.of(caller)
    asked = read_topics(topics)
    for topic in asked:
        if not may_somewhere(caller, permission_of(topic)):
            raise Forbidden(caller.user, permission_of(topic).value, f"topic {topic}")
    wanted = [await run_in_threadpool(whole_topic, platform, topic) for topic in asked]
    feeds: Feeds = request.app.state.feeds
    feed = feeds.of(caller)
    name, _, seq = last_event_id.partition(".")
    after = int(seq) if name == feed.name and seq.isascii() and seq.isdigit() else 0
    stream = _stream(feed, wanted, after, Welcome(parts.identity, credential, caller))
    return StreamingResponse(stream, media_type="text/event-stream", headers=HEADERS)


async def _stream(feed: Feed, topics: Sequence[str], after: int, welcome: Welcome) -> AsyncIterator[str]:
    yield "retry: 2000\n\n"
    said_at = time.monotonic()
    async for updates in feed.follow(topics, after, breath_s=LOOK_S):
        if not await welcome.lasts():
            return
        if updates:
            yield "".join(_event(feed, update) for update in updates)
        elif time.monotonic() - said_at >= _COMMENT_S:
            yield ": still here\n\n"
        else:
            continue
        said_at = time.monotonic()


def _event(feed: Feed, update: Update) -> str:
    return f"id: {feed.name}.{update.seq}\nevent: {update.topic.partition(':')[0]}\ndata: {update.data}\n\n"
