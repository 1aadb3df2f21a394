"""What a simulation leaves behind: how every run fared, and the fleet at regular moments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from mosaic.ids import TeamName
from mosaic_simulator.trace import TracedRun


class Ending(Enum):
    """How a traced run ended."""

    FINISHED = "finished"
    TIME_LIMIT = "time_limit"  #: ended by the limit its owner set
    REFUSED = "refused"  #: its team had too many queued when it was submitted
    NEVER = "never"  #: still waiting when nothing could change any more


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one run fared, in seconds."""

    run: TracedRun
    ending: Ending
    #: All the time it spent in the queue, before its first attempt and between attempts.
    waited: float
    first_start: float | None
    ended: float | None
    preemptions: int = 0
    #: Work that had to be done again because of preemptions, and because of failed nodes.
    lost_to_preemption: float = 0.0
    lost_to_failures: float = 0.0

    @property
    def steps_thrown_away(self) -> float:
        """Environment steps that preemption cost this run."""
        return self.lost_to_preemption * self.run.steps_per_second


@dataclass(frozen=True, slots=True)
class Sample:
    """The fleet at one moment."""

    at: float
    gpus_up: float
    gpus_used: Mapping[TeamName, float]
    waiting: Mapping[TeamName, int]
    #: Decayed dominant share of each team over its weight: equal numbers are fair.
    shares: Mapping[TeamName, float]
    #: Teams that had something waiting at every round since the sample before.
    backlogged: frozenset[TeamName]
    #: Why runs wait, by the code of the reason.
    reasons: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Recording:
    """Everything one policy did with one trace."""

    policy: str
    outcomes: tuple[Outcome, ...]
    samples: tuple[Sample, ...]
    #: Seconds during which the trace kept submitting; utilisation is measured within it.
    horizon: float
    #: GPU-seconds within the horizon: there, held by runs, and held by work that was kept.
    gpu_seconds_up: float
    gpu_seconds_held: float
    gpu_seconds_lost: float
    rounds: int
