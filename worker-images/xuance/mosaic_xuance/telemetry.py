"""What XuanCe's callbacks tell, said in the words all workers share."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from xuance.common import MultiAgentBaseCallback
from xuance.torch.agents.core.on_policy import OnPolicyAgent
from xuance.torch.agents.core.on_policy_marl import OnPolicyMARLAgents

from mosaic.worker import TelemetryEmitter

#: Episodes in the running mean of returns.
RECENT = 20

#: XuanCe's names of a metric and the one that all libraries share.
_SHARED_NAMES = {
    **dict.fromkeys(("actor_loss", "loss_actor", "ploss", "p_loss"), "loss/actor"),
    **dict.fromkeys(("critic_loss", "loss_critic"), "loss/critic"),
    **dict.fromkeys(("qloss", "q_loss", "loss_q", "loss_qmix", "loss_td"), "loss/q"),
    **dict.fromkeys(("pg_loss", "policy_loss"), "loss/policy"),
    **dict.fromkeys(("vf_loss", "value_loss"), "loss/value"),
    "alpha_loss": "loss/alpha",
    "loss": "loss/total",
    "entropy_loss": "loss/entropy",
    "entropy": "entropy",
    "kl": "approx_kl",
    "clip_ratio": "clip_fraction",
    **dict.fromkeys(("learning_rate", "actor_lr", "learning_rate_actor"), "learning_rate"),
    **dict.fromkeys(("critic_lr", "learning_rate_critic"), "learning_rate/critic"),
    "epsilon_greedy": "epsilon",
}
#: What other libraries call the losses of an algorithm that learns from its own newest play.
_ON_POLICY = {"loss/actor": "loss/policy", "loss/critic": "loss/value"}
#: The critic of an actor estimates Q as well, but its loss is known as the critic's.
_WITH_ACTOR = {"loss/q": "loss/critic"}
_ACTOR_RATES = frozenset({"actor_lr", "learning_rate_actor"})


class TrainingDiverged(Exception):
    """A loss is not a number any more; whatever follows would be noise."""

    def __init__(self, name: str, value: float, step: int, update: int) -> None:
        super().__init__(
            f"{name} became {value} at step {step} (update {update}): the training has diverged; "
            "lower the learning rate, clip gradients (use_grad_clip) or look for rewards that are not finite"
        )


@dataclass
class Tally:
    """What the telemetry has counted so far; it belongs to a checkpoint like the weights do."""

    episodes: int = 0
    total_reward: float = 0.0
    recent_returns: tuple[float, ...] = ()
    metrics_at: int = 0
    updates_told: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the counters as plain values."""
        return asdict(self)


