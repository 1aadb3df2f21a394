"""What workers said against what is stored: the proof that nothing was lost and nothing counted twice."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from mosaic.client import EventLine, Mosaic

#: Lines that the agent adds to a stream; the drill never says these.
_OF_THE_AGENT = frozenset(
    {"attempt_started", "attempt_ended", "log", "artifact", "telemetry_starved", "telemetry_resumed"}
)


@dataclass
class Comparison:
    """One attempt: what its worker said and what is stored of it."""

    run_id: str
    attempt: int
    said: list[bytes]
    #: Every line in the order of its seq, the agent's own included.
    stored: list[EventLine] = field(default_factory=list)

    @property
    def heard(self) -> list[bytes]:
        """What is stored of the worker's own words."""
        return [event.line for event in self.stored if not _is_of_the_agent(event.line)]

    @property
    def duplicated(self) -> int:
        """How many stored lines share their seq with another."""
        return len(self.stored) - len({event.seq for event in self.stored})

    @property
    def missing_seqs(self) -> list[int]:
        """The holes in the numbering."""
        seen = {event.seq for event in self.stored}
        return [seq for seq in range(max(seen, default=-1) + 1) if seq not in seen]

    @property
    def is_whole(self) -> bool:
        """Tell whether everything that was said is stored, once and in order."""
        return self.heard == self.said and not self.duplicated and not self.missing_seqs

    @property
    def is_prefix(self) -> bool:
        """Tell whether what is stored is how it began: all that can be asked of an attempt that was killed."""
        return self.heard == self.said[: len(self.heard)] and not self.duplicated and not self.missing_seqs

    def __str__(self) -> str:
        return (
            f"{self.run_id} attempt {self.attempt}: said {len(self.said)}, heard {len(self.heard)}, "
            f"stored {len(self.stored)}, duplicated {self.duplicated}, holes {self.missing_seqs[:5]}"
        )


def compare(mosaic: Mosaic, run_id: str, runs_root: Path) -> dict[int, Comparison]:
    """Return the comparison of every attempt of a run that said or stored anything."""
    found: dict[int, Comparison] = {}
    for path in (runs_root / run_id / "said").glob("attempt-*.bin"):
        attempt = int(path.stem.partition("-")[2])
        found[attempt] = Comparison(run_id, attempt, _lines(path.read_bytes()))
    for event in mosaic.events(run_id):
        found.setdefault(event.attempt, Comparison(run_id, event.attempt, [])).stored.append(event)
    return dict(sorted(found.items()))


def _lines(text: bytes) -> list[bytes]:
    return text.split(b"\n")[:-1]


def _is_of_the_agent(line: bytes) -> bool:
    try:
        event = json.loads(line)
    except ValueError:
        return False
    return isinstance(event, dict) and event.get("event") in _OF_THE_AGENT


@dataclass(frozen=True)
class Sums:
    """What was said and stored by several attempts."""

    sent: int
    stored: int
    duplicated: int

    def __str__(self) -> str:
        lost = self.sent - self.stored + self.duplicated
        return f"events sent: {self.sent}, stored: {self.stored}, duplicated: {self.duplicated}, lost: {lost}"


def total(comparisons: Iterable[Comparison]) -> Sums:
    """Add up what the workers of several attempts said and what is stored of it."""
    chosen = list(comparisons)
    return Sums(
        sent=sum(len(one.said) for one in chosen),
        stored=sum(len(one.heard) for one in chosen),
        duplicated=sum(one.duplicated for one in chosen),
    )
