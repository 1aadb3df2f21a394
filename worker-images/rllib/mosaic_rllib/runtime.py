"""The runtime: trains by RLlib, reports every iteration, and leaves a checkpoint whenever it stops.

RLlib takes seconds to import, so everything that needs it is imported when a run begins: a config that cannot
be used is refused at once.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from mosaic.errors import BadInput
from mosaic.worker import TelemetryEmitter
from mosaic_rllib.checkpoint import Progress, mismatch, pack, sha256_of, unpack
from mosaic_rllib.config import RLlibConfig
from mosaic_rllib.instance import prepare_environment, ray_instance
from mosaic_rllib.interruption import GivenUp, run_until
from mosaic_rllib.plan import ASYNCHRONOUS, derived_seed, leased_cpus, make_plan

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm import Algorithm

    from mosaic_rllib.callbacks import FinishedEpisode
    from mosaic_rllib.reporting import Reporter

#: Episodes in the running mean of the summary.
RECENT = 20
EVALUATION_FILE = "evaluation.json"

#: How long an iteration under way may go on after the wish to stop; the grace of a run is several times that.
_PATIENCE_S = 2.0
#: After an iteration this long its end is kept aside, because the next may have to be given up.
_LONG_ITERATION_S = 1.5
_PAUSE_LOOK_S = 0.1


class RLlibRuntime:
    """Trains one algorithm of Ray RLlib; it can be stopped, paused, resumed and evaluated."""

    def __init__(
        self,
        config: RLlibConfig,
        emitter: TelemetryEmitter | None = None,
        *,
        dry_run: bool = False,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.config = config
        self.emitter = emitter or TelemetryEmitter(config.run_id)
        self.run_dir = Path(environment.get("MOSAIC_RUN_DIR") or ".")
        self.checkpoint_dir = Path(environment.get("MOSAIC_CHECKPOINT_DIR") or self.run_dir / "checkpoints")
        seed = secrets.randbits(31) if config.seed is None else config.seed
        self.progress = Progress(config.algo, config.env_id, config.policies, seed)
        self._dry_run = dry_run
        self._plan = make_plan(config, seed, leased_cpus(environment))
        self._resumed: Path | None = None
        self._stop_requested = False
        self._paused = False
        self._is_starting = False
        self._give_up_at = float("inf")
        self._kept_aside: Progress | None = None

    def request_stop(self) -> None:
        """Note that the run should end; called from a signal handler.

        While RLlib and Ray are being loaded there is nothing to keep, so that is left at once.
        """
        self._stop_requested = True
        self._give_up_at = time.monotonic() + _PATIENCE_S
        if self._is_starting:
            raise GivenUp

    def request_pause(self, paused: bool) -> None:
        """Hold before the next iteration, or go on; called from a signal handler."""
        self._paused = paused

    def resume_from(self, checkpoint: Path) -> None:
        """Go on from *checkpoint*: RLlib restores networks, optimisers, counters and schedules.

        In one process and without a replay buffer the continuation is exact, else equal in distribution.

        Raises:
            BadInput: the file cannot be read, or is of another kind of run.

        """
        with tempfile.TemporaryDirectory(prefix="mosaic-rllib-") as scratch:
            self.progress = self._read(checkpoint, Path(scratch))[1]
        self._resumed = checkpoint

    def run(self) -> dict[str, Any]:
        """Train to the end, or until asked to stop; evaluate; return a summary."""
        if self._dry_run:
            self.emitter.log(self._plan.as_code())
            return {
                "status": "completed",
                "dry_run": True,
                "plan": self._plan.as_code(),
                "ray_cpus": self._plan.ray_cpus,
            }
        prepare_environment()
        if self.config.mode == "policy_eval":
            return {"status": "completed"} | self._evaluate_path(Path(str(self.config.policy_path)))
        with tempfile.TemporaryDirectory(prefix="mosaic-rllib-") as scratch:
            return self._run_in(Path(scratch))

    def evaluate(self, checkpoint: Path, seeds: Sequence[int]) -> Mapping[str, Any]:
        """Play one greedy episode per seed with the policy in *checkpoint*; report each, return a summary."""
        prepare_environment()
        with tempfile.TemporaryDirectory(prefix="mosaic-rllib-") as scratch:
            networks, self.progress = self._read(checkpoint, Path(scratch))
            return self._play(networks, seeds)

    def run_interactive(self) -> dict[str, Any]:
        """Answer commands on stdin with the policy in ``policy_path``."""
        if not self.config.policy_path:
            raise BadInput("policy_path", ["is required for --interactive: a checkpoint of this worker"])
        prepare_environment()
        from mosaic.worker.interactive import serve
        from mosaic_rllib.environments import make_single
        from mosaic_rllib.evaluation import policy_for

        config = self.config
        with tempfile.TemporaryDirectory(prefix="mosaic-rllib-") as scratch:
            networks, _ = self._read(Path(config.policy_path or ""), Path(scratch))
            env = make_single(config.env_id, config.env_kwargs)
            policy = policy_for(config, networks, env)
            return serve(
                lambda observation, mask: policy.action(observation, mask=mask),
                env,
                run_id=config.run_id,
                env_id=config.env_id,
                should_stop=lambda: self._stop_requested,
            )

    def _run_in(self, scratch: Path) -> dict[str, Any]:
        try:
            with self._starting():
                from mosaic_rllib.environments import agents_in
                from mosaic_rllib.reporting import Reporter

                agents = agents_in(self.config)
                instance = ExitStack()
                with Reporter(self.config, self.emitter, self.run_dir) as reporter, instance:
                    instance.enter_context(ray_instance(self._plan))
                    self._is_starting = False
                    if not self._train(agents, scratch, reporter):
                        return self._summary("cancelled")
                    instance.close()
                    return self._summary("completed") | self._evaluate_at_the_end(scratch / "current", reporter)
        except GivenUp:
            return self._summary("cancelled")

    @contextmanager
    def _starting(self) -> Iterator[None]:
        self._is_starting = True
        try:
            yield
        finally:
            self._is_starting = False

    def _train(self, agents: list[str], scratch: Path, reporter: Reporter) -> bool:
        """Train the iterations that are left; False when asked to stop before the last."""
        from mosaic_rllib.callbacks import EpisodeReporter

        if self.config.algo in ASYNCHRONOUS or self._plan.env_runners > 0:
            self.emitter.log("several processes play at once: the same seed need not give the same curve twice")
        algorithm = run_until(lambda: self._built(agents, scratch), lambda: self._stop_requested, lambda: None)
        EpisodeReporter.listener = lambda played: self._report_episode(reporter, played, None)
        while self.progress.step < self.config.total_steps and not self._stop_requested:
            started = time.monotonic()
            if not self._iterate(algorithm, reporter):
                self._save_kept_aside(scratch)
                return False
            if self.progress.step - self.progress.checkpoint_at >= self.config.checkpoint_every:
                self.progress = replace(self.progress, steps_of_episodes=self.progress.step)
                self._save(algorithm, scratch)
                self._begin_anew(algorithm)
            elif time.monotonic() - started > _LONG_ITERATION_S:
                self._keep_aside(algorithm, scratch)
            while self._paused and not self._stop_requested:
                time.sleep(_PAUSE_LOOK_S)
        self._save(algorithm, scratch)
        return self.progress.step >= self.config.total_steps

    def _built(self, agents: list[str], scratch: Path) -> Algorithm:
        from mosaic_rllib.training import build_algorithm

        algorithm = build_algorithm(self.config, self._plan, agents, self.progress.seed, scratch)
        self._take_up(algorithm, scratch)
        return algorithm

    def _begin_anew(self, algorithm: Algorithm) -> None:
        from mosaic_rllib.training import begin_anew

        # Processes that play without waiting for the learner cannot be brought to one point.
        if self.config.algo not in ASYNCHRONOUS or self._resumed is not None:
            begin_anew(algorithm, derived_seed(self.progress.seed, self.progress.step))

    def _take_up(self, algorithm: Algorithm, scratch: Path) -> None:
        from mosaic_rllib.training import restore

        if self._resumed is None:
            return
        directory, _ = self._read(self._resumed, scratch / "resumed")
        restore(algorithm, directory)
        self._begin_anew(algorithm)
        facts = {"step": self.progress.step, "episode": self.progress.episode, "sha256": sha256_of(self._resumed)}
        self.emitter.checkpoint_loaded({"checkpoint_path": str(self._resumed), **facts})

    def _iterate(self, algorithm: Algorithm, reporter: Reporter) -> bool:
        """Run one iteration and report it; False when it was given up."""
        from mosaic_rllib.callbacks import finished_in
        from mosaic_rllib.failures import explained
        from mosaic_rllib.training import env_steps, iterate, release

        started = time.monotonic()
        try:
            result = run_until(
                lambda: iterate(algorithm, self._plan),
                lambda: time.monotonic() > self._give_up_at,
                lambda: release(algorithm),
            )
        except GivenUp:
            return False
        except Exception as error:
            raise explained(error, self.progress.step) from error
        before, now = self.progress.step, env_steps(result)
        self.progress = replace(self.progress, step=now, iteration=self.progress.iteration + 1)
        for played in finished_in(result):
            self._report_episode(reporter, played, now)
        if now > before:
            self._report_metrics(reporter, result, (now - before) / (time.monotonic() - started))
            self._refuse_divergence(algorithm, result)
        return True

    def _report_episode(self, reporter: Reporter, played: FinishedEpisode, known_step: int | None) -> None:
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
        reporter.episode(
            progress.episode,
            played.episode_return,
            played.length,
            step if known_step is None else min(step, known_step),
            terminated=played.terminated,
            truncated=not played.terminated,
            agents=played.agents,
        )

    def _report_metrics(self, reporter: Reporter, result: Mapping[str, Any], steps_per_s: float) -> None:
        from mosaic_rllib.metrics import learner_metrics, measured

        step = self.progress.step
        mean = result.get("env_runners", {}).get("episode_return_mean")
        shared = {} if mean is None else {"episode_return_mean": float(mean)}
        reporter.metrics(measured({**shared, "steps_per_s": steps_per_s}), step)
        for policy, values in learner_metrics(self.config.algo, result).items():
            reporter.metrics(measured(values), step, policy)

    def _refuse_divergence(self, algorithm: Algorithm, result: Mapping[str, Any]) -> None:
        from mosaic_rllib.metrics import divergence, learner_metrics, suspects_in
        from mosaic_rllib.training import has_finite_weights

        suspects = suspects_in(learner_metrics(self.config.algo, result))
        if suspects and not has_finite_weights(algorithm):
            raise divergence(suspects, self.progress.step, self.progress.iteration)

    def _keep_aside(self, algorithm: Algorithm, scratch: Path) -> None:
        from mosaic_rllib.training import save

        shutil.rmtree(scratch / "current", ignore_errors=True)
        save(algorithm, scratch / "current")
        self._kept_aside = self.progress

    def _save_kept_aside(self, scratch: Path) -> None:
        if self._kept_aside is not None and self._kept_aside.step > self.progress.checkpoint_at:
            self._pack(scratch / "current", self._kept_aside)

    def _save(self, algorithm: Algorithm, scratch: Path) -> None:
        self._keep_aside(algorithm, scratch)
        if self.progress.step > self.progress.checkpoint_at:
            self._pack(scratch / "current", self.progress)

    def _pack(self, directory: Path, progress: Progress) -> None:
        """Write a checkpoint; a disk that is full costs the checkpoint, not the run."""
        step = progress.step
        path = self.checkpoint_dir / f"step-{step:010d}.tar"
        try:
            digest = pack(directory, replace(progress, checkpoint_at=step), path)
        except OSError as error:
            self.emitter.log(f"no checkpoint at step {step}: {error.strerror or error}; training goes on", "error")
            return
        self.progress = replace(self.progress, checkpoint_at=step)
        facts = {"step": step, "episode": progress.episode, "sha256": digest}
        self.emitter.checkpoint_saved({"checkpoint_path": self._shown(path), **facts})
        for old in sorted(self.checkpoint_dir.glob("step-*.tar"))[: -self.config.keep_checkpoints]:
            old.unlink(missing_ok=True)

    def _read(self, checkpoint: Path, scratch: Path) -> tuple[Path, Progress]:
        directory, progress = unpack(checkpoint, scratch)
        faults = mismatch(self.progress, progress)
        if faults:
            raise BadInput(str(checkpoint), faults)
        return directory, progress

    def _evaluate_path(self, path: Path) -> dict[str, Any]:
        if not path.is_file():
            raise BadInput("policy_path", [f"there is no checkpoint at {path}"])
        with tempfile.TemporaryDirectory(prefix="mosaic-rllib-") as scratch:
            networks, _ = self._read(path, Path(scratch))
            return self._written_evaluation(networks)

    def _evaluate_at_the_end(self, networks: Path, reporter: Reporter) -> dict[str, Any]:
        if not self.config.eval_episodes:
            return {}
        told = self._written_evaluation(networks)
        reporter.metrics({"eval/mean_return": told["evaluation"]["mean_return"]}, self.progress.step)
        return told

    def _written_evaluation(self, networks: Path) -> dict[str, Any]:
        from mosaic_rllib.evaluation import evaluation_seed

        seeds = [evaluation_seed(self.progress.seed, number) for number in range(self.config.eval_episodes)]
        summary = self._play(networks, seeds)
        content = (json.dumps(summary, indent=2) + "\n").encode()
        (self.run_dir / EVALUATION_FILE).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        self.emitter.artifact(EVALUATION_FILE, "evaluation", digest, size_bytes=len(content))
        return {"evaluation": {name: value for name, value in summary.items() if name != "episodes"}}

    def _play(self, networks: Path, seeds: Sequence[int]) -> dict[str, Any]:
        from mosaic_rllib.evaluation import play, summary_of

        rows = []
        videos = self.run_dir / "videos" if self.config.capture_video else None
        for index, row in enumerate(play(self.config, networks, seeds, videos=videos)):
            rows.append(row)
            ends = {"terminated": row.terminated, "truncated": row.truncated}
            told: dict[str, Any] = {"step": self.progress.step, "agent": "evaluation", "seed": row.seed, **ends}
            self.emitter.episode(index, row.episode_return, row.length, **told)
        return summary_of(rows, self.progress.seed)

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

    def _shown(self, path: Path) -> str:
        """Return *path* relative to the run directory where it lies inside."""
        try:
            return str(path.resolve().relative_to(self.run_dir.resolve()))
        except ValueError:
            return str(path)
