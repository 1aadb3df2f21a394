"""The training of one run: iteration by iteration, each reported, the newest one always at hand for a checkpoint."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from ray.rllib.algorithms.algorithm import Algorithm

from mosaic.worker import TelemetryEmitter
from mosaic.worker.checkpoints import digest_of, prune, shown
from mosaic_rllib.callbacks import EpisodeReporter, FinishedEpisode, finished_in
from mosaic_rllib.checkpoint import Progress, pack, unpack
from mosaic_rllib.config import RLlibConfig
from mosaic_rllib.failures import explained
from mosaic_rllib.interruption import GivenUp, Wishes, run_until
from mosaic_rllib.metrics import broken_losses, divergence, learner_metrics, measured
from mosaic_rllib.plan import ASYNCHRONOUS, Plan, derived_seed
from mosaic_rllib.reporting import Reporter
from mosaic_rllib.training import (
    begin_anew,
    build_algorithm,
    env_steps,
    iterate,
    release,
    restore,
    save,
)

#: Episodes in the running mean of returns.
RECENT = 20
#: After an iteration this long its end is kept aside, because the next may have to be given up.
_LONG_ITERATION_S = 1.5
_PAUSE_LOOK_S = 0.1


class TrainingLoop:
    """Trains until the steps are done or somebody wishes it to end; `progress` says how far it came."""

    def __init__(
        self,
        config: RLlibConfig,
        plan: Plan,
        progress: Progress,
        wishes: Wishes,
        *,
        reporter: Reporter,
        emitter: TelemetryEmitter,
        run_dir: Path,
        checkpoint_dir: Path,
        scratch: Path,
    ) -> None:
        self.progress = progress
        #: What RLlib saved last, and where the run stood then; None before the first time.
        self.networks = scratch / "current"
        self.kept_aside: Progress | None = None
        self._config, self._plan, self._wishes = config, plan, wishes
        self._reporter, self._emitter = reporter, emitter
        self._run_dir, self._checkpoint_dir, self._scratch = run_dir, checkpoint_dir, scratch

    def train(self, agents: Sequence[str], resume_from: Path | None) -> None:
        """Train the steps that are left; with Ray running.

        Raises:
            GivenUp: it was asked to stop before the end; there is a checkpoint of the newest finished iteration.
            EnvironmentFailed: the environment raised.
            TrainingDiverged: a loss is no number any more.

        """
        if self._config.algo in ASYNCHRONOUS or self._plan.env_runners > 0:
            self._emitter.log("several processes play at once: the same seed need not give the same curve twice")
        algorithm = run_until(lambda: self._built(agents, resume_from), lambda: self._wishes.stop, lambda: None)
        EpisodeReporter.listener = lambda played: self._report_episode(played, None)
        try:
            while self.progress.step < self._config.total_steps:
                self._iterate(algorithm)
                while self._wishes.paused and not self._wishes.stop:
                    time.sleep(_PAUSE_LOOK_S)
                if self._wishes.stop:
                    break
            self._keep_aside(algorithm)
        finally:
            self._pack_kept_aside()
        if self.progress.step < self._config.total_steps:
            raise GivenUp

    def _built(self, agents: Sequence[str], resume_from: Path | None) -> Algorithm:
        progress = self.progress
        algorithm = build_algorithm(self._plan, agents, progress.policies, progress.seed, self._scratch)
        if resume_from is not None:
            restore(algorithm, unpack(resume_from, self._scratch / "resumed")[0])
            begin_anew(algorithm, derived_seed(self.progress.seed, self.progress.step))
            facts = {"step": self.progress.step, "episode": self.progress.episode, "sha256": digest_of(resume_from)}
            self._emitter.checkpoint_loaded({"checkpoint_path": str(resume_from), **facts})
        return algorithm

    def _iterate(self, algorithm: Algorithm) -> None:
        """Run one iteration, report it, and keep it where it would be missed."""
        started = time.monotonic()
        try:
            with self._wishes.excusing():
                result = run_until(
                    lambda: iterate(algorithm, self._plan), self._wishes.is_time_up, lambda: release(algorithm)
                )
        except Exception as error:
            raise explained(error, self.progress.step) from error
        took_s = time.monotonic() - started
        self._report(result, took_s)
        if losses := broken_losses(self._config.algo, result):
            raise divergence(losses, self.progress.step, self.progress.iteration)
        if self.progress.step - self.progress.checkpoint_at >= self._config.checkpoint_every:
            self._save(algorithm)
        elif took_s > _LONG_ITERATION_S:
            self._keep_aside(algorithm)

    def _report(self, result: Mapping[str, Any], took_s: float) -> None:
        before, now = self.progress.step, env_steps(result)
        self.progress = replace(self.progress, step=now, iteration=self.progress.iteration + 1)
        for played in finished_in(result):
            self._report_episode(played, now)
        if now == before:
            return
        # RLlib's own mean is over another number of episodes than that of other libraries.
        recent = self.progress.recent_returns
        values = {"episode_return_mean": fmean(recent)} if recent else {}
        self._reporter.metrics(measured({**values, "steps_per_s": (now - before) / took_s}), now)
        for policy, losses in learner_metrics(self._config.algo, result).items():
            self._reporter.metrics(measured(losses), now, policy)

    def _report_episode(self, played: FinishedEpisode, known_step: int | None) -> None:
        progress = self.progress
        self.progress = replace(
            progress,
            episode=progress.episode + 1,
            steps_of_episodes=progress.steps_of_episodes + played.length,
            total_reward=progress.total_reward + played.episode_return,
            recent_returns=(*progress.recent_returns, played.episode_return)[-RECENT:],
        )
        # RLlib counts steps per iteration; the lengths of all episodes so far say where within it this one ended.
        step = max(self.progress.steps_of_episodes, progress.step if known_step is None else 0)
        self._reporter.episode(
            progress.episode,
            played.episode_return,
            played.length,
            step if known_step is None else min(step, known_step),
            terminated=played.terminated,
            truncated=not played.terminated,
            agents=played.agents,
        )

    def _save(self, algorithm: Algorithm) -> None:
        """Write a checkpoint, and begin new episodes as a run would that goes on from there."""
        self.progress = replace(self.progress, steps_of_episodes=self.progress.step)
        self._keep_aside(algorithm)
        self._pack_kept_aside()
        # Processes that play without waiting for the learner cannot be brought to one point.
        if self._config.algo not in ASYNCHRONOUS:
            begin_anew(algorithm, derived_seed(self.progress.seed, self.progress.step))

    def _keep_aside(self, algorithm: Algorithm) -> None:
        """Let RLlib save its state, in place of what it saved before.

        Raises:
            GivenUp: the run was asked to stop, and those who have parts of the state do not answer.

        """
        if self.kept_aside is not None and self.kept_aside.iteration == self.progress.iteration:
            return
        fresh = self._scratch / "fresh"
        shutil.rmtree(fresh, ignore_errors=True)
        try:
            with self._wishes.excusing():
                run_until(lambda: save(algorithm, fresh), self._wishes.is_overdue, lambda: release(algorithm))
        except OSError as error:
            self._tell_of_missing(self.progress.step, error)
            return
        shutil.rmtree(self.networks, ignore_errors=True)
        fresh.rename(self.networks)
        self.kept_aside = self.progress

    def _pack_kept_aside(self) -> None:
        """Write what was kept aside to a checkpoint, unless it is in one already."""
        kept = self.kept_aside
        if kept is None or kept.step <= self.progress.checkpoint_at:
            return
        path = self._checkpoint_dir / f"step-{kept.step:010d}.tar"
        # Tried once: a disk that is full costs the checkpoint, not the run.
        self.progress = replace(self.progress, checkpoint_at=kept.step)
        try:
            digest = pack(self.networks, replace(kept, checkpoint_at=kept.step), path)
        except OSError as error:
            self._tell_of_missing(kept.step, error)
            return
        facts = {"step": kept.step, "episode": kept.episode, "sha256": digest}
        self._emitter.checkpoint_saved({"checkpoint_path": shown(path, self._run_dir), **facts})
        prune(self._checkpoint_dir, self._config.keep_checkpoints)

    def _tell_of_missing(self, step: int, error: OSError) -> None:
        sentence = f"no checkpoint at step {step}: {error.strerror or error}; training goes on"
        self._emitter.log(sentence, "error")
