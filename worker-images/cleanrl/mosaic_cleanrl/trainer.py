"""A script of CleanRL as the template drives it: run up to its main loop, then turn by turn, then to its end."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from mosaic.worker.library.checkpoints import dump, undump
from mosaic.worker.library.failures import TrainingDiverged
from mosaic.worker.library.trainer import Policy, Trainer
from mosaic.worker.library.training import Training
from mosaic_cleanrl.environments import Spectator
from mosaic_cleanrl.evaluation import TrainedPolicy
from mosaic_cleanrl.launch import RunningScript, telling_writer
from mosaic_cleanrl.scripts import Script, find_script
from mosaic_cleanrl.state import give_back, lasting_arrays, take_policy, take_rest

_POLICY, _REST = "policy.pt", "rest.pt"

#: CleanRL's names in the vocabulary that all workers share; what has none keeps its own behind ``cleanrl/``.
_METRIC_NAMES: Mapping[str, str] = {
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


class TrainingWatcher(Spectator):
    """Tells a training of the episodes that its script plays.

    A turn of a loop over single steps ends at once by itself, so only within longer ones there is anything to obey.
    """

    def __init__(self, script: Script, training: Training, *, renders: bool) -> None:
        super().__init__(script, renders=renders, control=training.control if script.loops_over_updates else None)
        self._training = training

    @property
    def step(self) -> int:  # type: ignore[override]
        """Where the run stands."""
        return self._training.live_step()

    def episode_ended(self, **ended: Any) -> None:
        """Tell of it, and of the running mean."""
        training, step = self._training, self.step
        if not training.is_over:
            # The script writes its episodes to TensorBoard itself.
            training.episode(**ended, step=step, events=False)
            training.metrics(training.progress.metrics, step, events=False)


class CleanRLTrainer(Trainer):
    """One script in one run."""

    _run: RunningScript
    _lasting: frozenset[str]
    #: The number that the main loop has next, and the script's clock, both at the last boundary.
    _turn = 0
    _elapsed_s = 0.0
    _has_ended = False

    def build(self) -> Mapping[str, Any]:
        """Run the script up to its main loop."""
        script, config = self._script, self.config
        writer = telling_writer(self.run_dir / config.tensorboard_dir, self._tell, first_step=script.first_step)
        watcher = TrainingWatcher(script, self.training, renders=config.capture_video)
        self._run = RunningScript(watcher, config.arguments(on_gpu=self.on_gpu), writer)
        self.training.live_step = self._live_step
        self._run.begin()
        self._lasting = lasting_arrays(self._scope)
        self._share_event_files()
        arguments: Mapping[str, Any] = vars(self._scope["args"])
        return arguments

    def advance(self) -> None:
        """Run the main loop."""
        if self._elapsed_s:
            self._scope["start_time"] = time.time() - self._elapsed_s
        self._run.loop(self._turns)
        self._has_ended = True

    def save(self, folder: Path) -> Sequence[str]:
        """Write what acts, and beside it all else that an exact continuation needs.

        Within a turn, the environments are taken where they are, and the turn will be played anew.
        """
        dump(take_policy(self._scope), folder / _POLICY)
        rest = take_rest(self._scope, self._lasting, self.config.replay_limit_mb)
        rest["scalars"]["global_step"] = self.training.noted.step - self._script.first_step
        dump({**rest, "next_turn": self._turn, "elapsed_s": self._elapsed_s}, folder / _REST)
        return ["replay buffer"] if rest["replay"] is None and "rb" in self._scope else []

    def load(self, folder: Path) -> None:
        """Go on from what `save` wrote."""
        rest = undump(folder / _REST)
        for lost in give_back(self._scope, undump(folder / _POLICY), rest):
            self.training.reporter.emitter.log(lost, "warning")
        self._turn, self._elapsed_s = rest["next_turn"], rest["elapsed_s"]

    def policy(self, folder: Path | None) -> Policy:
        """Return the policy of a checkpoint, or of this training, in an environment of its own.

        While it trains, the script films.
        """
        is_filmed = self.config.capture_video and (folder is not None or self.training.is_over)
        state = take_policy(self._scope) if folder is None else undump(folder / _POLICY)
        is_greedy = self.config.eval_policy == "greedy"
        return TrainedPolicy(self._script, state, is_greedy=is_greedy, capture_video=is_filmed)

    def close(self) -> None:
        """Let the script say farewell; one that was left in its main loop keeps what it has written."""
        if self._has_ended:
            self._run.end()
        else:
            self._scope["writer"].close()

    @cached_property
    def _script(self) -> Script:
        return find_script(self.config.algo)

    @property
    def _scope(self) -> dict[str, Any]:
        return self._run.scope

    def _turns(self, turns: range) -> Iterator[int]:
        """Yield what is left of *turns*, and pass a boundary before each.

        A loop over single steps comes here thousands of times a second, so it passes only those that are due.
        """
        training, control = self.training, self.training.control
        loops_over_updates = self._script.loops_over_updates
        for turn in range(max(turns.start, self._turn), turns.stop):
            if loops_over_updates or turn >= training.due_at or control.is_interrupted:
                self._pass_boundary(turn)
            yield turn
        self._note(max(turns.stop, self._turn))
        training.note(self._step())

    def _pass_boundary(self, turn: int) -> None:
        """Do there what the template wants; the script's clock stands meanwhile."""
        self._note(turn)
        try:
            self.training.boundary(self._step())
        finally:
            self._scope["start_time"] = time.time() - self._elapsed_s

    def _note(self, turn: int) -> None:
        self._turn = turn
        self._elapsed_s = time.time() - self._scope.get("start_time", time.time())

    def _step(self) -> int:
        return self._live_step() if self._script.loops_over_updates else self._turn

    def _live_step(self) -> int:
        """Return how many steps have been played in all environments together, with the one under way."""
        scope = self._scope
        return int(scope["global_step"]) + self._script.first_step if "global_step" in scope else 0

    def _share_event_files(self) -> None:
        """Let figures of evaluations go where the script writes, without being told as if the script had said them."""
        writer = self._scope["writer"]
        add_scalar = partial(SummaryWriter.add_scalar, writer)
        self.training.reporter.write_with(SimpleNamespace(add_scalar=add_scalar, close=writer.close))

    def _tell(self, tag: str, value: float, step: int) -> None:
        """Tell of one value that the script logs when *step* steps have been played.

        Raises:
            TrainingDiverged: it is a loss, and not a number.

        """
        if tag in _EPISODE_TAGS and self.training.progress.episodes:
            return
        if "loss" in tag.rpartition("/")[2] and not math.isfinite(value):
            raise TrainingDiverged(tag, value, step)
        told = {self._shared_name(tag): value}
        if tag == _CADENCE_TAG and not self._script.logs_learning_rate:
            told |= self._learning_rate()
        self.training.metrics(told, step, events=False)

    def _shared_name(self, tag: str) -> str:
        if tag == "losses/qf1_loss" and not self._script.has_joint_critic_loss:
            return "loss/critic"
        return _METRIC_NAMES.get(tag) or f"cleanrl/{tag.rpartition('/')[2]}"

    def _learning_rate(self) -> dict[str, float]:
        """Return the learning rate of what acts, for scripts that keep theirs to themselves."""
        optimizer = next((self._scope[name] for name in _OPTIMIZERS if name in self._scope), None)
        return {} if optimizer is None else {"learning_rate": optimizer.param_groups[0]["lr"]}
