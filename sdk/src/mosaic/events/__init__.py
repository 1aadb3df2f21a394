"""Everything that crosses the broker: the events, and the reader that never raises.

`read_line` reads one line in full; `scan_lines` reads many of them fast, into what a store needs.
"""

from mosaic.events.attempt import (
    AttemptEnded,
    AttemptStarted,
    ProtocolViolated,
    TelemetryResumed,
    TelemetryStarved,
)
from mosaic.events.envelope import Event
from mosaic.events.kinds import AGENT_KINDS, ENDING_KINDS, EVENT, FACT_KINDS, KINDS
from mosaic.events.lifecycle import (
    CheckpointLoaded,
    CheckpointSaved,
    Heartbeat,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    SettingsResolved,
)
from mosaic.events.reader import Reading, Violation, read_line
from mosaic.events.scan import EpisodeRow, Scan, Series, scan_lines
from mosaic.events.text import LogLine
from mosaic.events.training import Artifact, Custom, Episode, Log, Metric, Step

__all__ = [
    "AGENT_KINDS",
    "ENDING_KINDS",
    "EVENT",
    "FACT_KINDS",
    "KINDS",
    "Artifact",
    "AttemptEnded",
    "AttemptStarted",
    "CheckpointLoaded",
    "CheckpointSaved",
    "Custom",
    "Episode",
    "EpisodeRow",
    "Event",
    "Heartbeat",
    "Log",
    "LogLine",
    "Metric",
    "ProtocolViolated",
    "Reading",
    "RunCancelled",
    "RunCompleted",
    "RunFailed",
    "RunStarted",
    "Scan",
    "Series",
    "SettingsResolved",
    "Step",
    "TelemetryResumed",
    "TelemetryStarved",
    "Violation",
    "read_line",
    "scan_lines",
]
