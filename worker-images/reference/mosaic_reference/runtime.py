"""Training: episodes, metrics, checkpoints, exact resume and a final evaluation."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from mosaic.errors import BadInput
from mosaic.worker import TelemetryEmitter
from mosaic.worker.checkpoints import mismatches, shown
from mosaic.worker.evaluation import write_evaluation
from mosaic_reference.checkpoint import Checkpoint, Progress, load, save
from mosaic_reference.config import ReferenceConfig
from mosaic_reference.episodes import (
    PlayedEpisode,
    Step,
    episode_seed,
    play_episode,
    summarise,
    train_episode,
)
from mosaic_reference.faults import fault_from
from mosaic_reference.learner import Learner
from mosaic_reference.manifest import write_manifest
from mosaic_reference.tasks import TASKS, encoder_for, make_env

#: Episodes in the running mean of returns.
RECENT = 20

_PAUSE_LOOK_S = 0.05


class ReferenceRuntime:
    """One run of one config; it can be stopped, paused, resumed exactly and evaluated.

    `mosaic.worker.run_worker` tells the fleet that the run started, lives and ended. What only the training
    knows is told here.
    """

    def __init__(
        self,
        config: ReferenceConfig,
        emitter: TelemetryEmitter | None = None,
        *,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.config = config
        self.emitter = emitter or TelemetryEmitter(config.run_id)
        self.task = TASKS[config.env_id]
        self.env = make_env(config.env_id, is_slippery=config.is_slippery)
        self.encoder = encoder_for(self.env, self.task)
        seed = secrets.randbits(31) if config.seed is None else config.seed
        self.progress = Progress(config.env_id, config.algo, seed)
        self.learner = self._new_learner()
        self.run_dir = Path(environment.get("MOSAIC_RUN_DIR") or ".")
        self.checkpoint_dir = Path(environment.get("MOSAIC_CHECKPOINT_DIR") or self.run_dir / "checkpoints")
        self._misbehave = fault_from(environment)
        self._stop_requested = False
        self._paused = False

    def request_stop(self) -> None:
        """Note that the run should end; called from a signal handler."""
        self._stop_requested = True

    def request_pause(self, paused: bool) -> None:
        """Hold before the next step, or go on; called from a signal handler."""
        self._paused = paused

    def resume_from(self, checkpoint: Path) -> None:
        """Go on from *checkpoint*, bit by bit as if the run had never been interrupted.

        Raises:
            BadInput: the file cannot be read, or is of another environment or algorithm.

        """
        self._take(load(checkpoint), str(checkpoint))

    def run(self) -> dict[str, Any]:
        """Train to the end, or until asked to stop; evaluate; return a summary."""
        summary = self._finish() if self._train() else self._summary("cancelled")
        write_manifest(self.run_dir, self.config.run_id, self.checkpoint_dir, summary)
        return summary

    def evaluate(self, checkpoint: Path, seeds: Sequence[int]) -> Mapping[str, Any]:
        """Play one greedy episode per seed with the policy in *checkpoint*; report each, return a summary."""
        self._take(load(checkpoint), str(checkpoint))
        return self._play_greedily(seeds)

    def _train(self) -> bool:
        """Train the episodes that are left; False when asked to stop before the last."""
        while self.progress.step < self.config.total_steps:
            boundary = self._checkpoint()
            if not self._train_one_episode():
                # What the unfinished episode taught is dropped: only whole episodes can be continued exactly.
                self._save(boundary)
                return False
            self._report_metrics()
            if self.progress.step - self.progress.checkpoint_at >= self.config.checkpoint_every:
                self._save(self._checkpoint())
        self._save(self._checkpoint())
        return True

    def _finish(self) -> dict[str, Any]:
        evaluation = self._evaluate_at_the_end() if self.config.eval_episodes else {}
        return self._summary("completed") | evaluation

    def _new_learner(self) -> Learner:
        config, task = self.config, self.task
        return Learner(
            actions=int(self.env.action_space.n),  # type: ignore[attr-defined]
            features=self.encoder.size,
            active=self.encoder.active,
            algo=config.algo,
            learning_rate=_given(config.learning_rate, task.learning_rate),
            gamma=_given(config.gamma, task.gamma),
            trace_decay=_given(config.trace_decay, task.trace_decay),
            seed=self.progress.seed,
        )

    def _epsilon(self) -> float:
        start = _given(self.config.epsilon_start, self.task.epsilon[0])
        end = _given(self.config.epsilon_end, self.task.epsilon[1])
        fallen = self.progress.step / (self.config.total_steps * self.config.epsilon_decay_fraction)
        return start + (end - start) * min(1.0, fallen)

    def _train_one_episode(self) -> bool:
        """Play and learn one episode and report it; False when it was cut short by a wish to stop."""
        progress = self.progress
        played = train_episode(
            self.env,
            self.encoder,
            self.learner,
            seed=episode_seed(progress.seed, progress.episode),
            epsilon=self._epsilon(),
            after_step=self._after_step,
        )
        if played is None:
            return False
        self.progress = replace(
            progress,
            step=progress.step + played.length,
            episode=progress.episode + 1,
            total_reward=progress.total_reward + played.episode_return,
            recent_returns=(*progress.recent_returns, played.episode_return)[-RECENT:],
        )
        self._report_episode(progress.episode, played)
        return True

    def _after_step(self, step: Step) -> bool:
        if self.config.emit_steps:
            self.emitter.step(
                self.progress.episode,
                step.number - 1,
                step.reward,
                action=step.action,
                observation=step.observation,
                terminated=step.terminated,
                truncated=step.truncated,
            )
        self._misbehave(self.progress.step + step.number)
        if self.config.step_delay_s:
            time.sleep(self.config.step_delay_s)
        while self._paused and not self._stop_requested:
            time.sleep(_PAUSE_LOOK_S)
        return not self._stop_requested

    def _report_episode(self, index: int, played: PlayedEpisode, agent: str | None = None) -> None:
        self.emitter.episode(
            index,
            played.episode_return,
            played.length,
            step=self.progress.step,
            agent=agent,
            terminated=played.terminated,
            truncated=played.truncated,
            seed=played.seed,
        )

    def _report_metrics(self) -> None:
        progress = self.progress
        if progress.step - progress.metrics_at < self.config.metrics_every:
            return
        self.progress = replace(progress, metrics_at=progress.step)
        self.emitter.metrics(
            {
                "train/mean_return": fmean(progress.recent_returns),
                "train/epsilon": self._epsilon(),
                "train/weight_norm": float((self.learner.weights**2).sum() ** 0.5),
            },
            progress.step,
        )

    def _checkpoint(self) -> Checkpoint:
        state = self.learner.state()
        progress = replace(self.progress, checkpoint_at=self.progress.step)
        return Checkpoint(progress, state["weights"], state["generator"])

    def _save(self, checkpoint: Checkpoint) -> None:
        step = checkpoint.progress.step
        if step == self.progress.checkpoint_at:
            return
        self.progress = replace(self.progress, checkpoint_at=step)
        path = self.checkpoint_dir / f"step-{step:09d}.npz"
        digest = save(checkpoint, path)
        facts = {"step": step, "episode": checkpoint.progress.episode, "sha256": digest}
        self.emitter.checkpoint_saved({"checkpoint_path": shown(path, self.run_dir), **facts})

    def _take(self, checkpoint: Checkpoint, source: str) -> None:
        ours, theirs = self.progress, checkpoint.progress
        faults = mismatches(("environment", theirs.env_id, ours.env_id), ("algorithm", theirs.algo, ours.algo))
        if faults:
            raise BadInput(source, faults)
        self.progress = theirs
        self.learner.restore({"weights": checkpoint.weights, "generator": checkpoint.generator})

    def _evaluate_at_the_end(self) -> dict[str, Any]:
        seeds = [episode_seed(self.progress.seed, -1 - number) for number in range(self.config.eval_episodes)]
        summary = self._play_greedily(seeds)
        self.emitter.metric("eval/mean_return", summary["mean_return"], self.progress.step)
        return {"evaluation": write_evaluation(summary, self.emitter, self.run_dir)}

    def _play_greedily(self, seeds: Sequence[int]) -> dict[str, Any]:
        rows = [play_episode(self.env, self.encoder, self.learner, seed) for seed in seeds]
        for index, row in enumerate(rows):
            self._report_episode(index, row, agent="evaluation")
        return summarise(rows)

    def _summary(self, status: str) -> dict[str, Any]:
        progress = self.progress
        recent = progress.recent_returns
        return {
            "status": status,
            "steps": progress.step,
            "episodes": progress.episode,
            "total_reward": progress.total_reward,
            "seed": progress.seed,
            "metrics": {"mean_return": fmean(recent)} if recent else {},
        }


def _given(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
