"""The stream of one attempt: stdout, stderr and the agent's own words, in one numbered order."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from mosaic.agent.telemetry.backlog import Backlog
from mosaic.agent.telemetry.lines import (
    LifecycleLine,
    LineCutter,
    Mask,
    StepThinner,
    lifecycle_lines,
    may_concern_agent,
    reject_forged_events,
)
from mosaic.agent.telemetry.progress import Overwriting
from mosaic.agent.telemetry.spool import Spool

#: Under pressure one step of so many is kept.
KEEP_EVERY = 100

#: Enough for the tracebacks of a chain of exceptions.
_TAIL_LINES = 200
_TAIL_LINE_LETTERS = 500
_LINES_AT_ONCE = 1000


class Stream:
    """Everything that is said about an attempt, on its way into the spool.

    Not safe for several threads: one reads, one appends.
    """

    def __init__(
        self,
        spool: Spool,
        *,
        mask: Mask,
        backlog: Backlog,
        clock: Callable[[], float],
        keep_every: int = KEEP_EVERY,
    ) -> None:
        self.spool = spool
        #: The newest lines of stderr, for the reason of a failure.
        self.stderr_tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._clock = clock
        self._backlog = backlog
        self._stdout = LineCutter(mask)
        self._stderr = LineCutter(mask)
        self._stdout_bars = Overwriting(clock)
        self._stderr_bars = Overwriting(clock)
        self._mask = mask
        self._thinner = StepThinner(keep_every)
        self._dropped_steps = 0
        self._is_thinning = False

    def hear_stdout(self, data: bytes | memoryview) -> list[LifecycleLine]:
        """Take what was read from stdout; return the lines in it that concern the agent.

        Raises:
            OSError: the disk is full; see `Spool.append`.

        """
        block = self._stdout.feed(self._stdout_bars.feed(data))
        return self._take(block) if block else []

    def hear_stderr(self, data: bytes | memoryview) -> None:
        """Take what was read from stderr; each line becomes a ``log`` event.

        Raises:
            OSError: the disk is full; see `Spool.append`.

        """
        block = self._stderr.feed(self._stderr_bars.feed(data))
        if block:
            self._take_stderr(block)

    def say(self, event: str, payload: Mapping[str, Any]) -> None:
        """Add an event of the agent's own.

        Raises:
            OSError: the disk is full; see `Spool.append`.

        """
        self.append(self.line(event, payload))

    def line(self, event: str, payload: Mapping[str, Any]) -> bytes:
        """Return an event of the agent's own as the line it will be, masked."""
        now = self._clock()
        body = {"event": event, "payload": payload, "run_id": self.spool.run_id, "timestamp": now}
        return self._mask.hide(json.dumps(body, separators=(",", ":")).encode()) + b"\n"

    def mask(self, text: str) -> str:
        """Return *text* without secrets, and without what UTF-8 or a database cannot carry."""
        return self._mask.hide(text.encode("utf-8", "replace")).decode("utf-8", "replace").replace("\0", "\ufffd")

    def append(self, block: bytes) -> None:
        """Add whole lines as they are.

        Raises:
            OSError: the disk is full; see `Spool.append`.

        """
        self.spool.append(block, self._clock())

    def finish(self) -> list[LifecycleLine]:
        """Take the last lines of streams that ended without a newline, and close the books on thinning.

        Raises:
            OSError: the disk is full; see `Spool.append`.

        """
        last_words = self._stderr.feed(self._stderr_bars.finish()) + self._stderr.finish()
        if last_words:
            self._take_stderr(last_words)
        block = self._stdout.feed(self._stdout_bars.finish()) + self._stdout.finish()
        found = self._take(block) if block else []
        self._end_thinning()
        return found

    def _take(self, block: bytes) -> list[LifecycleLine]:
        concerns_us = may_concern_agent(block)
        if concerns_us:
            block = reject_forged_events(block, self._violation)
        if self._is_thinning or self._backlog.is_starved:
            block = self._thin(block)
        if block:
            self.append(block)
        return lifecycle_lines(block) if concerns_us else []

    def _violation(self, kind: str, line: bytes) -> bytes:
        reason = f"only the agent says {kind!r}; from a worker it means nothing"
        return self.line(
            "protocol_violated", {"reason": reason, "text": line[:_TAIL_LINE_LETTERS].decode("utf-8", "replace")}
        )

    def _take_stderr(self, block: bytes) -> None:
        texts = [line.decode("utf-8", "replace") for line in block[:-1].split(b"\n")]
        self.stderr_tail.extend(text[:_TAIL_LINE_LETTERS] for text in texts if text.strip())
        # An event is much longer than a short line: all at once might be more than a frame may hold.
        for first in range(0, len(texts), _LINES_AT_ONCE):
            some = texts[first : first + _LINES_AT_ONCE]
            payloads = ({"text": text, "level": "info", "stream": "stderr"} for text in some)
            self.append(b"".join(self.line("log", payload) for payload in payloads))

    def _thin(self, block: bytes) -> bytes:
        if not self._backlog.is_starved:
            self._end_thinning()
            return block
        if not self._is_thinning:
            self._is_thinning = True
            self.say("telemetry_starved", self._starvation())
        thinned = self._thinner.thin(block)
        self._dropped_steps += thinned.dropped
        return thinned.block

    def _starvation(self) -> dict[str, int]:
        return {
            "spool_bytes": self._backlog.size_bytes,
            "limit_bytes": self._backlog.limit_bytes,
            "keep_every": self._thinner.keep_every,
        }

    def _end_thinning(self) -> None:
        if self._is_thinning:
            self._is_thinning = False
            self.say("telemetry_resumed", {"dropped_steps": self._dropped_steps})
            self._dropped_steps = 0
