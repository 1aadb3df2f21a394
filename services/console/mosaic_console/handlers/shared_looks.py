"""One look for everybody who asks for the same at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, TypeVar

ValueT = TypeVar("ValueT")

#: Who asks within this time of another is told the same.
LIFE_S = 0.5
_MOST = 512


class SharedLooks:
    """Remembers for a moment what was seen; may be used by several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[Hashable, tuple[float, Future[Any]]] = {}

    def look(self, key: Hashable, look: Callable[[], ValueT]) -> ValueT:
        """Return what *look* returns, or what it returned or will return to whoever asked for *key* just before."""
        mine: Future[ValueT] = Future()
        with self._lock:
            seen_at, theirs = self._seen.get(key, (0.0, mine))
            is_mine = theirs is mine or (theirs.done() and self._clock() - seen_at >= LIFE_S)
            if is_mine:
                self._forget_old()
                self._seen[key] = self._clock(), mine
        if not is_mine:
            return theirs.result()  # type: ignore[no-any-return]
        try:
            mine.set_result(look())
        except BaseException as error:
            mine.set_exception(error)
        return mine.result()

    def _forget_old(self) -> None:
        while len(self._seen) >= _MOST:
            del self._seen[next(iter(self._seen))]
