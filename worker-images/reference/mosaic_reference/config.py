"""The settings of one run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from mosaic.worker import validate_config
from mosaic.worker.library.config import AskedSettings
from mosaic.worker.schema import config_schema, setting

EnvId = Literal["CartPole-v1", "MountainCar-v0", "FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "Taxi-v4"]
Algo = Literal["sarsa", "q_learning", "expected_sarsa"]


def _share(help_text: str) -> Any:
    return setting(None, f"{help_text}; null = what suits the environment", minimum=0, maximum=1)


@dataclass(frozen=True)
class ReferenceConfig(AskedSettings):
    """What a user may set; every fault is reported before anything starts."""

    run_id: str = field(metadata={"help": "Name of the run, given by the fleet"})
    seed: int | None = setting(1, "Everything random follows from it; null draws a new one", minimum=0)
    env_id: EnvId = setting("CartPole-v1", "What to learn")
    algo: Algo = setting("sarsa", "How to learn")
    total_steps: int = setting(
        60_000, "Steps in the environment; the episode under way is finished", minimum=1, maximum=10**9
    )
    learning_rate: float | None = setting(
        None, "How far a step moves an estimate; null = what suits the environment", exclusiveMinimum=0, maximum=2
    )
    gamma: float | None = _share("What a reward is worth one step later")
    trace_decay: float | None = _share("How far credit reaches back (lambda)")
    epsilon_start: float | None = _share("Share of random actions at the start")
    epsilon_end: float | None = _share("Share of random actions once the schedule has ended")
    epsilon_decay_fraction: float = setting(
        0.5, "Part of the run over which epsilon falls", exclusiveMinimum=0, maximum=1
    )
    is_slippery: bool = setting(False, "FrozenLake only: the ice moves you where it wants")
    checkpoint_every: int = setting(10_000, "Steps between two checkpoints", minimum=1)
    metrics_every: int = setting(250, "Steps between two points of each metric", minimum=1)
    eval_every: int = setting(0, "Steps between two evaluations during training; 0 = none", minimum=0)
    eval_episodes: int = setting(
        10, "Episodes of an evaluation; one is made at the end of the training, 0 = none", minimum=0, maximum=10_000
    )
    eval_policy: Literal["greedy", "sample"] = setting(
        "greedy", "How an evaluation acts: the best known action, or with the share of random ones of the training"
    )
    emit_steps: bool = setting(False, "Report every single step")
    step_delay_s: float = setting(0.0, "Wait so long after each step, to watch or to test", minimum=0, maximum=60)

    def __post_init__(self) -> None:
        """Refuse what cannot work, naming all of it at once."""
        faults = validate_config(config_schema(type(self)), asdict(self))
        if self.eval_every and not self.eval_episodes:
            faults.append("eval_episodes: an evaluation needs at least 1 episode")
        if faults:
            raise ValueError("; ".join(faults))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ReferenceConfig:
        """Build the settings from what `to_dict` returned.

        A launcher may add ids of its own; other fields that do not exist are refused.
        """
        told = {name: value for name, value in data.items() if name not in _LAUNCHER_IDS}
        return cls(**told).as_asked(told)


_LAUNCHER_IDS = frozenset({"worker_id", "agent_id"})
