"""The runtime: that of the template, around XuanCe."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.worker.library.checkpoints import About, shown
from mosaic.worker.library.runtime import LibraryRuntime
from mosaic.worker.library.settings import DEFAULT, PRESET, Resolved, resolve
from mosaic.worker.plain import plain
from mosaic_xuance.config import XuanCeConfig
from mosaic_xuance.registry import check


class XuanCeRuntime(LibraryRuntime):
    """Trains one algorithm of XuanCe, for one agent or for a team."""

    worker = "xuance"
    library = "xuance"
    trainer = "mosaic_xuance.trainer:XuanCeTrainer"

    def run(self) -> dict[str, Any]:
        """Train, from the policy in ``policy_path`` if there is one, or only play that."""
        is_played = self.config.mode == "policy_eval"
        # A training that goes on has come further than the policy it once began with.
        if self.config.policy_path and (is_played or self._resumed is None):
            self._begin_with(Path(self.config.policy_path), is_played=is_played)
        return super().run()

    def check(self) -> None:
        """Refuse an environment that neither Gymnasium nor PettingZoo has."""
        check(self.config.env_id)

    def plan(self) -> Mapping[str, Any]:
        """Return all arguments that XuanCe would get, and the command that trains with them."""
        config = self.config
        arguments = {**config.recipe.settings, **self._overrides(config)}
        named = ("seed", "env_seed", "running_steps", "parallels", "device")
        told = {**config.algo_params, **{name: arguments[name] for name in named}}
        code = f"from argparse import Namespace; from xuance import get_runner; args = Namespace(**{told!r}); "
        runner = f"get_runner({config.algo!r}, {config.recipe.family.name!r}, {config.env_id!r}, parser_args=args)"
        # Not as a file: the processes of a team's environments would run it once more each.
        return {"arguments": arguments, "command": shlex.join(["python", "-c", f"{code}{runner}.run(mode='train')"])}

    def settings(self, arguments: Mapping[str, Any]) -> Resolved:
        """Return every setting; what differs from XuanCe's own and was not asked for is this worker's preset."""
        told = super().settings(arguments)
        for name, value in self.config.recipe.hyper_parameters.items():
            if told[name]["origin"] == DEFAULT and told[name]["value"] != plain(value):
                told[name]["origin"] = PRESET
        return told

    def found_out(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what settings that were left open have come to."""
        device = arguments["device"]
        return {"cuda": device.startswith("cuda"), "device": device, "num_envs": arguments["num_envs"]}

    def played_settings(self, about: About) -> Resolved:
        """Return what a policy is played with; what it was trained with is a preset."""
        played = self.config.played_with(about.settings)
        own = played.recipe.hyper_parameters
        preset = {name: value for name, value in self._overrides(played).items() if own.get(name, value) != value}
        return {**resolve(own, self.config.algo_params, preset), **super().played_settings(about)}

    def _begin_with(self, checkpoint: Path, *, is_played: bool) -> None:
        seed = self.config.seed
        facts = self.resume_from(checkpoint)
        if is_played:
            # What a policy is judged by follows from the seed of this run, not from that of its training.
            self.config = self.config.resolved(seed=seed)
        if not self._is_dry_run:
            self.emitter.checkpoint_loaded({"checkpoint_path": shown(checkpoint, self.run_dir), **facts})

    def _overrides(self, config: XuanCeConfig) -> dict[str, Any]:
        logs, models = self.run_dir / config.tensorboard_dir, self.run_dir / "models"
        return config.overrides(self.config.seed, log_dir=logs, model_dir=models, on_gpu=self._on_gpu)
