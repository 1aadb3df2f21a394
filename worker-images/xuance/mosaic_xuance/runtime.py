"""Training, stopping, resuming and evaluating one run of XuanCe."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from mosaic.errors import BadInput
from mosaic.worker import TelemetryEmitter
from mosaic.worker.checkpoints import digest_of, mismatches, prune, shown
from mosaic.worker.evaluation import PlayedEpisode, tell_evaluation, write_evaluation
from mosaic.worker.gpu import learns_on_gpu
from mosaic.worker.interactive import serve
from mosaic.worker.wandb_guard import WandbGuard
from mosaic_xuance.config import XuanCeConfig
from mosaic_xuance.manifest import write_manifest

if TYPE_CHECKING:
    from mosaic_xuance.checkpoints import About

_PAUSE_LOOK_S = 0.05


class _StopAsked(BaseException):
    """Leaves the import of the library, or its training loop at a boundary between two steps.

    Not an Exception, because XuanCe takes any that is raised while it is imported for a missing package.
    """


class XuanCeRuntime:
    """One run of one config; it can be stopped, paused, resumed and evaluated."""

    def __init__(
        self,
        config: XuanCeConfig,
        emitter: TelemetryEmitter | None = None,
        *,
        dry_run: bool = False,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Take note of *config*; the library is imported when it is needed."""
        self.config = config
        self.emitter = emitter or TelemetryEmitter(config.run_id)
        self.seed = secrets.randbits(31) if config.seed is None else config.seed
        self.run_dir = Path(environment.get("MOSAIC_RUN_DIR") or ".")
        self.checkpoint_dir = Path(environment.get("MOSAIC_CHECKPOINT_DIR") or self.run_dir / "checkpoints")
        self.tensorboard_dir = self.run_dir / config.tensorboard_dir
        self._environment = environment
        self._dry_run = dry_run
        self._resume_from: Path | None = None
        self._wandb: WandbGuard | None = None
        self._saved_at = 0
        self._stop_requested = False
        self._is_preparing = False
        self._paused = False
        self._agent: Any = None
        self._settings: Any = None
        self._narrator: Any = None

    def request_stop(self) -> None:
        """Note that the run should end; called from a signal handler."""
        self._stop_requested = True
        if self._narrator is not None:
            self._narrator.is_interrupted = True
        if self._is_preparing:
            raise _StopAsked

    def request_pause(self, paused: bool) -> None:
        """Hold before the next step, or go on; called from a signal handler."""
        self._paused = paused
        if self._narrator is not None:
            self._narrator.is_interrupted = paused or self._stop_requested

    def resume_from(self, checkpoint: Path) -> dict[str, Any]:
        """Go on from *checkpoint* when the run starts; return its step and its digest.

        Raises:
            BadInput: it cannot be read, or is of another environment or algorithm.

        """
        about = self._check(checkpoint)
        self.seed, self._resume_from = about.seed, checkpoint
        return {"step": about.step, "sha256": digest_of(checkpoint)}

    def run(self) -> dict[str, Any]:
        """Train to the end, or until asked to stop; evaluate; return a summary.

        Raises:
            BadInput: XuanCe cannot build this algorithm for this environment.
            EnvironmentFailed: the environment raised.
            TrainingDiverged: a loss became NaN or infinite.

        """
        if self._dry_run:
            return self._show_plan()
        # A training that goes on has come further than the policy it once began with.
        if self.config.mode == "policy_eval" or self._resume_from is None:
            self._use_policy_of_config()
        try:
            self._prepare()
        except _StopAsked:
            return {"status": "cancelled", "steps": 0, "seed": self.seed}
        try:
            is_done = self.config.mode == "policy_eval" or self._train()
            summary = self._summary("completed" if is_done else "cancelled")
            if is_done and self.config.eval_episodes:
                summary["evaluation"] = self._evaluate_at_the_end()
        finally:
            self._close()
        write_manifest(
            self.run_dir,
            self.config,
            summary,
            checkpoints=self.checkpoint_dir,
            tensorboard=self.tensorboard_dir,
            wandb_path=self._wandb.run_path if self._wandb else None,
        )
        return summary

    def evaluate(self, checkpoint: Path, seeds: Sequence[int]) -> Mapping[str, Any]:
        """Play one greedy episode per seed with the policy in *checkpoint*; report each, return a summary."""
        self.resume_from(checkpoint)
        self._prepare()
        try:
            return self._play_greedily(seeds)
        finally:
            self._close()

    def run_interactive(self) -> dict[str, Any]:
        """Answer commands on stdin with the policy at ``policy_path``, or of the checkpoint to resume from."""
        from mosaic_xuance.interactive import GreedyPolicy, PlayedAlone

        self._use_policy_of_config()
        self._prepare()
        policy = GreedyPolicy(self._agent)
        env = None if policy.is_team else PlayedAlone(self._settings)
        run_id, env_id = self.config.run_id, self.config.env_id
        try:
            return serve(policy, env, run_id=run_id, env_id=env_id, should_stop=lambda: self._stop_requested)
        finally:
            self._close()

    @property
    def step(self) -> int:
        """Steps taken in all environments together."""
        return int(self._agent.current_step) if self._agent is not None else 0

    def _prepare(self) -> None:
        """Import XuanCe, build the agent and let it go on from where it should.

        This takes seconds, so a wish to stop does not wait for its end.
        """
        self._is_preparing = True
        try:
            self._build()
        finally:
            self._is_preparing = False

    def _build(self) -> None:
        # Its progress bar would otherwise write ten lines a second to the log.
        os.environ.setdefault("TQDM_MININTERVAL", "10")
        from mosaic_xuance import library
        from mosaic_xuance.telemetry import Narrator

        library.use_threads_of_lease()
        self._wandb = WandbGuard.of_run(self.config, self.emitter, self.run_dir)
        self._narrator = Narrator(
            self.emitter,
            metrics_every=self.config.metrics_every,
            at_boundary=self._at_boundary,
            also_tell=self._wandb.log,
        )
        self._settings = library.arguments(self.config, self._overrides())
        self._agent = library.make_agent(self.config, self._settings, self._narrator)
        unused = library.unused_range(self._settings, self.config.env_id, self._agent.action_space)
        if unused:
            self.emitter.log(unused, "warning")
        if self._resume_from is not None:
            self._restore(self._resume_from)
        self._narrator.begin(self._agent)

    def _train(self) -> bool:
        """Train what is left; False when asked to stop before the end."""
        from mosaic_xuance.library import EnvironmentFailed, is_fault_of_environment

        left = (self.config.total_steps - self.step) // self._agent.n_envs
        try:
            if left > 0 or self.step == 0:
                self._agent.train(max(1, left))
        except _StopAsked:
            self._save()
            return False
        except Exception as error:
            if is_fault_of_environment(error):
                raise EnvironmentFailed(self.config.env_id, self.step, error) from error
            self._narrator.refuse_broken_weights(error)
            raise
        self._save()
        return True

    def _at_boundary(self) -> int:
        """Do what is wanted or due; return the step of the next checkpoint."""
        while self._paused and not self._stop_requested:
            time.sleep(_PAUSE_LOOK_S)
        if self._stop_requested:
            raise _StopAsked
        if self.step - self._saved_at >= self.config.checkpoint_every:
            self._save()
        return self._saved_at + self.config.checkpoint_every

    def _save(self) -> None:
        """Write a checkpoint; a disk that is full costs the checkpoint, not the run."""
        from mosaic_xuance import checkpoints

        if self.step == self._saved_at:
            return
        step, tally = self.step, self._narrator.tally
        self._saved_at = step
        about = checkpoints.About(
            self.config.algo, self.config.env_id, self.seed, step, tally.episodes, version("xuance")
        )
        path = self.checkpoint_dir / f"step-{step:010d}"
        try:
            about = checkpoints.save(
                path, self._agent, about, tally.to_dict(), replay_limit_mb=self.config.replay_limit_mb
            )
            digest = digest_of(path)
        except (OSError, RuntimeError) as error:
            self.emitter.log(f"the checkpoint at step {step} could not be written, training goes on: {error}", "error")
            return
        facts = {"step": step, "episode": tally.episodes, "sha256": digest, "starts_anew": list(about.missing)}
        self.emitter.checkpoint_saved({"checkpoint_path": shown(path, self.run_dir), **facts})
        prune(self.checkpoint_dir, self.config.keep_checkpoints)

    def _use_policy_of_config(self) -> None:
        if self.config.policy_path:
            checkpoint = Path(self.config.policy_path)
            facts = self.resume_from(checkpoint)
            self.emitter.checkpoint_loaded({"checkpoint_path": shown(checkpoint, self.run_dir), **facts})

    def _check(self, checkpoint: Path) -> About:
        from mosaic_xuance.checkpoints import read_about

        theirs = read_about(checkpoint)
        faults = mismatches(
            ("environment", theirs.env_id, self.config.env_id), ("algorithm", theirs.algo, self.config.algo)
        )
        if faults:
            raise BadInput(str(checkpoint), faults)
        return theirs

    def _restore(self, checkpoint: Path) -> None:
        from mosaic_xuance.checkpoints import restore
        from mosaic_xuance.telemetry import Tally

        self._narrator.tally = Tally(**restore(checkpoint, self._agent))
        self._saved_at = self.step

    def _evaluate_at_the_end(self) -> dict[str, Any]:
        from mosaic_xuance.evaluation import evaluation_seeds

        result = self._play_greedily(evaluation_seeds(self.seed, self.config.eval_episodes))
        return write_evaluation(result, self.emitter, self.run_dir)

    def _play_greedily(self, seeds: Sequence[int]) -> dict[str, Any]:
        film = self.run_dir / "videos" / f"step-{self.step:010d}.mp4" if self.config.capture_video else None
        result = tell_evaluation(self._played(seeds, film), self.emitter, self.step, self._tell_figures)
        if film is not None and film.exists():
            self.emitter.artifact(shown(film, self.run_dir), "video", size_bytes=film.stat().st_size)
        return result

    def _played(self, seeds: Sequence[int], film: Path | None) -> Iterator[PlayedEpisode]:
        from mosaic_xuance.evaluation import play

        for index, seed in enumerate(seeds):
            if self._stop_requested:
                break
            yield play(self._agent, self._settings, self._narrator, seed, film=film if index == 0 else None)

    def _tell_figures(self, figures: Mapping[str, float], step: int) -> None:
        self._agent.log_infos(figures, step)
        if self._wandb is not None:
            self._wandb.log(figures, step)

    def _overrides(self) -> dict[str, Any]:
        return self.config.overrides(
            self.seed, log_dir=self.tensorboard_dir, model_dir=self.run_dir / "models", device=self._device()
        )

    def _device(self) -> str:
        if self.config.device is not None:
            return self.config.device
        return "cuda:0" if learns_on_gpu(self.config.cuda, self._environment, self.emitter) else "cpu"

    def _show_plan(self) -> dict[str, Any]:
        """Say what would be executed: XuanCe's arguments as they would be."""
        arguments = self.config.recipe.settings | self._overrides()
        steps = max(1, self.config.total_steps // arguments["parallels"])
        plan = {"agent": arguments["agent"], "train_steps": steps, "arguments": arguments}
        self.emitter.log(f"would train with XuanCe: {json.dumps(plan, sort_keys=True)}")
        return {"status": "completed", "dry_run": True, "plan": plan}

    def _close(self) -> None:
        if self._wandb is not None:
            self._wandb.finish(is_stopping=lambda: self._stop_requested)
        if self._agent is not None:
            self._agent.finish()
            self._agent.train_envs.close()

    def _summary(self, status: str) -> dict[str, Any]:
        tally = self._narrator.tally
        recent = tally.recent_returns
        return {
            "status": status,
            "steps": self.step,
            "episodes": tally.episodes,
            "updates": tally.updates_told,
            "total_reward": tally.total_reward,
            "seed": self.seed,
            "metrics": {"episode_return_mean": fmean(recent)} if recent else {},
        }
