"""The runtime: that of the template, around a script of CleanRL."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.worker.library.checkpoints import About
from mosaic.worker.library.runtime import LibraryRuntime
from mosaic.worker.library.settings import Resolved, resolve
from mosaic_cleanrl.config import CleanRLConfig
from mosaic_cleanrl.schema import RESERVED
from mosaic_cleanrl.scripts import Script, find_script


class CleanRLRuntime(LibraryRuntime):
    """Trains with a script of CleanRL."""

    config: CleanRLConfig
    worker = "cleanrl"
    library = "cleanrl"
    trainer = "mosaic_cleanrl.trainer:CleanRLTrainer"

    @property
    def script(self) -> Script:
        """The script of the algorithm."""
        return find_script(self.config.algo)

    def made_definite(self, config: CleanRLConfig) -> Any:
        """Name the script that is meant, and the environment it would take itself where none is named."""
        found = {"algo": find_script(config.algo).name, "env_id": config.resolved_env_id}
        return super().made_definite(config).resolved(**found)

    def resume_from(self, checkpoint: Path) -> dict[str, Any]:
        """Go on from *checkpoint*; a run that goes on to be a long one keeps the preset it began with."""
        facts = super().resume_from(checkpoint)
        if self.config.preset == "auto":
            self.config = self.config.resolved(preset=About.read(checkpoint).settings["preset"]["value"])
        return facts

    def check(self) -> None:
        """Refuse an environment that the script will not find, and say what was decided for the user."""
        from mosaic_cleanrl.environments import check_env_id

        check_env_id(str(self.config.env_id), self.script)
        if self.config.mode == "train":
            self._tell_of_preset()
            self._leave_out_evaluation_of_recurrent()

    def plan(self) -> Mapping[str, Any]:
        """Return what would do the same training by hand, without the fleet."""
        arguments = self.config.arguments(on_gpu=self._on_gpu)
        command = shlex.join([sys.executable, "-m", self.script.module, *arguments])
        return {"arguments": self.config.parameters, "command": command}

    def settings(self, arguments: Mapping[str, Any]) -> Resolved:
        """Return the settings of a run whose script has parsed *arguments*, with what it works out itself.

        Hyper-parameters have the script's names; those of its arguments that every worker has, the name there.
        """
        found = {name: arguments[name] for name in ("env_id", "num_envs", "cuda", "capture_video") if name in arguments}
        parameters = {name: value for name, value in arguments.items() if name not in RESERVED}
        values = {**self._own_settings(), "num_envs": 1, **found, "preset": self.config.chosen_preset, **parameters}
        preset = {name: value for name, value in values.items() if name in self.config.preset_parameters}
        return resolve(values, {name: value for name, value in values.items() if name in self._asked()}, preset)

    def _tell_of_preset(self) -> None:
        """Say so when settings were chosen that are not the script's own."""
        if "preset" not in self.config.asked and self.config.chosen_preset != "none":
            told = ", ".join(f"{name}={value}" for name, value in self.config.parameters.items())
            self.emitter.log(
                f"{self.script.name} with the settings of preset {self.config.chosen_preset}: {told}; "
                "preset=none gives the script's own"
            )

    def _leave_out_evaluation_of_recurrent(self) -> None:
        if self.config.eval_episodes and self.script.is_recurrent:
            self.emitter.log(f"{self.script.name} has a recurrent policy, which cannot be evaluated here yet")
            self.config = self.config.resolved(eval_episodes=0)
