"""One run: the script trained to its end, or a trained policy played."""

from __future__ import annotations

import os
import secrets
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mosaic.errors import BadInput
from mosaic.worker import TelemetryEmitter
from mosaic.worker.checkpoints import digest_of, mismatches
from mosaic.worker.evaluation import write_evaluation
from mosaic.worker.gpu import learns_on_gpu
from mosaic.worker.wandb_guard import WandbGuard
from mosaic_cleanrl.config import CleanRLConfig
from mosaic_cleanrl.scripts import find_script
from mosaic_cleanrl.training import Training, TrainingStopped


class CleanRLRuntime:
    """Trains with a script of CleanRL; it can be stopped, paused, resumed and evaluated.

    torch and the environments are imported only when they are needed, so that a config is refused and a
    dry run answered at once.
    """

    def __init__(
        self,
        config: CleanRLConfig,
        emitter: TelemetryEmitter | None = None,
        *,
        dry_run: bool = False,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.config = config
        self.emitter = emitter or TelemetryEmitter(config.run_id)
        self.script = find_script(config.algo)
        self.seed = secrets.randbits(31) if config.seed is None else config.seed
        self.env_id = config.resolved_env_id
        self.run_dir = Path(environment.get("MOSAIC_RUN_DIR") or ".").resolve()
        self.checkpoint_dir = Path(environment.get("MOSAIC_CHECKPOINT_DIR") or self.run_dir / "checkpoints").resolve()
        self._environment = environment
        self._is_dry_run = dry_run
        self._wandb: WandbGuard | None = None
        self._resume_path = Path(config.policy_path) if config.policy_path and config.mode == "policy_eval" else None
        self.training = Training(self.script, self.emitter, mirror=self._mirror, renders=config.capture_video)

    def request_stop(self) -> None:
        """Note that the run should end; called from a signal handler."""
        self.training.request_stop()

    def request_pause(self, paused: bool) -> None:
        """Hold before the next step, or go on; called from a signal handler."""
        self.training.request_pause(paused)

    def resume_from(self, checkpoint: Path) -> dict[str, Any]:
        """Go on from *checkpoint*: weights, optimisers, counters, schedules and generators.

        The environments and a replay buffer within ``replay_limit_mb`` continue as well where they can be
        saved; then the run goes on to the bit. Returns what is to be told of the checkpoint.

        Raises:
            BadInput: the file cannot be read, or is of another algorithm or environment.

        """
        from mosaic_cleanrl.checkpoint import load

        kept = load(checkpoint)
        faults = mismatches(("algorithm", kept.script, self.script.name), ("environment", kept.env_id, self.env_id))
        if faults:
            raise BadInput(str(checkpoint), faults)
        self._resume_path, self.seed = checkpoint, kept.seed
        return {"step": kept.step, "sha256": digest_of(checkpoint)}

    def arguments(self) -> list[str]:
        """Return the command line that the script is given."""
        config = self.config
        told = {
            "env_id": self.env_id,
            "total_timesteps": config.total_steps,
            "seed": self.seed,
            "cuda": learns_on_gpu(config.cuda, self._environment, self.emitter),
            "capture_video": config.capture_video,
            **config.parameters,
        }
        pairs = (
            [self.script.parameters[name].option, str(value)]
            for name, value in told.items()
            if value is not None and name in self.script.parameters
        )
        return [word for pair in pairs for word in pair]

    def command(self) -> str:
        """Return what would do the same training by hand, without the fleet."""
        return shlex.join([sys.executable, "-m", self.script.module, *self.arguments()])

    def run(self) -> dict[str, Any]:
        """Train to the end, or until asked to stop; evaluate if asked to; return a summary."""
        if self._is_dry_run:
            command = self.command()
            self.emitter.log(f"would run: {command}")
            return {"status": "completed", "mode": "dry-run", "command": command}
        try:
            return self._play() if self.config.mode == "policy_eval" else self._train()
        except TrainingStopped:
            return self._summary("cancelled")

    def evaluate(self, checkpoint: Path, seeds: Sequence[int]) -> Mapping[str, Any]:
        """Play one episode per seed with the policy in *checkpoint*; report each, return rows and summary."""
        from mosaic_cleanrl.evaluation import play_episodes

        return play_episodes(
            checkpoint,
            seeds,
            self.emitter,
            self.run_dir,
            obey=self.training.obey,
            also_tell=self._tell_figures,
            capture_video=self.config.capture_video,
        )

    def run_interactive(self) -> dict[str, Any]:
        """Play a trained policy command by command over stdin and stdout."""
        from mosaic.worker.interactive import serve
        from mosaic_cleanrl.evaluation import TrainedPolicy

        path = self._resume_path or (Path(self.config.policy_path) if self.config.policy_path else None)
        if path is None:
            raise BadInput("policy_path", ["is needed to play: a checkpoint of this worker"])
        policy = TrainedPolicy(path, self.run_dir)
        return serve(
            policy.act_once,
            policy,
            run_id=self.config.run_id,
            env_id=policy.env_id,
            should_stop=lambda: self.training.is_asked_to_stop,
        )

    def _play(self) -> dict[str, Any]:
        assert self._resume_path is not None
        with self._tracked():
            return {"status": "completed", "mode": "policy_eval", **self._evaluated(self._resume_path)}

    def _train(self) -> dict[str, Any]:
        loop = self._main_loop()
        self._tell_of_preset()
        self._prepare_run_dir()
        evaluation = {}
        with self._tracked():
            self._run_script(loop)
            self._warn_of_idle_run()
            if self.config.eval_episodes and loop.last_saved is not None:
                evaluation = {"evaluation": self._evaluated(loop.last_saved)}
        return self._summary("completed") | evaluation

    def _run_script(self, loop: Any) -> None:
        from mosaic_cleanrl.launch import run_script

        try:
            run_script(self.training, self.arguments(), main_loop=loop, tensorboard_dir=self._tensorboard_dir)
        except TrainingStopped:
            if self.training.scope:
                loop.save()
            raise
        finally:
            self._tell_of_videos()

    def _main_loop(self) -> Any:
        from mosaic_cleanrl.loop import MainLoop

        return MainLoop(
            self.training,
            checkpoint_dir=self.checkpoint_dir,
            checkpoint_every=self.config.checkpoint_every,
            keep_checkpoints=self.config.keep_checkpoints,
            replay_limit_mb=self.config.replay_limit_mb,
            resume_from=self._resume_path,
        )

    def _tell_of_preset(self) -> None:
        """Say so when settings were chosen that are not the script's own."""
        if self.config.preset == "auto" and self.config.chosen_preset != "none":
            told = ", ".join(f"{name}={value}" for name, value in self.config.parameters.items())
            self.emitter.log(
                f"{self.script.name} with the settings of preset {self.config.chosen_preset}: {told}; "
                "preset=none gives the script's own"
            )

    def _prepare_run_dir(self) -> None:
        self.run_dir.mkdir(parents=True, exist_ok=True)
        # The scripts write videos below the working directory.
        os.chdir(self.run_dir)

    @property
    def _tensorboard_dir(self) -> Path:
        return self.run_dir / self.config.tensorboard_dir

    def _warn_of_idle_run(self) -> None:
        """Say so when a whole run has learned nothing: its settings never reached an update."""
        if not self.training.counters.updates_logged:
            self.emitter.log(
                f"no loss was logged in {self.training.step} steps: the run was too short to learn "
                "(see num_steps and learning_starts)",
                "warning",
            )

    def _tell_of_videos(self) -> None:
        for video in sorted(self.run_dir.glob("videos/**/*.mp4")):
            self.emitter.artifact(video.relative_to(self.run_dir), "video")

    @contextmanager
    def _tracked(self) -> Iterator[None]:
        """Have W&B listen, if that is wanted, to the training and its evaluation, however they end."""
        self._wandb = WandbGuard.of_run(self.config, self.emitter, self.run_dir)
        try:
            yield
        finally:
            self._wandb.finish(is_stopping=lambda: self.training.is_asked_to_stop)

    def _mirror(self, name: str, value: float, step: int) -> None:
        if self._wandb is not None:
            self._wandb.log({name: value}, step)

    def _tell_figures(self, figures: Mapping[str, float], step: int) -> None:
        from mosaic_cleanrl.writer import write_scalars

        write_scalars(self._tensorboard_dir, figures, step)
        if self._wandb is not None:
            self._wandb.log(figures, step)

    def _evaluated(self, checkpoint: Path) -> dict[str, Any]:
        seeds = [self.seed + 1_000_000 + number for number in range(self.config.eval_episodes or 10)]
        return write_evaluation(self.evaluate(checkpoint, seeds), self.emitter, self.run_dir)

    def _summary(self, status: str) -> dict[str, Any]:
        path = self._wandb.run_path if self._wandb is not None else None
        told = {"algo": self.script.name, "env_id": self.env_id, "seed": self.seed}
        return self.training.summary(status) | told | ({"wandb_run_path": path} if path else {})
