"""The runtime: trains by RLlib, and leaves a checkpoint whenever it stops.

RLlib takes seconds to import, so everything that needs it is imported when a run begins: a config that cannot
be used is refused at once.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from mosaic.errors import BadInput
from mosaic.worker import TelemetryEmitter
from mosaic.worker.evaluation import Listener, tell_evaluation, write_evaluation
from mosaic.worker.gpu import learns_on_gpu
from mosaic_rllib.catalog import is_multi_agent
from mosaic_rllib.checkpoint import Progress, mismatch, unpack
from mosaic_rllib.config import RLlibConfig
from mosaic_rllib.instance import prepare_environment, ray_instance
from mosaic_rllib.interruption import GivenUp, Wishes
from mosaic_rllib.plan import Plan, leased_cpus, make_plan

if TYPE_CHECKING:
    from mosaic_rllib.loop import TrainingLoop
    from mosaic_rllib.reporting import Reporter


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
        self._environment = environment
        # Noted now, because the processes that Ray starts are told another number.
        self._cpus = leased_cpus(environment)
        self._resumed: Path | None = None
        self._wishes = Wishes()

    def request_stop(self) -> None:
        """Note that the run should end; called from a signal handler."""
        self._wishes.ask_to_stop()

    def request_pause(self, paused: bool) -> None:
        """Hold before the next iteration, or go on; called from a signal handler."""
        self._wishes.paused = paused

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
            plan = self._plan()
            code = plan.as_code()
            self.emitter.log(code)
            return {"status": "completed", "dry_run": True, "plan": code, "ray_cpus": plan.ray_cpus}
        prepare_environment()
        with tempfile.TemporaryDirectory(prefix="mosaic-rllib-") as scratch:
            try:
                if self.config.mode == "policy_eval":
                    return {"status": "completed"} | self._evaluate_policy(Path(scratch))
                return self._train(Path(scratch))
            except GivenUp:
                return self._summary("cancelled")

    def evaluate(self, checkpoint: Path, seeds: Sequence[int]) -> Mapping[str, Any]:
        """Play one greedy episode per seed with the policy in *checkpoint*; report each, return a summary."""
        prepare_environment()
        with tempfile.TemporaryDirectory(prefix="mosaic-rllib-") as scratch:
            networks, self.progress = self._read(checkpoint, Path(scratch))
            return self._play(networks, seeds, lambda _figures, _step: None)

    def run_interactive(self) -> dict[str, Any]:
        """Answer commands on stdin with the policy in ``policy_path``."""
        if not self.config.policy_path:
            raise BadInput("policy_path", ["is required for --interactive: a checkpoint of this worker"])
        if is_multi_agent(self.config.env_id):
            raise BadInput("env_id", [f"{self.config.env_id} has several agents; --interactive plays one"])
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
                should_stop=lambda: self._wishes.stop,
            )

    def _plan(self) -> Plan:
        on_gpu = learns_on_gpu(self.config.cuda, self._environment, self.emitter)
        return make_plan(self.config, self.progress.seed, self._cpus, on_gpu=on_gpu)

    def _train(self, scratch: Path) -> dict[str, Any]:
        with self._wishes.nothing_to_lose():
            from mosaic_rllib.environments import cast_of
            from mosaic_rllib.loop import TrainingLoop
            from mosaic_rllib.reporting import Reporter

            cast, plan = cast_of(self.config), self._plan()
        self.progress = replace(self.progress, policies=cast.policies(self.progress.policies))
        with Reporter(self.config, self.emitter, self.run_dir, self._wishes) as reporter:
            loop = TrainingLoop(
                self.config,
                plan,
                self.progress,
                self._wishes,
                reporter=reporter,
                emitter=self.emitter,
                run_dir=self.run_dir,
                checkpoint_dir=self.checkpoint_dir,
                scratch=scratch,
            )
            try:
                with ray_instance(plan, self._wishes):
                    loop.train(cast.agents, self._resumed)
            finally:
                self.progress = loop.progress
            with self._wishes.nothing_to_lose():
                return self._summary("completed") | self._evaluate_at_the_end(loop, reporter)

    def _read(self, checkpoint: Path, scratch: Path) -> tuple[Path, Progress]:
        directory, progress = unpack(checkpoint, scratch)
        faults = mismatch(self.progress, progress)
        if faults:
            raise BadInput(str(checkpoint), faults)
        return directory, progress

    def _evaluate_policy(self, scratch: Path) -> dict[str, Any]:
        path = Path(str(self.config.policy_path))
        if not path.is_file():
            raise BadInput("policy_path", [f"there is no checkpoint at {path}"])
        with self._wishes.nothing_to_lose():
            from mosaic_rllib.reporting import Reporter

            networks = self._read(path, scratch)[0]
        reporter = Reporter(self.config, self.emitter, self.run_dir, self._wishes)
        with reporter, self._wishes.nothing_to_lose():
            return self._written_evaluation(networks, reporter)

    def _evaluate_at_the_end(self, loop: TrainingLoop, reporter: Reporter) -> dict[str, Any]:
        if not self.config.eval_episodes or loop.kept_aside is None:
            return {}
        return self._written_evaluation(loop.networks, reporter)

    def _written_evaluation(self, networks: Path, reporter: Reporter) -> dict[str, Any]:
        from mosaic_rllib.evaluation import evaluation_seed

        seeds = [evaluation_seed(self.progress.seed, number) for number in range(self.config.eval_episodes)]
        result = self._play(networks, seeds, reporter.figures)
        return {"evaluation": write_evaluation(result, self.emitter, self.run_dir)}

    def _play(self, networks: Path, seeds: Sequence[int], also_tell: Listener) -> dict[str, Any]:
        from mosaic_rllib.evaluation import play

        videos = self.run_dir / "videos" if self.config.capture_video else None
        episodes = play(self.config, networks, seeds, videos=videos)
        return tell_evaluation(episodes, self.emitter, self.progress.step, also_tell, seed=self.progress.seed)

    def _summary(self, status: str) -> dict[str, Any]:
        progress = self.progress
        recent = progress.recent_returns
        return {
            "status": status,
            "steps": progress.step,
            "episodes": progress.episode,
            "total_reward": progress.total_reward,
            "seed": progress.seed,
            "metrics": {"episode_return_mean": fmean(recent)} if recent else {},
        }
