"""A stdout that knows whether it stands at the beginning of a line.

``print`` writes its text and its newline apart, progress bars leave lines open: a telemetry line
that follows would be lost in theirs. `LineWriter` asks ``at_line_start`` and ends an open line first.
What is written to the file descriptor behind Python's back is not seen.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from mosaic.worker.lines import redirected, writer_for


class LineAwareStream:
    """Passes everything on to another stream and remembers how it ended."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._writer = writer_for(stream)
        self.at_line_start = True

    def write(self, text: str) -> int:
        """Write *text* as the stream behind does."""
        # Under the lock of the telemetry, or a line of another thread could follow before this is known.
        with self._writer.lock:
            written = self._stream.write(text)
            if text:
                self.at_line_start = text.endswith("\n")
        return written

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of *lines*."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def line_aware_stdout() -> Iterator[None]:
    """Let ``sys.stdout`` keep track of its lines for a while, also for emitters that have it already."""
    original = sys.stdout
    aware: Any = LineAwareStream(original)
    sys.stdout = aware
    try:
        with redirected(original, aware):
            yield
    finally:
        if sys.stdout is aware:
            sys.stdout = original