class Narrator(MultiAgentBaseCallback):  # type: ignore[misc]
    """Tells episodes and metrics as XuanCe reports them, and hands each boundary between two steps on.

    *at_boundary* is called when the agent can be saved or stopped without losing anything, at the step it returned
    last time or when `is_interrupted`; not at every step, because between the large computations of a training each
    call is made with cold caches and costs a few times what it seems to.
    """

    def __init__(
        self,
        emitter: TelemetryEmitter,
        *,
        metrics_every: int,
        at_boundary: Callable[[], int],
        also_tell: Callable[[Mapping[str, float], int], None] = lambda _values, _step: None,
    ) -> None:
        super().__init__()
        self.tally = Tally()
        self.agent: Any = None
        self.is_interrupted = False
        self.frames: list[Any] = []
        self.test_steps = 0
        self._emitter = emitter
        self._metrics_every = metrics_every
        self._at_boundary = at_boundary
        self._look_at = 0
        self._also_tell = also_tell
        self._rate_mark = (time.monotonic(), 0)
        self._losses: dict[str, float] = {}

    def begin(self, agent: Any) -> None:
        """Listen to *agent*, whose step count may be beyond zero already."""
        self.agent = agent
        self._rate_mark = (time.monotonic(), agent.current_step)

    def on_train_episode_info(self, **told: Any) -> None:
        """Tell a finished episode, and each agent's part in it where there are several."""
        info = told["infos"][told["env_id"]]
        score, length = info["episode_score"], int(info["episode_step"])
        step = int(told["current_step"])
        parts = {name: float(value) for name, value in score.items()} if isinstance(score, Mapping) else {}
        whole = sum(parts.values()) if parts else float(score)
        tally = self.tally
        self._emitter.episode(tally.episodes, whole, length, step=step, env_index=told["env_id"])
        for name, value in parts.items():
            self._emitter.episode(tally.episodes, value, length, step=step, agent=name)
        tally.episodes += 1
        tally.total_reward += whole
        tally.recent_returns = (*tally.recent_returns, whole)[-RECENT:]

    def on_train_epochs_end(self, current_step: int, **told: Any) -> None:
        """Keep the losses of an update; with recurrent teams this is also where a step ends."""
        self._note_losses(told.get("update_info") or {}, current_step)
        if self._plays_whole_episodes:
            self._step_ended(current_step)

    def on_train_step_end(self, current_step: int, **told: Any) -> None:
        """See to what is due; everything about the step is done."""
        if self.agent.learner.iterations != self.tally.updates_told:
            self._note_losses(told.get("train_info") or {}, current_step)
        if current_step >= self._look_at or self.is_interrupted:
            self._step_ended(current_step)

    def on_test_step(self, *_args: Any, **told: Any) -> None:
        """Count the steps of an evaluation and keep its pictures."""
        if told.get("test_mode", True):
            self.test_steps += 1
            if told.get("images") is not None:
                self.frames.append(told["images"][0])

    def refuse_broken_weights(self, cause: Exception) -> None:
        """Raise if weights are not numbers any more, which shows first in whatever *cause* was raised."""
        for weights in self.agent.policy.parameters():
            if not bool(weights.isfinite().all()):
                update = self.agent.learner.iterations
                raise TrainingDiverged("a weight of the policy", math.nan, self.agent.current_step, update) from cause

    @property
    def _plays_whole_episodes(self) -> bool:
        return bool(self.agent.use_rnn) and hasattr(self.agent, "run_episodes")

    def _note_losses(self, told: Mapping[str, Any], step: int) -> None:
        update = self.agent.learner.iterations
        if not told or update == self.tally.updates_told:
            return
        self.tally.updates_told = update
        self._losses = shared_metrics(told, on_policy=isinstance(self.agent, (OnPolicyAgent, OnPolicyMARLAgents)))
        for name, value in self._losses.items():
            if name.startswith("loss/") and not math.isfinite(value):
                raise TrainingDiverged(name, value, step, update)

    def _step_ended(self, step: int) -> None:
        if step - self.tally.metrics_at >= self._metrics_every:
            self._tell_metrics(step)
        self._look_at = min(self._at_boundary(), self.tally.metrics_at + self._metrics_every)

    def _tell_metrics(self, step: int) -> None:
        self.tally.metrics_at = step
        values = dict(self._losses)
        if self.tally.recent_returns:
            values["episode_return_mean"] = fmean(self.tally.recent_returns)
        values["xuance/updates"] = float(self.tally.updates_told)
        values["steps_per_s"] = self._rate(step)
        self._losses = {}
        self._emitter.metrics(values, int(step))
        self._also_tell(values, int(step))

    def _rate(self, step: int) -> float:
        now = time.monotonic()
        since, step_then = self._rate_mark
        self._rate_mark = (now, step)
        return (step - step_then) / max(now - since, 1e-9)


def shared_metrics(told: Mapping[str, Any], *, on_policy: bool) -> dict[str, float]:
    """Translate XuanCe's *told* into shared names; a metric of several agents becomes their mean.

    XuanCe writes ``Qloss/rank_0``, ``actor-loss`` or ``agent_1/loss_critic`` for what others call
    ``loss/q``, ``loss/actor`` and ``loss/critic``. What has no shared name keeps its own behind ``xuance/``.
    """
    has_actor = any(_plain(name) in _ACTOR_RATES for name in told)
    renamed = _ON_POLICY if on_policy else _WITH_ACTOR if has_actor else {}
    grouped: dict[str, list[float]] = {}
    for name, value in told.items():
        number = _number(value)
        if number is not None:
            shared = _SHARED_NAMES.get(_plain(name)) or f"xuance/{_own_name(name)}"
            grouped.setdefault(renamed.get(shared, shared), []).append(number)
    return {name: fmean(values) if len(values) > 1 else values[0] for name, values in grouped.items()}


def _plain(name: str) -> str:
    return _own_name(name).lower().replace("-", "_")


def _own_name(name: str) -> str:
    """Return XuanCe's *name* without the agent before it and the process behind it."""
    return [part for part in name.split("/") if not part.startswith("rank_")][-1]


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
