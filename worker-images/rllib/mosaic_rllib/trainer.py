"""RLlib as the template drives it: iteration by iteration, in a thread that can be given up."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from ray.rllib.algorithms.algorithm import Algorithm

from mosaic.worker.library.checkpoints import About
from mosaic.worker.library.control import StopRequested
from mosaic.worker.library.rng import seed_everything
from mosaic.worker.library.trainer import Policy, Trainer
from mosaic_rllib.algorithm import (
    algorithm_config,
    arguments_in,
    begin_anew,
    build_algorithm,
    env_steps,
    release,
    restore,
    save,
)
from mosaic_rllib.callbacks import EpisodeReporter, FinishedEpisode, finished_in
from mosaic_rllib.environments import cast_of
from mosaic_rllib.failures import explained
from mosaic_rllib.instance import start_ray
from mosaic_rllib.interruption import run_until
from mosaic_rllib.metrics import learner_metrics
from mosaic_rllib.plan import ASYNCHRONOUS, Plan, derived_seed, leased_cpus, make_plan
from mosaic_rllib.policy import load_networks, make_policy

#: The folder of a checkpoint that RLlib wrote.
_ALGORITHM = "algorithm"
#: After an iteration this long its end is kept aside, because the next may have to be given up.
_LONG_ITERATION_S = 1.5
#: How much longer than for an iteration a stop waits for RLlib's state.
_STATE_S = 2.0


class RLlibTrainer(Trainer):
    """One algorithm of RLlib, on a Ray that is started for it."""

    outlives_failure = True

    algorithm: Algorithm
    _plan: Plan
    #: Where RLlib's newest state was kept aside.
    _kept: Path
    #: The step that it is of; before the first time, where the run began.
    _kept_step = 0
    #: Lengths of all finished episodes together.
    _steps_of_episodes = 0
    #: Whether the algorithm stands between two iterations.
    _is_whole = False
    _is_training = False

    def build(self) -> Mapping[str, Any]:
        """Start Ray and build the algorithm."""
        config, cast = self.config, cast_of(self.config)
        self._plan = make_plan(config, leased_cpus(os.environ), on_gpu=self.on_gpu)
        policies = cast.policies(config.policies)
        library = algorithm_config(self._plan, cast.agents, policies)
        if config.algo in ASYNCHRONOUS or self._plan.env_runners > 0:
            self._log("several processes play at once: the same seed need not give the same curve twice", "info")
        # What a signal raises in the midst of Ray's own code can leave a lock held for ever.
        with self.training.control.undisturbed():
            scratch = start_ray(self._plan.ray_cpus, self._is_stopping)
            self.algorithm = run_until(lambda: build_algorithm(library, config.seed, scratch), self._is_stopping)
        self._kept = scratch / "kept"
        self._telling = threading.Lock()
        self.training.live_step = lambda: max(self._steps_of_episodes, self.training.progress.step)
        found_out = {"num_env_runners": self._plan.env_runners, "num_envs": library.num_envs_per_env_runner}
        return {**arguments_in(library, config.algo), "policies": policies, **found_out}

    def load(self, folder: Path) -> None:
        """Let RLlib take up its state, and begin new episodes."""
        step = self.training.progress.step
        with self.training.control.undisturbed():
            run_until(lambda: self._restore(folder / _ALGORITHM, step), self._is_stopping)
        self._kept_step = self._steps_of_episodes = step
        # Episodes of an iteration that was given up count, and stay to be seen.
        told_at = (self.training.progress.more or {}).get("told_at", 0)
        self.training.reporter.goes_on_from(max(step, told_at))

    def advance(self) -> None:
        """Learn by RLlib's own iterations; one that fails or is given up leaves what was kept before it."""
        self._is_training = self._is_whole = True
        EpisodeReporter.listener = self._hear_of_episode
        try:
            while self.training.progress.step < self.config.total_steps:
                self._iterate()
        except BaseException as error:
            self._end_training()
            if isinstance(error, StopRequested) and self._is_whole:
                with suppress(StopRequested, Exception):
                    self._keep()
            self.training.note(self._kept_step)
            raise
        self._end_training()

    def save(self, folder: Path) -> Sequence[str]:
        """Write RLlib's own state, and begin new episodes as a run would that goes on from there."""
        self._keep()
        _copy(self._kept, folder / _ALGORITHM)
        # Processes that play without waiting for the learner cannot be brought to one point.
        if self.config.algo not in ASYNCHRONOUS:
            self._begin_anew(derived_seed(self.config.seed, self._kept_step))
        has_buffer = self.algorithm.local_replay_buffer is not None
        return ["replay buffer"] if has_buffer and not self.algorithm.config.store_buffer_in_checkpoints else []

    def policy(self, folder: Path | None) -> Policy:
        """Return the networks, in an environment of their own."""
        videos = self.run_dir / "videos" if self.config.capture_video else None
        if folder is None:
            return make_policy(self.config, self._networks(), self.training.progress.step, videos)
        about = About.read(folder)
        entry = about.settings.get("normalize_actions")
        # As it was trained, unless something else is asked for.
        trained = {"normalize_actions": entry["value"]} if entry else {}
        config = self.config.resolved(algo_params={**trained, **self.config.algo_params})
        return make_policy(config, load_networks(folder / _ALGORITHM), about.progress.step, videos)

    def _iterate(self) -> None:
        started = time.monotonic()
        result = self._result_of_iteration()
        took_s, step = time.monotonic() - started, env_steps(result)
        self._tell(result, step, took_s)
        self.training.boundary(step)
        if took_s > _LONG_ITERATION_S:
            try:
                self._keep()
            except OSError as error:
                self._log(f"what is learned by step {step} could not be kept: {error.strerror or error}", "error")

    def _result_of_iteration(self) -> Mapping[str, Any]:
        self._is_whole = False
        try:
            result: Mapping[str, Any] = run_until(self._learn, self.training.control.is_overdue, self._release)
        except Exception as error:
            if self._is_stopping():
                # Whoever stops a run may stop its processes, too.
                raise StopRequested from error
            raise explained(error, self.config.env_id, self.training.live_step()) from error
        self._is_whole = True
        return result

    def _learn(self) -> Any:
        # Torch keeps that number per thread of ours.
        torch.set_num_threads(self._plan.learner_threads)
        return self.algorithm.train()

    def _tell(self, result: Mapping[str, Any], step: int, took_s: float) -> None:
        before = self.training.progress.step
        for played in finished_in(result):
            self._tell_episode(played, step)
        if step == before:
            return
        # RLlib's own mean is over another number of episodes than that of other libraries.
        means = self.training.progress.metrics
        self.training.metrics({**means, "steps_per_s": (step - before) / took_s}, step)
        for policy, values in learner_metrics(self.config.algo, result).items():
            self.training.metrics(values, step, policy=policy)

    def _hear_of_episode(self, played: FinishedEpisode) -> None:
        with self._telling:
            if self._is_training:
                self._tell_episode(played)

    def _tell_episode(self, played: FinishedEpisode, latest: int | None = None) -> None:
        self._steps_of_episodes += played.length
        # RLlib counts steps per iteration; the lengths of all episodes so far say where within it this one ended.
        step = self.training.live_step() if latest is None else min(self._steps_of_episodes, latest)
        self.training.progress = replace(self.training.progress, more={"told_at": step})
        self.training.episode(
            played.episode_return,
            played.length,
            step=step,
            agents=played.agents,
            terminated=played.terminated,
            truncated=not played.terminated,
        )

    def _end_training(self) -> None:
        EpisodeReporter.listener = None
        with self._telling:
            # An iteration that was given up may be telling of an episode in its own thread at this moment.
            self._is_training = False

    def _keep(self) -> None:
        """Let RLlib save the state of the last boundary aside, in place of what it saved before.

        Raises:
            OSError: the disk does not take it.
            StopRequested: the run was asked to stop, and those who have parts of the state do not answer.

        """
        step = self.training.noted.step
        if step == self._kept_step:
            return
        fresh = self._kept.with_name("fresh")
        shutil.rmtree(fresh, ignore_errors=True)
        is_time_up = partial(self.training.control.is_overdue, by_s=_STATE_S)
        run_until(lambda: save(self.algorithm, fresh), is_time_up, self._release)
        shutil.rmtree(self._kept, ignore_errors=True)
        fresh.rename(self._kept)
        self._kept_step = step

    def _begin_anew(self, seed: int) -> None:
        self._steps_of_episodes = self._kept_step
        if self._is_training:
            begin_anew(self.algorithm, seed)
        else:
            # Only whoever goes on from here begins: those who play may be busy or gone.
            seed_everything(seed)

    def _restore(self, directory: Path, step: int) -> None:
        restore(self.algorithm, directory)
        begin_anew(self.algorithm, derived_seed(self.config.seed, step))

    def _networks(self) -> Any:
        """Return the networks as they are now; of learners in other processes, by way of the disk."""
        learner = self.algorithm.learner_group._learner
        if learner is not None:
            return learner.module
        aside = self._kept.with_name("networks")
        shutil.rmtree(aside, ignore_errors=True)
        save(self.algorithm, aside)
        return load_networks(aside)

    def _release(self) -> None:
        release(self.algorithm)

    def _is_stopping(self) -> bool:
        return self.training.control.is_stopping

    def _log(self, text: str, level: str) -> None:
        self.training.reporter.emitter.log(text, level)


def _copy(source: Path, target: Path) -> None:
    """Copy a directory; unlike shutil's, the first fault of the disk is told as it is."""
    for file in source.rglob("*"):
        if file.is_file():
            place = target / file.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
