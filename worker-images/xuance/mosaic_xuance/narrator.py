"""What XuanCe's callbacks tell, handed on to the template."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from xuance.common import MultiAgentBaseCallback
from xuance.torch.agents.core.on_policy import OnPolicyAgent
from xuance.torch.agents.core.on_policy_marl import OnPolicyMARLAgents

from mosaic.worker.library.failures import TrainingDiverged
from mosaic.worker.library.training import Training
from mosaic_xuance.config import XuanCeConfig
from mosaic_xuance.metrics import shared_metrics


@dataclass
class Told:
    """Which metrics were told; it belongs to a checkpoint like the weights do."""

    metrics_at: int = 0
    updates: int = 0
    #: Of the newest update, until a point has told them.
    losses: Mapping[str, float] = field(default_factory=dict)


class Narrator(MultiAgentBaseCallback):  # type: ignore[misc]
    """Tells episodes and metrics as XuanCe reports them, and hands boundaries between two steps on.

    Not every one of them, but those at which something may be due or when something is wanted: between the large
    computations of a training each call is made with cold caches and costs a few times what it seems to.
    """

    def __init__(self, training: Training, config: XuanCeConfig) -> None:
        super().__init__()
        self.told = Told()
        self.agent: Any = None
        self._training = training
        self._control = training.control
        self._config = config
        self._ends_at = self._saved_at = self._look_at = 0
        self._rate_mark = (0.0, 0)

    def begin(self, agent: Any, ends_at: int) -> None:
        """Listen to *agent*, whose step count may be beyond zero already, until the step *ends_at*."""
        self.agent = agent
        self._ends_at, self._saved_at = ends_at, int(agent.current_step)
        self._rate_mark = (time.monotonic(), self._saved_at)

    def on_train_episode_info(self, **told: Any) -> None:
        """Tell a finished episode, and each agent's part in it where there are several."""
        info = told["infos"][told["env_id"]]
        score, length = info["episode_score"], int(info["episode_step"])
        # XuanCe counts a step after its episodes, but an episode that was played whole before.
        step = int(told["current_step"]) + (0 if self._plays_whole_episodes else self.agent.n_envs)
        whole, parts = shares_of(score)
        self._training.episode(whole, length, step=step, agents=parts, env_index=told["env_id"], events=False)

    def on_train_epochs_end(self, current_step: int, **told: Any) -> None:
        """Keep the losses of an update; with recurrent teams this is also where a step ends.

        They call twice: the first time, without ``train_steps``, what was learned from is not cleared away yet.
        """
        self._note_losses(told.get("update_info") or {}, current_step)
        if self._plays_whole_episodes and "train_steps" in told:
            self._step_ended(int(current_step))

    def on_train_step_end(self, current_step: int, **told: Any) -> None:
        """See to what is due; everything about the step is done."""
        if self.agent.learner.iterations != self.told.updates:
            self._note_losses(told.get("train_info") or {}, current_step)
        if current_step >= self._look_at or self._control.is_interrupted:
            self._step_ended(int(current_step))

    def tell_last_point(self) -> None:
        """Tell where the metrics stand at the end, unless the last step did.

        What was told is not noted, so that a training that goes on from here tells the same as one that never ended.
        """
        if self.agent.current_step > self.told.metrics_at:
            self._tell_metrics(int(self.agent.current_step))

    @property
    def _plays_whole_episodes(self) -> bool:
        return bool(self.agent.use_rnn) and hasattr(self.agent, "run_episodes")

    def _note_losses(self, told: Mapping[str, Any], step: int) -> None:
        update = self.agent.learner.iterations
        if not told or update == self.told.updates:
            return
        self.told.updates = update
        on_policy = isinstance(self.agent, (OnPolicyAgent, OnPolicyMARLAgents))
        self.told.losses = shared_metrics(told, on_policy=on_policy)
        for name, value in self.told.losses.items():
            # At once, and not when it is told: whatever is learned until then would be noise.
            if name.startswith("loss/") and not math.isfinite(value):
                raise TrainingDiverged(name, value, int(step))

    def _step_ended(self, step: int) -> None:
        every = self._config.metrics_every
        if step // every > self.told.metrics_at // every:
            self._tell_metrics(step)
            self.told.metrics_at, self.told.losses = step, {}
        if step < self._ends_at:
            # What is due at the very end is done when the training has returned.
            self._training.boundary(step)
            if step - self._saved_at >= self._config.checkpoint_every:
                self._saved_at = step
        intervals = [one for one in (every, self._config.eval_every) if one]
        next_points = [(step // interval + 1) * interval for interval in intervals]
        self._look_at = min(self._saved_at + self._config.checkpoint_every, *next_points)

    def _tell_metrics(self, step: int) -> None:
        now, (since, step_then) = time.monotonic(), self._rate_mark
        self._rate_mark = (now, step)
        values = {**self.told.losses, **self._training.progress.metrics, "xuance/updates": float(self.told.updates)}
        values["steps_per_s"] = (step - step_then) / max(now - since, 1e-9)
        # XuanCe writes for TensorBoard itself.
        self._training.metrics(values, step, events=False)


def shares_of(score: Any) -> tuple[float, dict[str, float]]:
    """Return what an episode paid and each agent's part in it, from XuanCe's *score*.

    XuanCe's own score of a team is the mean over its agents.
    """
    parts = {name: float(value) for name, value in score.items()} if isinstance(score, Mapping) else {}
    return sum(parts.values()) if parts else float(score), parts
