"""The life of a run around any library: dry run, build, resume, train, evaluate, summary."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from mosaic.errors import BadInput
from mosaic.worker.emitter import TelemetryEmitter
from mosaic.worker.environments import plain_id
from mosaic.worker.gpu import learns_on_gpu
from mosaic.worker.interactive import serve
from mosaic.worker.library import checkpoints, rng
from mosaic.worker.library.checkpoints import About, digest_of, prune, shown
from mosaic.worker.library.config import LibrarySettings
from mosaic.worker.library.control import Control, StopRequested
from mosaic.worker.library.environments import check
from mosaic.worker.library.evaluation import (
    EvaluationSchedule,
    PlayedEpisode,
    evaluation_seeds,
    tell_evaluation,
    write_evaluation,
)
from mosaic.worker.library.failures import explained
from mosaic.worker.library.passport import Passport
from mosaic.worker.library.reporting import Reporter
from mosaic.worker.library.settings import Resolved, resolve, settings_digest
from mosaic.worker.library.threads import use_threads_of_lease
from mosaic.worker.library.trainer import Policy, Trainer
from mosaic.worker.library.training import Training
from mosaic.worker.upstream_names import remarks

_GENERATORS = "generators.pt"
#: Told piece by piece, as the settings and hyper-parameters that they hold.
_FOLDED = frozenset({"algo_params", "extras"})


class LibraryRuntime:
    """One run of one config; it can be stopped, paused, resumed, evaluated and played.

    The library is imported when it is needed, so that a config is refused and a dry run answered at once.
    """

    worker: ClassVar[str]
    #: The distribution whose version a checkpoint tells.
    library: ClassVar[str]
    #: ``module:class`` of the `Trainer`.
    trainer: ClassVar[str]

    def __init__(
        self,
        config: Any,
        emitter: TelemetryEmitter | None = None,
        *,
        dry_run: bool = False,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        #: With the seed, the algorithm and the environment that are really used.
        self.config: Any = self.made_definite(config)
        self.emitter = emitter or TelemetryEmitter(config.run_id)
        self.run_dir = Path(environment.get("MOSAIC_RUN_DIR") or ".").resolve()
        self.checkpoint_dir = Path(environment.get("MOSAIC_CHECKPOINT_DIR") or self.run_dir / "checkpoints").resolve()
        self.control = Control()
        self._reporter = Reporter(config, self.emitter, self.run_dir, self.control)
        self._training = Training(self.control, self._reporter, self._at_boundary)
        self._environment = environment
        self._is_dry_run = dry_run
        self._trainer: Trainer | None = None
        self._resumed: tuple[Path, About] | None = None
        self._settings: Resolved = {}
        self._saved_at = 0
        self._last_saved: Path | None = None
        self._told_videos: set[tuple[Path, int]] = set()

    def made_definite(self, config: Any) -> Any:
        """Return *config* with all that it leaves open and that can be known before anything is built."""
        return config.resolved(seed=secrets.randbits(31)) if config.seed is None else config

    def request_stop(self) -> None:
        """Note that the run should end; called from a signal handler."""
        self.control.request_stop()

    def request_pause(self, paused: bool) -> None:
        """Hold before the next step, or go on; called from a signal handler."""
        self.control.request_pause(paused)

    def resume_from(self, checkpoint: Path) -> dict[str, Any]:
        """Go on from *checkpoint* when the run starts; return its step, its digest and its passport.

        Raises:
            BadInput: it cannot be read, or another environment or algorithm was asked for.

        """
        about = self._adopt(checkpoint)
        self.config = self.config.resolved(seed=about.passport.seed)
        self._resumed = checkpoint, about
        progress, passport = about.progress, about.passport
        facts = {"step": progress.step, "episode": progress.episodes, "sha256": digest_of(checkpoint)}
        return {**facts, "passport": passport.to_dict()}

    def run(self) -> dict[str, Any]:
        """Train to the end, or until asked to stop; evaluate; return a summary.

        Raises:
            BadInput: the library cannot build this.
            EnvironmentFailed, TrainingDiverged: it could not go on.

        """
        is_played = self.config.mode == "policy_eval"
        about = self._adopt(Path(self.config.policy_path)) if is_played else None
        self.check()
        for sentence in remarks(self.config.extras):
            self.emitter.log(sentence)
        if self._is_dry_run:
            return {"status": "completed", "dry_run": True, "plan": self._plan(about)}
        try:
            self._reporter.open()
            return self._evaluated_policy(about) if about is not None else self._train()
        except StopRequested:
            return self._summary("cancelled")
        finally:
            self._reporter.close()

    def evaluate(self, checkpoint: Path, seeds: Sequence[int]) -> Mapping[str, Any]:
        """Play one episode per seed with the policy in *checkpoint*; report each, return rows and summary.

        Raises:
            BadInput: it cannot be read, or is of another algorithm or environment than was asked for.

        """
        return self._judged(self._adopt(checkpoint), checkpoint, seeds)

    def run_interactive(self) -> dict[str, Any]:
        """Play a trained policy command by command over stdin and stdout."""
        given = self._resumed[0] if self._resumed else self.config.policy_path
        if not given:
            raise BadInput("policy_path", ["is needed to play: a checkpoint of this worker"])
        self._adopt(Path(given))
        self._prepare()
        policy = self._made_trainer().policy(Path(given))
        if policy.env is None:
            raise BadInput("env_id", [f"{self.config.env_id} has several agents; --interactive plays one"])
        try:
            return serve(
                policy.act,
                policy.env,
                run_id=self.config.run_id,
                env_id=str(self.config.env_id),
                should_stop=lambda: self.control.is_stopping,
            )
        finally:
            policy.close()

    def check(self) -> None:
        """Refuse what only the installed libraries know, before anything is built.

        Raises:
            BadInput: they do not have the environment.

        """
        check(str(self.config.env_id))

    def plan(self) -> Mapping[str, Any]:
        """Return what the library would be told: ``arguments``, and ``code`` or ``command`` to do it by hand."""
        return {"arguments": self.config.algo_params}

    def settings(self, arguments: Mapping[str, Any]) -> Resolved:
        """Return every setting that runs, and where it came from; *arguments* are the library's own."""
        values = {**arguments, **self._own_settings(), **self.found_out(arguments)}
        return resolve(values, {name: values[name] for name in self._asked() if name in values})

    def found_out(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what settings that were left open have come to."""
        return {"cuda": self._on_gpu}

    def played_settings(self, about: About) -> Resolved:
        """Return every setting that the policy in the checkpoint of *about* is played with."""
        own = self._own_settings()
        return resolve(own, {name: own[name] for name in self._asked() if name in own})

    def taken_over(self, about: About) -> Mapping[str, Any]:
        """Return more settings that a checkpoint decides for whoever goes on from it or plays it.

        Raises:
            BadInput: others were asked for.

        """
        return {}

    def _train(self) -> dict[str, Any]:
        with self.control.nothing_to_lose():
            self._prepare()
            trainer = self._trainer = self._made_trainer()
            arguments = trainer.build()
            self._tell_settings(self.settings(arguments))
            if self._resumed is not None:
                self._restore(trainer, *self._resumed)
        try:
            with explained(lambda: self._training.live_step()):
                # A stop may have come before the evaluation that was due then.
                self._evaluate_if_due(self._training.progress.step)
                trainer.advance()
            self._training.is_over = True
            self._save()
            self._warn_of_idle_run()
            with self.control.nothing_to_lose():
                evaluation = self._evaluated_at_the_end(trainer)
        except StopRequested:
            self._save()
            return self._summary("cancelled")
        except Exception:
            if trainer.outlives_failure:
                self._save()
            raise
        finally:
            trainer.close()
            self._tell_videos()
        return self._summary("completed") | evaluation

    def _at_boundary(self, step: int) -> None:
        if step < self.config.total_steps:
            self._evaluate_if_due(step)
            if step - self._saved_at >= self.config.checkpoint_every:
                self._save()
        evaluates_at = self._evaluations.due_at
        self._training.due_at = min(self._saved_at + self.config.checkpoint_every, evaluates_at)
        if self.control.is_interrupted:
            self.control.obey()

    @property
    def _evaluations(self) -> EvaluationSchedule:
        return EvaluationSchedule(self.config.eval_every, self._training.progress.evaluated_at)

    def _save(self) -> None:
        """Write a checkpoint of the last boundary; a disk that does not take it costs the checkpoint, not the run."""
        progress, trainer = self._training.noted, self._trainer
        if trainer is None or progress.step == self._saved_at:
            return
        about = About(self._passport(progress.step), progress, self._settings)
        path = self.checkpoint_dir / f"step-{progress.step:010d}"
        self._saved_at = progress.step
        try:
            digest = checkpoints.write_whole(path, lambda folder: self._fill(folder, trainer, about))
        except (OSError, RuntimeError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or error
            sentence = f"the checkpoint at step {progress.step} could not be written: {why}; the training goes on"
            self.emitter.log(f"{sentence} without it", "error")
            return
        self._last_saved = path
        told = {"checkpoint_path": shown(path, self.run_dir), "step": progress.step, "episode": progress.episodes}
        anew = {"starts_anew": list(About.read(path).starts_anew)}
        self.emitter.checkpoint_saved({**told, "sha256": digest, **anew, "passport": about.passport.to_dict()})
        prune(self.checkpoint_dir, self.config.keep_checkpoints)

    def _fill(self, folder: Path, trainer: Trainer, about: About) -> None:
        anew = trainer.save(folder)
        checkpoints.dump(rng.generator_states(), folder / _GENERATORS)
        replace(about, starts_anew=tuple(anew)).write(folder)

    def _restore(self, trainer: Trainer, path: Path, about: About) -> None:
        if about.passport.settings_digest not in ("", settings_digest(self._settings)):
            names = ", ".join(_differing(self._settings, about.settings))
            self.emitter.log(
                f"the checkpoint was learned with other settings than this run goes on with: {names}", "warning"
            )
        self._training.begin(about.progress)
        self._reporter.goes_on_from(about.progress.step)
        self._saved_at, self._last_saved = about.progress.step, path
        try:
            trainer.load(path)
        except (KeyError, RuntimeError, ValueError) as error:
            raise BadInput(str(path), [f"does not fit these settings: {error}"]) from error
        # Last, since everything above may have drawn.
        rng.set_generators(checkpoints.undump(path / _GENERATORS))

    def _adopt(self, checkpoint: Path) -> About:
        """Be a run of what *checkpoint* is of, as far as nothing else was asked for."""
        about, asked = About.read(checkpoint), self.config.asked
        wanted = {name: getattr(self.config, name) for name in ("env_id", "algo") if asked.get(name) is not None}
        if plain_id(wanted.get("env_id", "")) == plain_id(about.passport.env_id):
            del wanted["env_id"]
        about.passport.check(str(checkpoint), worker=self.worker, **wanted)
        taken = {"algo": about.passport.algo, "env_id": about.passport.env_id, **self.taken_over(about)}
        try:
            self.config = self.config.resolved(**taken)
        except ValueError as error:
            raise BadInput(f"the settings, with the algorithm of {checkpoint}", [str(error)]) from error
        return about

    def _evaluated_policy(self, about: About) -> dict[str, Any]:
        with self.control.nothing_to_lose():
            result = self._judged(about, Path(self.config.policy_path), self._seeds())
        evaluation = write_evaluation(result, self.emitter, self.run_dir)
        return self._summary("completed") | {"mode": "policy_eval", "evaluation": evaluation}

    def _judged(self, about: About, checkpoint: Path, seeds: Sequence[int]) -> dict[str, Any]:
        self._prepare()
        self._training.begin(about.progress)
        self._tell_settings(self.played_settings(about))
        policy = self._made_trainer().policy(checkpoint)
        played = self._tell_played(policy, self._played(policy, seeds), about.progress.step)
        facts = {**self._facts(), "passport": about.passport.to_dict()}
        return {**facts, "checkpoint_step": about.progress.step, **played}

    def _evaluated_at_the_end(self, trainer: Trainer) -> dict[str, Any]:
        if not self.config.eval_episodes:
            return {}
        policy, step = trainer.policy(None), self._training.progress.step
        result = {"checkpoint_step": step, **self._tell_played(policy, self._played(policy, self._seeds()), step)}
        return {"evaluation": write_evaluation(result, self.emitter, self.run_dir)}

    def _evaluate_if_due(self, step: int) -> None:
        """Evaluate what is learned so far; nothing that the training goes on with changes.

        All is told once all is played: what a stop cuts short is played anew when the run goes on.
        """
        if not self._evaluations.is_due(step):
            return
        assert self._trainer is not None
        with rng.untouched_generators():
            policy = self._trainer.policy(None)
            played = list(self._played(policy, self._seeds()))
        self._tell_played(policy, played, step)
        self._training.evaluated(step)

    def _played(self, policy: Policy, seeds: Sequence[int]) -> Iterable[PlayedEpisode]:
        return (policy.play(seed, self.control.obey) for seed in seeds)

    def _tell_played(self, policy: Policy, played: Iterable[PlayedEpisode], step: int) -> dict[str, Any]:
        try:
            result = tell_evaluation(played, self.emitter, step, self._reporter.figures, seed=self.config.seed)
        finally:
            policy.close()
        self._tell_videos()
        return result

    def _tell_videos(self) -> None:
        """Tell of each video once, and again if it was written anew."""
        for video in sorted(self.run_dir.glob("videos/**/*.mp4")) if self.config.capture_video else ():
            facts = video.stat()
            if (video, facts.st_mtime_ns) not in self._told_videos:
                self._told_videos.add((video, facts.st_mtime_ns))
                self.emitter.artifact(shown(video, self.run_dir), "video", size_bytes=facts.st_size)

    def _plan(self, about: About | None) -> dict[str, Any]:
        """Return what would be done: the same facts for every library, then what it would be told."""
        plan = {"mode": self.config.mode, **self._facts()}
        if about is None:
            plan |= {"library": self.library, "library_version": version(self.library), **self.plan()}
        else:
            told = ("policy_path", "eval_episodes", "eval_policy")
            plan |= {name: getattr(self.config, name) for name in told}
            plan |= {"checkpoint_step": about.progress.step, "seeds": self._seeds()}
        verb = "train" if about is None else "play"
        self.emitter.log(f"would {verb} with {self.worker}: {plan}")
        return plan

    def _prepare(self) -> None:
        self.run_dir.mkdir(parents=True, exist_ok=True)
        # Libraries write what nobody asked for below the working directory.
        os.chdir(self.run_dir)
        use_threads_of_lease(self._environment)

    def _made_trainer(self) -> Trainer:
        module, _, name = self.trainer.partition(":")
        kind: Callable[..., Trainer] = getattr(import_module(module), name)
        return kind(self.config, self._training, on_gpu=self._on_gpu, run_dir=self.run_dir)

    @property
    def _on_gpu(self) -> bool:
        if "_is_on_gpu" not in vars(self):
            self._is_on_gpu = learns_on_gpu(self.config.cuda, self._environment, self.emitter)
        return self._is_on_gpu

    def _tell_settings(self, settings: Resolved) -> None:
        self._settings = settings
        self.emitter.settings_resolved(settings, **self._facts())

    def _own_settings(self) -> dict[str, Any]:
        settings: LibrarySettings = self.config
        return {name: value for name, value in settings.to_dict().items() if name not in _FOLDED}

    def _asked(self) -> set[str]:
        # Who asks for null leaves it to worker and library.
        return {name for name, value in {**self.config.asked, **self.config.algo_params}.items() if value is not None}

    def _passport(self, step: int) -> Passport:
        digest = settings_digest(self._settings)
        return Passport(
            self.worker, self.library, version(self.library), **self._facts(), step=step, settings_digest=digest
        )

    def _seeds(self) -> list[int]:
        return evaluation_seeds(self.config.seed, self.config.eval_episodes)

    def _facts(self) -> dict[str, Any]:
        return {"algo": self.config.algo, "env_id": self.config.env_id, "seed": self.config.seed}

    def _warn_of_idle_run(self) -> None:
        """Say so when a whole run has learned nothing: its settings never reached an update."""
        if not self._training.progress.updates:
            self.emitter.log(
                f"no loss was told in {self._training.progress.step} steps: the run was too short to learn", "warning"
            )

    def _summary(self, status: str) -> dict[str, Any]:
        progress = self._training.progress
        counts = {"steps": progress.step, "episodes": progress.episodes, "updates": progress.updates}
        told = {**self._facts(), **counts, "total_reward": progress.total_reward, "metrics": progress.metrics}
        return {"status": status, **told, **self._reporter.wandb()}


def _differing(ours: Resolved, theirs: Resolved) -> list[str]:
    """Return the names of settings that are learned with and are not the same in both."""
    return [name for name in sorted({*ours, *theirs}) if _digest(name, ours) != _digest(name, theirs)]


def _digest(name: str, settings: Resolved) -> str:
    return settings_digest({name: settings[name]} if name in settings else {})
