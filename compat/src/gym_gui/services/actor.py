"""What a policy is shown, as existing workers name it in annotations."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class StepSnapshot:
    """One step as a policy sees it."""

    step_index: int
    observation: object
    reward: float
    terminated: bool
    truncated: bool
    seed: int | None = None
    info: dict[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class EpisodeSummary:
    """One finished episode."""

    episode_index: int
    total_reward: float
    steps: int
    metadata: dict[str, object] = field(default_factory=dict)
