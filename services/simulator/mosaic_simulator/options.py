"""How a simulation is played: the parts of reality that neither trace nor fleet describes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """Spans are in seconds of event time."""

    #: Rounds happen at multiples of this, and only when something is different.
    round_seconds: float = 10.0
    #: While something waits, time alone can change a plan (protection ends, use decays): look again then.
    idle_round_seconds: float = 60.0
    #: For the patience of runs that are overtaken, one round in so long counts.
    overtaking_seconds: float = 30.0
    #: From an admission to the first step of work.
    start_seconds: float = 10.0
    #: From the request that an attempt leaves to the proof that it is gone.
    stop_seconds: float = 20.0
    #: From a failed node to the moment its attempts are known to be lost.
    loss_detection_seconds: float = 30.0
    #: The scheduler hears of an attempt's latest checkpoint this often.
    checkpoint_report_seconds: float = 1800.0
    #: Samples from the first to the last submission.
    samples: int = 288
