"""A stream holds a thread for as long as it lasts: how many may be open, in all and for each who asks."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc

from mosaic.errors import Unavailable
from mosaic.hosting.rpc_handlers import Behaviour, behaviour_of, with_behaviour


class OpenStreams:
    """Counts places; at most *most* are taken at a time, and *each* by one key."""

    def __init__(self, most: int, each: int) -> None:
        self._most = most
        self._each = each
        self._guard = threading.Lock()
        self._taken: Counter[str] = Counter()

    @contextmanager
    def place(self, key: str) -> Iterator[None]:
        """Hold a place for *key*; the empty key stands for no one in particular and has no bound of its own.

        Raises:
            Unavailable: all places are taken, or all of this key.
        """
        with self._guard:
            if self._taken.total() >= self._most:
                raise Unavailable(f"{self._most} streams are open here, and no more are served; try again later")
            if key and self._taken[key] >= self._each:
                raise Unavailable(f"{key} has {self._each} streams open, and no more are served; close some")
            self._taken[key] += 1
        try:
            yield
        finally:
            self._leave(key)

    def _leave(self, key: str) -> None:
        with self._guard:
            self._taken[key] -= 1
            # Nobody's count is kept for ever.
            if not self._taken[key]:
                del self._taken[key]


class StreamLimit(grpc.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Refuses streams beyond what is allowed, so that they never take the last thread."""

    def __init__(self, places: OpenStreams, key_of: Callable[[Any], str]) -> None:
        """Serve a stream while it has a place among *places*; *key_of* says of its context who asks."""
        self._places = places
        self._key_of = key_of

    def intercept_service(self, continuation: Any, call_details: Any) -> Any:
        """Give every stream a place."""
        handler = continuation(call_details)
        if handler is None or not handler.response_streaming:
            return handler
        return with_behaviour(handler, self._limited(behaviour_of(handler)))

    def _limited(self, behaviour: Behaviour) -> Behaviour:
        def call(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            with self._places.place(self._key_of(context)):
                yield from behaviour(request, context)

        return call
