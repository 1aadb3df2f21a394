"""The main loop of a script as the worker sees it: where a run is saved, resumed, paused and stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mosaic.errors import BadInput
from mosaic.worker.checkpoints import prune, shown
from mosaic_cleanrl import checkpoint as checkpoints
from mosaic_cleanrl.checkpoint import Checkpoint
from mosaic_cleanrl.state import give_back, lasting_arrays, take_learned, take_progress
from mosaic_cleanrl.training import Counters, Training, TrainingStopped


class MainLoop:
    """Yields the numbers of a script's main loop and saves the run between two of them."""

    def __init__(
        self,
        training: Training,
        *,
        checkpoint_dir: Path,
        checkpoint_every: int,
        keep_checkpoints: int,
        replay_limit_mb: int,
        resume_from: Path | None = None,
    ) -> None:
        """Save every *checkpoint_every* steps, keep the newest *keep_checkpoints*; go on from *resume_from* if given.

        Raises:
            BadInput: *resume_from* is not a checkpoint.

        """
        self._training = training
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_every = checkpoint_every
        self._keep_checkpoints = keep_checkpoints
        self._replay_limit_mb = replay_limit_mb
        self._resume_from = checkpoints.load(resume_from) if resume_from else None
        self._lasting: frozenset[str] = frozenset()
        #: Where the run stood between two turns, last.
        self._place: Mapping[str, Any] = {}
        self._next_save = 0
        self._saved_step = -1 if self._resume_from is None else self._resume_from.step
        #: The newest checkpoint: the last one written, or the one that the run goes on from.
        self.last_saved = resume_from

    def __call__(self, scope: dict[str, Any], turns: range) -> Iterator[int]:
        """Yield what is left of *turns*; the script's *scope* is watched from here on."""
        training = self._training
        training.scope = scope
        self._lasting = lasting_arrays(scope)
        first = self._resume(scope, turns)
        self._next_save = self._step(first) + self._checkpoint_every
        for turn in range(first, turns.stop):
            if not training.script.loops_over_updates:
                scope["global_step"] = turn
            self._boundary(turn)
            yield turn
        self._note(turns.stop)
        self.save()
        training.is_over = True

    def save(self) -> None:
        """Write a checkpoint of the last boundary; a disk that does not take it is told and passed over.

        Called within a turn, the environments are taken where they are and the turn will be played anew.
        """
        step = self._place["step"]
        if step == self._saved_step:
            return
        path = self._checkpoint_dir / f"step-{step:010d}.pt"
        try:
            digest = checkpoints.save(self._checkpoint(), path)
        except OSError as error:
            self._training.emitter.log(
                f"the checkpoint at step {step} could not be written: {error.strerror or error}; "
                "the training goes on without it",
                "error",
            )
            return
        self._saved_step, self.last_saved = step, path
        facts = {"step": step, "episode": self._place["episodes"], "sha256": digest}
        # The scripts work in the run directory.
        self._training.emitter.checkpoint_saved({"checkpoint_path": shown(path, Path.cwd()), **facts})
        prune(self._checkpoint_dir, self._keep_checkpoints)

    def _boundary(self, turn: int) -> None:
        # A loop over single steps passes here thousands of times a second, so it notes only what it will need.
        step, training = self._step(turn), self._training
        is_due = step >= self._next_save
        if training.script.loops_over_updates or is_due:
            self._note(turn)
        if is_due:
            self._next_save = step + self._checkpoint_every
            self.save()
        try:
            training.obey()
        except TrainingStopped:
            self._note(turn)
            raise

    def _step(self, turn: int) -> int:
        return self._training.step if self._training.script.loops_over_updates else turn

    def _note(self, turn: int) -> None:
        training, counters = self._training, self._training.counters
        self._place = {
            "step": self._step(turn),
            "next_turn": turn,
            "elapsed_s": time.time() - training.scope.get("start_time", time.time()),
            "episodes": counters.episodes,
            "total_reward": counters.total_reward,
            "updates_logged": counters.updates_logged,
            "recent_returns": tuple(training.recent_returns),
        }

    def _checkpoint(self) -> Checkpoint:
        scope = self._training.scope
        arguments = vars(scope["args"])
        return Checkpoint(
            script=self._training.script.name,
            env_id=arguments["env_id"],
            seed=arguments["seed"],
            arguments=dict(arguments),
            state={**self._progress(scope), **take_learned(scope, self._replay_limit_mb)},
            **self._place,
        )

    def _progress(self, scope: dict[str, Any]) -> dict[str, Any]:
        taken = take_progress(scope, self._lasting)
        taken["scalars"]["global_step"] = self._place["step"]
        return taken

    def _resume(self, scope: dict[str, Any], turns: range) -> int:
        kept = self._resume_from
        if kept is None:
            return turns.start
        try:
            is_whole = give_back(scope, kept.state)
        except (KeyError, RuntimeError, ValueError) as error:
            raise BadInput("the checkpoint", [f"does not fit this script and its settings: {error}"]) from error
        scope["start_time"] = time.time() - kept.elapsed_s
        training = self._training
        training.counters = Counters(kept.episodes, kept.total_reward, kept.updates_logged)
        training.recent_returns.extend(kept.recent_returns)
        if not is_whole:
            training.emitter.log("the state of these environments cannot be saved, so they begin new episodes")
        if kept.state["replay"] is None and "rb" in scope:
            training.emitter.log("the replay buffer was too large for the checkpoint and is filled anew", "warning")
        return max(turns.start, kept.next_turn)
