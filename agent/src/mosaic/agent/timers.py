"""Named timers on a loop: each name waits for one thing at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Timers:
    """The pending appointments of one part of the agent."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pending: dict[str, asyncio.TimerHandle] = {}

    def now(self) -> float:
        """Return the loop's time in seconds; it only ever grows."""
        return self._loop.time()

    def after(self, name: str, delay_s: float, action: Callable[[], None]) -> None:
        """Run *action* in *delay_s*; what already waits under *name* keeps its time."""
        if name not in self._pending:
            self._pending[name] = self._loop.call_later(max(0.0, delay_s), self._fire, name, action)

    def cancel(self, *names: str) -> None:
        """Forget what waits under *names*."""
        for name in names:
            timer = self._pending.pop(name, None)
            if timer is not None:
                timer.cancel()

    def cancel_all(self) -> None:
        """Forget everything."""
        self.cancel(*list(self._pending))

    def _fire(self, name: str, action: Callable[[], None]) -> None:
        del self._pending[name]
        action()
