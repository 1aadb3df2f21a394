"""Progress bars: text that is written over itself with carriage returns, taken as a few lines instead of one."""

from __future__ import annotations

from collections.abc import Callable

#: The newest state of a bar becomes a line this often, and when its line ends.
SHOWN_EVERY_S = 10.0
#: What is longer than this before the next return is no bar.
STATE_LIMIT_BYTES = 64 * 1024


class Overwriting:
    """Passes a stream of bytes on, without what a terminal would not show any more."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        #: What was written since the line began to be written over.
        self._held = b""
        self._shown_at = float("-inf")

    def feed(self, data: bytes | memoryview) -> bytes | memoryview:
        """Take what was read; return what is left of it. Without a return in it, it comes back as it is."""
        # A view cannot be searched; to copy it is ten times faster than a pattern.
        if not self._held and b"\r" not in bytes(data):
            return data
        lines, newline, rest = (self._held + bytes(data)).rpartition(b"\n")
        ended = b"\n".join(map(_newest, lines.split(b"\n"))) + newline if newline else b""
        return ended + self._hold(rest)

    def finish(self) -> bytes:
        """Return what a stream that ended in the midst of a bar showed last."""
        last, self._held = _newest(self._held), b""
        return last

    def _hold(self, rest: bytes) -> bytes:
        """Keep the newest state of an unfinished line; return what is to be said of it now."""
        # A return at the very end may be half of a line end.
        states, written_over, current = rest[:-1].rpartition(b"\r")
        self._held = b""
        if (not written_over and not rest.endswith(b"\r")) or len(rest) > len(states) + STATE_LIMIT_BYTES:
            return rest[len(states) + len(written_over) :]
        newest = _newest(states)
        self._held = newest[:STATE_LIMIT_BYTES] + b"\r" + current + rest[-1:]
        if newest and self._clock() - self._shown_at >= SHOWN_EVERY_S:
            self._shown_at = self._clock()
            self._held = b"\r" + current + rest[-1:]
            return newest[:STATE_LIMIT_BYTES] + b"\n"
        return b""


def _newest(line: bytes) -> bytes:
    """Return what a terminal shows of *line* at its end."""
    return next((state for state in reversed(line.split(b"\r")) if state), b"")
