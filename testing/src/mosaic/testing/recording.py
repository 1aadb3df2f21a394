"""An emitter whose lines a test can read back."""

from __future__ import annotations

import io
import json
from typing import Any

from mosaic.worker import TelemetryEmitter


class RecordingEmitter(TelemetryEmitter):
    """A `TelemetryEmitter` that keeps its lines in memory instead of printing them."""

    def __init__(self, run_id: str = "recorded") -> None:
        self._recorded = io.StringIO()
        super().__init__(run_id, sink=self._recorded)

    @property
    def lines(self) -> list[str]:
        """The lines as they would have been printed."""
        self.flush()
        return self._recorded.getvalue().splitlines()

    @property
    def events(self) -> list[dict[str, Any]]:
        """The lines, parsed."""
        return [json.loads(line) for line in self.lines]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """Return the payloads of the events called *kind*, in order."""
        return [event["payload"] for event in self.events if event["event"] == kind]
