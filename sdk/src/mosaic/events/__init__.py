"""Everything that crosses the broker: the events, the stamp, and the reader that never raises.

`read_line` reads one line in full; `scan_lines` reads many of them fast, into what a store needs.
"""

from mosaic.events.attempt import (
    AttemptEnded,
    AttemptStarted,
    ProtocolViolated,
    TelemetryResumed,
    TelemetryStarved,
)
from mosaic.events.envelope import Stamp, StampedEvent
from mosaic.events.lifecycle import (
    CheckpointLoaded,
    CheckpointSaved,
    Heartbeat,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
)
from mosaic.events.reader import Reading, Violation, read_line
from mosaic.events.scan import EpisodeRow, Scan, Series, scan_lines
from mosaic.events.text import LogLine
from mosaic.events.training import Artifact, Custom, Episode, Log, Metric, Step
from mosaic.events.union import AGENT_KINDS, EVENT, KINDS, AttemptEvent, Event, LifecycleEvent, TrainingEvent
from mosaic.events.writer import write_line

__all__ = [
    "AGENT_KINDS",
    "EVENT",
    "KINDS",
    "Artifact",
    "AttemptEnded",
    "AttemptEvent",
    "AttemptStarted",
    "CheckpointLoaded",
    "CheckpointSaved",
    "Custom",
    "Episode",
    "EpisodeRow",
    "Event",
    "Heartbeat",
    "LifecycleEvent",
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
    "Stamp",
    "StampedEvent",
    "Step",
    "TelemetryResumed",
    "TelemetryStarved",
    "TrainingEvent",
    "Violation",
    "read_line",
    "scan_lines",
    "write_line",
]
