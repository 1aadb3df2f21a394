"""Training: episodes, metrics, checkpoints, exact resume and a final evaluation."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from mosaic.worker import TelemetryEmitter
from mosaic.worker.library.checkpoints import digest_of, shown
from mosaic.worker.library.evaluation import (
    EvaluationSchedule,
    PlayedEpisode,
    evaluation_seeds,
    tell_evaluation,
    write_evaluation,
)
from mosaic.worker.library.settings import Resolved, resolve_config, settings_digest
from mosaic_reference.checkpoint import Checkpoint, Progress, load, passport_of, save
from mosaic_reference.config import ReferenceConfig
from mosaic_reference.episodes import Step, episode_seed, play_episode, train_episode
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
        dry_run: bool = False,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.emitter = emitter or TelemetryEmitter(config.run_id)
        self._asked = config
        seed = secrets.randbits(31) if config.seed is None else config.seed
        self._set_up(Progress(config.env_id, config.algo, seed))
        self._is_dry_run = dry_run
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

    def resume_from(self, checkpoint: Path) -> dict[str, Any]:
        """Go on from *checkpoint*, bit by bit as if the run had never been interrupted; return what to tell of it.

        Raises:
            BadInput: the file cannot be read, or is of another environment or algorithm than was asked for.

        """
        kept = self._take(checkpoint)
        if kept.passport.settings_digest not in ("", self._digest):
            self.emitter.log(f"{checkpoint.name} was learned with other settings than this run goes on with", "warning")
        return {"step": kept.passport.step, "sha256": digest_of(checkpoint), "passport": kept.passport.to_dict()}

    def run(self) -> dict[str, Any]:
        """Train to the end, or until asked to stop; evaluate; return a summary."""
        self._tell_settings()
        if self._is_dry_run:
            return {"status": "completed", "dry_run": True, "plan": self._plan()}
        summary = self._finish() if self._train() else self._summary("cancelled")
        write_manifest(self.run_dir, self.config.run_id, self.checkpoint_dir, summary)
        return summary

    def evaluate(self, checkpoint: Path, seeds: Sequence[int]) -> Mapping[str, Any]:
        """Play one episode per seed with the policy in *checkpoint*; report each, return rows and summary.

        Raises:
            BadInput: the file cannot be read, or is of another environment or algorithm than was asked for.

        """
        kept = self._take(checkpoint)
        self._tell_settings()
        return {**self._facts(), "passport": kept.passport.to_dict(), **self._evaluated(seeds)}

    def _set_up(self, progress: Progress) -> None:
        """Make ready to learn what *progress* is of, with what was asked for and otherwise with what suits it."""
        asked, task = self._asked, TASKS[progress.env_id]
        suitable = {
            "learning_rate": task.learning_rate,
            "gamma": task.gamma,
            "trace_decay": task.trace_decay,
            "epsilon_start": task.epsilon[0],
            "epsilon_end": task.epsilon[1],
        }
        of_task = {name: value for name, value in suitable.items() if getattr(asked, name) is None}
        of_run = {"env_id": progress.env_id, "algo": progress.algo, "seed": progress.seed}
        self.config = asked.resolved(**of_run, **of_task)
        #: Every setting with its value and origin; what suits the environment is a default.
        self.settings: Resolved = resolve_config(self.config.to_dict(), asked.asked)
        self._digest = settings_digest(self.settings)
        self.progress = progress
        self.env = make_env(progress.env_id, is_slippery=asked.is_slippery)
        self.encoder = encoder_for(self.env, task)
        self.learner = self._new_learner()

    def _tell_settings(self) -> None:
        self.emitter.settings_resolved(self.settings, **self._facts())

    def _facts(self) -> dict[str, Any]:
        return {"env_id": self.config.env_id, "algo": self.config.algo, "seed": self.config.seed}

    def _plan(self) -> dict[str, Any]:
        told = ", ".join(f"{name}={entry['value']}" for name, entry in self.settings.items())
        self.emitter.log(f"would train with {told}")
        return {"mode": "train", **self._facts(), "settings": self.settings}

    def _train(self) -> bool:
        """Train the episodes that are left; False when asked to stop before the last."""
        while self.progress.step < self.config.total_steps:
            boundary = self._checkpoint()
            if not self._train_one_episode():
                # What the unfinished episode taught is dropped: only whole episodes can be continued exactly.
                self._save(boundary)
                return False
            self._report_metrics()
            self._evaluate_if_due()
            if self.progress.step - self.progress.checkpoint_at >= self.config.checkpoint_every:
                self._save(self._checkpoint())
        self._save(self._checkpoint())
        return True

    def _finish(self) -> dict[str, Any]:
        evaluation = self._evaluate_at_the_end() if self.config.eval_episodes else {}
        return self._summary("completed") | evaluation

    def _new_learner(self) -> Learner:
        config = self.config
        assert config.learning_rate is not None
        assert config.gamma is not None
        assert config.trace_decay is not None
        return Learner(
            actions=int(self.env.action_space.n),  # type: ignore[attr-defined]
            features=self.encoder.size,
            active=self.encoder.active,
            algo=config.algo,
            learning_rate=config.learning_rate,
            gamma=config.gamma,
            trace_decay=config.trace_decay,
            seed=self.progress.seed,
        )

    def _epsilon(self) -> float:
        start, end = self.config.epsilon_start, self.config.epsilon_end
        assert start is not None
        assert end is not None
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

    def _report_episode(self, index: int, played: PlayedEpisode) -> None:
        self.emitter.episode(
            index,
            played.episode_return,
            played.length,
            step=self.progress.step,
            terminated=played.terminated,
            truncated=played.truncated,
            seed=played.seed,
        )

    def _report_metrics(self) -> None:
        progress = self.progress
        # The last value of a curve is that of the whole training.
        is_over = progress.step >= self.config.total_steps
        if progress.step - progress.metrics_at < self.config.metrics_every and not is_over:
            return
        self.progress = replace(progress, metrics_at=progress.step)
        self.emitter.metrics(
            {
                "episode_return_mean": fmean(progress.recent_returns),
                "epsilon": self._epsilon(),
                "reference/weight_norm": float((self.learner.weights**2).sum() ** 0.5),
            },
            progress.step,
        )

    def _checkpoint(self) -> Checkpoint:
        state = self.learner.state()
        progress = replace(self.progress, checkpoint_at=self.progress.step)
        passport = passport_of(progress, settings_digest=self._digest)
        return Checkpoint(progress, state["weights"], state["generator"], passport)

    def _save(self, checkpoint: Checkpoint) -> None:
        step = checkpoint.progress.step
        if step == self.progress.checkpoint_at:
            return
        self.progress = replace(self.progress, checkpoint_at=step)
        path = self.checkpoint_dir / f"step-{step:09d}.npz"
        digest = save(checkpoint, path)
        facts = {"step": step, "episode": checkpoint.progress.episode, "sha256": digest}
        told = {"checkpoint_path": shown(path, self.run_dir), "passport": checkpoint.passport.to_dict()}
        self.emitter.checkpoint_saved({**told, **facts})

    def _take(self, path: Path) -> Checkpoint:
        kept, asked = load(path), self._asked.asked
        kept.passport.check(str(path), worker="reference", env_id=asked.get("env_id"), algo=asked.get("algo"))
        self._set_up(kept.progress)
        self.learner.restore({"weights": kept.weights, "generator": kept.generator})
        return kept

    def _evaluate_if_due(self) -> None:
        """Evaluate when it is time, but not at the end, where that is done anyway."""
        progress, config = self.progress, self.config
        schedule = EvaluationSchedule(config.eval_every, progress.evaluated_at)
        if schedule.is_due(progress.step) and progress.step < config.total_steps:
            self._evaluated(evaluation_seeds(progress.seed, config.eval_episodes))
            self.progress = replace(progress, evaluated_at=progress.step)

    def _evaluate_at_the_end(self) -> dict[str, Any]:
        result = self._evaluated(evaluation_seeds(self.progress.seed, self.config.eval_episodes))
        return {"evaluation": write_evaluation(result, self.emitter, self.run_dir)}

    def _evaluated(self, seeds: Sequence[int]) -> dict[str, Any]:
        """Play in an environment of its own and tell of it; nothing that the training goes on with changes."""
        config, epsilon = self.config, 0.0 if self.config.eval_policy == "greedy" else self._epsilon()
        with closing(make_env(config.env_id, is_slippery=config.is_slippery)) as env:
            played = (play_episode(env, self.encoder, self.learner, seed, epsilon=epsilon) for seed in seeds)
            return tell_evaluation(played, self.emitter, self.progress.step, lambda _figures, _step: None)

    def _summary(self, status: str) -> dict[str, Any]:
        progress = self.progress
        recent = progress.recent_returns
        return {
            "status": status,
            **self._facts(),
            "steps": progress.step,
            "episodes": progress.episode,
            "total_reward": progress.total_reward,
            "metrics": {"episode_return_mean": fmean(recent)} if recent else {},
        }
