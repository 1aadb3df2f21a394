"""What one training knows of itself while the library has the word: how far it is, and what it has told."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from statistics import fmean
from typing import Any

from mosaic.worker.library.control import Control
from mosaic.worker.library.failures import TrainingDiverged
from mosaic.worker.library.reporting import Reporter

#: Episodes in the running mean of returns.
RECENT = 20


@dataclass(frozen=True)
class Progress:
    """How far a run has come; a checkpoint holds it."""

    step: int = 0
    episodes: int = 0
    total_reward: float = 0.0
    recent_returns: tuple[float, ...] = ()
    #: How many points of losses were told; a run without any has learned nothing.
    updates: int = 0
    #: The step of the last evaluation.
    evaluated_at: int = 0
    #: Anything of the trainer's own, as JSON values.
    more: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Progress:
        """Read what `to_dict` returned, also that of a newer release."""
        known = {one.name: data[one.name] for one in fields(cls) if one.name in data}
        return cls(**{**known, "recent_returns": tuple(data.get("recent_returns", ()))})

    @property
    def metrics(self) -> dict[str, float]:
        """The running mean of returns, if there are any."""
        return {"episode_return_mean": fmean(self.recent_returns)} if self.recent_returns else {}


class Training:
    """One training: a `Trainer` tells it what happens, and asks it at every boundary what to do."""

    def __init__(self, control: Control, reporter: Reporter, at_boundary: Callable[[int], None]) -> None:
        self.control = control
        self.reporter = reporter
        self.progress = Progress()
        #: How it stood at the last boundary, which is what a checkpoint is of.
        self.noted = self.progress
        #: Whether what is played belongs to the training; what comes after it is not told as such.
        self.is_over = False
        #: Where the training stands in the midst of a turn; a trainer that knows better says so.
        self.live_step: Callable[[], int] = lambda: self.progress.step
        #: Before this step a boundary changes nothing unless the run is interrupted, so a loop over single steps
        #: may pass over those before.
        self.due_at: float = 0
        self._at_boundary = at_boundary

    def begin(self, progress: Progress) -> None:
        """Go on from *progress*."""
        self.progress = self.noted = progress

    def boundary(self, step: int) -> None:
        """Note that *step* steps are played and that the state is whole; evaluate, save, hold or stop if it is time.

        Raises:
            StopRequested: the run should end here; it is saved by whoever catches it.

        """
        self.note(step)
        self._at_boundary(step)

    def note(self, step: int) -> None:
        """Note where the state is whole, without doing anything there."""
        self.progress = self.noted = replace(self.progress, step=step)

    def evaluated(self, step: int) -> None:
        """Note that an evaluation was made at *step*."""
        self.progress = self.noted = replace(self.progress, evaluated_at=step)

    def episode(
        self,
        episode_return: float,
        length: int,
        *,
        step: int,
        agents: Mapping[str, float] | None = None,
        **more: Any,
    ) -> None:
        """Tell of a finished episode, and of each agent's part in it where there are several."""
        if self.is_over:
            return
        now = self.progress
        self.reporter.episode(now.episodes, episode_return, length, step=step, agents=agents or {}, **more)
        self.progress = replace(
            now,
            episodes=now.episodes + 1,
            total_reward=now.total_reward + episode_return,
            recent_returns=(*now.recent_returns, episode_return)[-RECENT:],
        )

    def metrics(
        self, values: Mapping[str, float], step: int, *, policy: str | None = None, events: bool = True
    ) -> None:
        """Tell of one point of each series; those of one *policy* of several carry its name.

        Without *events*, TensorBoard has these already.

        Raises:
            TrainingDiverged: a loss is not a number.

        """
        losses = {name: value for name, value in values.items() if name.startswith("loss/")}
        broken = next(((name, value) for name, value in losses.items() if not math.isfinite(value)), None)
        if broken is not None:
            name, value = broken
            raise TrainingDiverged(f"{name} of {policy}" if policy else name, value, step)
        self.progress = replace(self.progress, updates=self.progress.updates + bool(losses))
        self.reporter.metrics(values, step, policy=policy, events=events)
