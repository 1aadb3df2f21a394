"""Looks at what somebody watches and tells every watcher; while nobody watches, nothing is asked."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence

import structlog
from fastapi.concurrency import run_in_threadpool

from mosaic.errors import MosaicError
from mosaic.hosting.rights import visible_teams
from mosaic.model.identity import Caller
from mosaic_console.adapters.as_json import dumps
from mosaic_console.domain.live import LEAST_PAUSE_S, TOPICS, Board, Update, pause_s
from mosaic_console.domain.problem import problem_of
from mosaic_console.handlers.topics import look
from mosaic_console.ports import Platform, Services

log = structlog.get_logger(__name__)


class Feeds:
    """A feed for all watchers who may see the same; belongs to one event loop."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._feeds: dict[tuple[frozenset[str] | None, ...], Feed] = {}

    def of(self, caller: Caller) -> Feed:
        """Return the feed of everybody who may see what *caller* may."""
        audience = tuple(visible_teams(caller, permission) for permission in sorted(set(TOPICS.values())))
        if audience not in self._feeds:
            self._feeds[audience] = Feed(self._services.of(caller))
        return self._feeds[audience]

    def close(self) -> None:
        """End every stream."""
        for feed in self._feeds.values():
            feed.close()


class Feed:
    """One look at each topic, whoever watches it."""

    def __init__(self, platform: Platform) -> None:
        #: Who was told numbers by another feed has seen nothing of this one.
        self.name = secrets.token_hex(4)
        self._platform = platform
        self._board = Board()
        self._watched: Counter[str] = Counter()
        self._looked_at: dict[str, float] = {}
        self._news = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._is_closed = False

    async def follow(self, topics: Sequence[str], after: int, *, breath_s: float) -> AsyncIterator[list[Update]]:
        """Yield what is newer than *after* for as long as the feed lives; nothing whenever *breath_s* brought none."""
        self._watch(topics)
        try:
            while not self._is_closed:
                news = self._news
                updates = self._board.since(topics, after)
                if updates:
                    after = updates[-1].seq
                    yield updates
                try:
                    await asyncio.wait_for(news.wait(), breath_s)
                except TimeoutError:
                    yield []
        finally:
            self._unwatch(topics)

    def close(self) -> None:
        """End every stream."""
        self._is_closed = True
        self._tell()

    def _watch(self, topics: Sequence[str]) -> None:
        self._watched.update(topics)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="live feed")

    def _unwatch(self, topics: Sequence[str]) -> None:
        self._watched.subtract(topics)
        for topic in [topic for topic in topics if self._watched[topic] <= 0]:
            del self._watched[topic]
            self._board.forget(topic)
            self._looked_at.pop(topic, None)

    async def _look(self) -> None:
        while self._watched and not self._is_closed:
            now = time.monotonic()
            due = [topic for topic in self._watched if now - self._looked_at.get(topic, -1e9) >= pause_s(topic)]
            self._looked_at |= dict.fromkeys(due, now)
            seen = await asyncio.gather(*(run_in_threadpool(self._told, topic) for topic in due))
            # Every watcher is told of all of them at once.
            news = [
                self._board.put(topic, data) for topic, data in zip(due, seen, strict=True) if topic in self._watched
            ]
            if any(news):
                self._tell()
            await asyncio.sleep(LEAST_PAUSE_S)

    def _told(self, topic: str) -> str:
        try:
            return dumps({"topic": topic, **look(self._platform, topic)})
        except MosaicError as error:
            return dumps({"topic": topic, "problem": problem_of(error)})

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
