"""How long an agent stays: for good, for a number of runs, or until nobody needs it."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Rings that were sent before the scheduler knew that we are leaving still arrive.
LINGER_S = 3.0


class AgentLifetime:
    """Says when an agent takes nothing new, and when it may go. Without limits it stays for good."""

    def __init__(
        self, *, runs: int = 0, idle_limit_s: float = 0.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Stay for *runs* runs, or for *idle_limit_s* without any; 0 means no limit."""
        self._runs = runs
        self._idle_limit_s = idle_limit_s
        self._clock = clock
        self._claimed = 0
        self._busy_at = clock()
        self._ending_since: float | None = None

    def takes_more(self, underway: int = 0) -> bool:
        """Tell whether another run may be claimed while *underway* others are being claimed."""
        return not self._runs or self._claimed + underway < self._runs

    def note_claim(self) -> None:
        """Note that a run was claimed."""
        self._claimed += 1

    def is_ending(self, *, is_idle: bool, is_drained: bool = False) -> bool:
        """Tell whether nothing new is wanted; once true it stays so.

        An agent that is drained has no work to wait for, unless it stays for good.
        """
        if not is_idle:
            self._busy_at = self._clock()
        is_limited = bool(self._runs or self._idle_limit_s)
        if self._ending_since is None and is_limited and (is_drained or not self.takes_more() or self._is_bored()):
            self._ending_since = self._clock()
        return self._ending_since is not None

    def is_over(self, *, is_idle: bool) -> bool:
        """Tell whether an agent that is ending may go."""
        return is_idle and self._ending_since is not None and self._clock() - self._ending_since >= LINGER_S

    def _is_bored(self) -> bool:
        return bool(self._idle_limit_s) and self._clock() - self._busy_at >= self._idle_limit_s
