"""What a drill does, and what it does wrong."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass
class DrillConfig:
    """The length of a drill and its misdeeds; without any it succeeds."""

    run_id: str = ""
    seed: int | None = None
    episodes: int = 3
    #: Step events of each episode.
    steps: int = 5
    #: Rest after each episode.
    pause_ms: float = 0.0
    #: Save the state after every so many episodes; 0 = never.
    checkpoint_every: int = 0
    #: Raise after this episode, on the first attempt only.
    crash_after: int = 0
    #: Raise after this episode, on every attempt.
    always_crash_after: int = 0
    #: Say nothing any more after this episode, on the first attempt only.
    hang_after: int = 0
    ignore_sigterm: bool = False
    #: Leave a process behind that ignores SIGTERM and closes nothing.
    grandchild: bool = False
    #: Lines that are no JSON and no UTF-8, after every episode.
    garbage: bool = False
    #: One log line of this length per episode.
    long_line_bytes: int = 0

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> DrillConfig:
        """Build from plain values; unknown names are refused."""
        unknown = set(data) - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(f"unknown settings: {', '.join(sorted(unknown))}")
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)
