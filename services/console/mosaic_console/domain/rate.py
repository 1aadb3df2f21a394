"""How often somebody may ask: a bucket of tokens for each, filled at a steady rate."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection

Clock = Callable[[], float]


class Buckets:
    """One bucket per key, each full at first; may be used by several threads."""

    def __init__(self, per_s: float, burst: float, *, clock: Clock, most: int = 10_000) -> None:
        """Fill *per_s* tokens a second up to *burst*; of more than *most* keys the longest unused is forgotten."""
        self._per_s, self._burst = per_s, burst
        self._clock = clock
        self._most = most
        self._lock = threading.Lock()
        #: Key -> how many were left, and when.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, keys: Collection[str]) -> float:
        """Take one token from the bucket of every key, or none at all; return how many seconds to wait, 0 = none."""
        now = self._clock()
        with self._lock:
            left = {key: self._filled(key, now) for key in keys}
            short = 1.0 - min(left.values(), default=1.0)
            if short > 0:
                return short / self._per_s
            for key, tokens in left.items():
                self._left[key] = (tokens - 1.0, now)
                self._left.move_to_end(key)
            while len(self._left) > self._most:
                self._left.popitem(last=False)
        return 0.0

    def _filled(self, key: str, now: float) -> float:
        tokens, at = self._left.get(key, (self._burst, now))
        return min(self._burst, tokens + (now - at) * self._per_s)
