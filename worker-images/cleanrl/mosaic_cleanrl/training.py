"""What one training run knows while the script has the word, and what it may be asked to do.

`Training` is the single thing that the hooks talk to: environments tell it their steps and episodes, the
writer its scalars, the script's main loop its boundaries. It tells the fleet, and it is where a wish to
stop or to pause takes effect.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Protocol

from mosaic.errors import MosaicError
from mosaic.worker import TelemetryEmitter
from mosaic_cleanrl.scripts import Script

#: Episodes in the running mean of returns.
RECENT = 20
#: How long a run that should end may go on to reach the end of a turn of its main loop.
TURN_PATIENCE_S = 3.0
_PAUSE_LOOK_S = 0.05

#: CleanRL's names in the vocabulary that all workers share.
METRIC_NAMES: Mapping[str, str] = {
    "charts/learning_rate": "learning_rate",
    "charts/SPS": "steps_per_s",
    "charts/epsilon": "epsilon",
    "losses/value_loss": "loss/value",
    "losses/policy_loss": "loss/policy",
    "losses/entropy": "entropy",
    "losses/approx_kl": "approx_kl",
    "losses/clipfrac": "clip_fraction",
    "losses/explained_variance": "explained_variance",
    "losses/td_loss": "loss/q",
    "losses/loss": "loss/q",
    "losses/qf_loss": "loss/critic",
    "losses/actor_loss": "loss/actor",
    "losses/alpha_loss": "loss/alpha",
}
#: Logged by every script at the pace of its metrics.
_CADENCE_TAG = "charts/SPS"
#: Globals of a script that hold the optimiser of its policy, or of the values that are its policy.
_OPTIMIZERS = ("optimizer", "actor_optimizer", "q_optimizer")
#: Told as episodes, with more detail than the script logs.
_EPISODE_TAGS = frozenset({"charts/episodic_return", "charts/episodic_length"})


class TrainingStopped(BaseException):
    """The run was asked to end; not an Exception, so that no script swallows it."""


class TrainingDiverged(MosaicError):
    """A loss is no longer a number."""

    code = "training_diverged"

    def __init__(self, tag: str, value: float, step: int) -> None:
        super().__init__(
            f"{tag} became {value} at step {step}: the training has diverged. Try a smaller learning rate, "
            "or look for rewards or observations that grow without bound"
        )


class EnvironmentFailed(MosaicError):
    """The environment raised while it was played."""

    code = "environment_failed"

    def __init__(self, env_id: str, verb: str, step: int, error: Exception) -> None:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        super().__init__(f"the environment {env_id} raised in {verb}() at step {step}: {what}")


@dataclass(frozen=True)
class Episode:
    """One finished episode as the bare environment saw it, before any scaling of rewards."""

    episode_return: float
    length: int
    terminated: bool
    truncated: bool


@dataclass
class Counters:
    """How far a run has come; a checkpoint holds them."""

    episodes: int = 0
    total_reward: float = 0.0
    updates_logged: int = 0


class Watcher(Protocol):
    """What an environment tells of itself to."""

    script: Script
    #: Whether pictures of the environments will be asked for.
    renders: bool
    #: Whether `obey_soon` has anything to do; looked at in every step, so it is a plain attribute.
    is_interrupted: bool

    @property
    def step(self) -> int:
        """Where the run stands."""

    def obey_soon(self) -> None:
        """Hold or end the run here, if that was asked and cannot wait for the end of a turn."""

    def episode_ended(self, episode: Episode) -> None:
        """Hear of a finished episode."""


class Training:
    """One run of one script."""

    def __init__(
        self,
        script: Script,
        emitter: TelemetryEmitter,
        *,
        mirror: Callable[[str, float, int], None],
        renders: bool = False,
    ) -> None:
        """Tell *emitter* what happens, and every scalar to *mirror* as well."""
        self.script = script
        self.renders = renders
        self.emitter = emitter
        self.counters = Counters()
        self.recent_returns: deque[float] = deque(maxlen=RECENT)
        #: The script's own global variables, once its main loop has begun.
        self.scope: dict[str, Any] = {}
        self.is_over = False
        self.is_interrupted = False
        self._mirror = mirror
        self._stop_within_turn_at = math.inf
        self._paused = False
        self._heard_episodes = False

    @property
    def step(self) -> int:
        """Where the script stands, in steps of all its environments together."""
        return int(self.scope.get("global_step", 0))

    @property
    def is_asked_to_stop(self) -> bool:
        """Tell whether the run should end at the next boundary."""
        return self._stop_within_turn_at < math.inf

    def request_stop(self) -> None:
        """Note that the run should end; safe in a signal handler."""
        self._stop_within_turn_at = time.monotonic() + TURN_PATIENCE_S
        self.is_interrupted = True

    def request_pause(self, paused: bool) -> None:
        """Note that the run should hold, or go on; safe in a signal handler."""
        self._paused = paused
        self.is_interrupted = paused or self.is_asked_to_stop

    def obey(self) -> None:
        """Hold while paused; end the run if that was asked.

        Raises:
            TrainingStopped: it should end here.

        """
        while self._paused and not self.is_asked_to_stop:
            time.sleep(_PAUSE_LOOK_S)
        if self.is_asked_to_stop:
            raise TrainingStopped

    def obey_soon(self) -> None:
        """Do as `obey` within a turn of the main loop, but give the turn a moment to end by itself.

        A run saved between two turns goes on to the bit; one cut within a turn plays that turn anew. A turn of a
        loop over single steps ends at once by itself.
        """
        if not self.script.loops_over_updates:
            return
        if self._paused or time.monotonic() > self._stop_within_turn_at:
            self.obey()

    def episode_ended(self, episode: Episode) -> None:
        """Tell of one episode of the training."""
        if self.is_over:
            return
        self._heard_episodes = True
        step, index = self.step, self.counters.episodes
        self.counters.episodes += 1
        self.counters.total_reward += episode.episode_return
        self.recent_returns.append(episode.episode_return)
        self.emitter.episode(
            index,
            episode.episode_return,
            episode.length,
            step=step,
            terminated=episode.terminated,
            truncated=episode.truncated,
        )
        self._tell("episode_return_mean", fmean(self.recent_returns), step)

    def scalar(self, tag: str, value: float, step: int) -> None:
        """Tell of one value that the script logs.

        Raises:
            TrainingDiverged: it is a loss, and not a number.

        """
        if tag in _EPISODE_TAGS and self._heard_episodes:
            return
        if "loss" in tag.rpartition("/")[2]:
            self.counters.updates_logged += 1
            if not math.isfinite(value):
                raise TrainingDiverged(tag, value, step)
        self._tell(self.metric_name(tag), value, step)
        if tag == _CADENCE_TAG and not self.script.logs_learning_rate:
            self._tell_learning_rate(step)

    def metric_name(self, tag: str) -> str:
        """Return the shared name of a scalar, or its own under ``cleanrl/``."""
        if tag == "losses/qf1_loss" and not self.script.has_joint_critic_loss:
            return "loss/critic"
        return METRIC_NAMES.get(tag) or f"cleanrl/{tag.rpartition('/')[2]}"

    def summary(self, status: str) -> dict[str, Any]:
        """Return what the run came to."""
        recent = self.recent_returns
        return {
            "status": status,
            "steps": self.step,
            "episodes": self.counters.episodes,
            "total_reward": self.counters.total_reward,
            "metrics": {"episode_return_mean": fmean(recent)} if recent else {},
        }

    def _tell_learning_rate(self, step: int) -> None:
        """Tell of the learning rate of what acts, for scripts that keep theirs to themselves."""
        optimizer = next((self.scope[name] for name in _OPTIMIZERS if name in self.scope), None)
        if optimizer is not None:
            self._tell("learning_rate", optimizer.param_groups[0]["lr"], step)

    def _tell(self, name: str, value: float, step: int) -> None:
        self.emitter.metric(name, value, step)
        self._mirror(name, value, step)
