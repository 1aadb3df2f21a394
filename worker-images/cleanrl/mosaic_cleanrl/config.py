"""The settings of one run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mosaic.worker.library.config import ReplaySettings
from mosaic.worker.schema import setting
from mosaic_cleanrl.scripts import find_script, usable_names

#: Hyper-parameters for a purpose, by script. CleanRL's own are meant for half a million steps and more.
PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "short_run": {
        "ppo": {
            "learning_rate": 0.001,
            "num_envs": 8,
            "num_steps": 32,
            "num_minibatches": 1,
            "update_epochs": 20,
            "gamma": 0.98,
            "gae_lambda": 0.8,
            "ent_coef": 0.0,
        }
    }
}


#: The script's own settings need more steps than this to learn CartPole.
SHORT_RUN_STEPS = 200_000


@dataclass(frozen=True)
class CleanRLConfig(ReplaySettings):
    """What a user may set; every fault is reported before anything starts."""

    algo: str = setting("ppo", "The CleanRL script to run")
    env_id: str | None = setting(None, "What to learn; null = what the script itself would take")  # type: ignore[assignment]
    total_steps: int = setting(100_000, "Steps in the environment, all parallel ones together", minimum=1)
    num_envs: int | None = setting(
        None, "Environments played in turn, for scripts that have --num-envs; null = the script's own", minimum=1
    )
    preset: Literal["auto", "none", "short_run"] = setting(
        "auto",
        "Hyper-parameters to begin with: none = the script's own, short_run = those with which ppo learns within "
        "100,000 steps, auto = short_run for a short ppo run on CartPole that sets no others, else none",
    )
    capture_video: bool = setting(False, "Record videos of the first environment under videos/")

    @property
    def resolved_env_id(self) -> str:
        """What will be learned, also where that is left to the script."""
        return self.env_id or str(find_script(self.algo).parameters["env_id"].default)

    @property
    def chosen_preset(self) -> str:
        """The preset that applies: what was asked for, or what ``auto`` comes to."""
        if self.preset != "auto":
            return self.preset
        is_short = self.resolved_env_id == "CartPole-v1" and self.total_steps <= SHORT_RUN_STEPS
        is_plain = not self.algo_params and self.num_envs is None
        return "short_run" if self.algo in PRESETS["short_run"] and is_short and is_plain else "none"

    @property
    def preset_parameters(self) -> Mapping[str, Any]:
        """The hyper-parameters that the preset sets."""
        return PRESETS.get(self.chosen_preset, {}).get(self.algo, {})

    @property
    def parameters(self) -> dict[str, Any]:
        """The script's hyper-parameters that differ from its own: the preset, and on top what the user set."""
        told = {} if self.num_envs is None else {"num_envs": self.num_envs}
        return {**self.preset_parameters, **told, **self.algo_params}

    def arguments(self, *, on_gpu: bool) -> list[str]:
        """Return the command line that the script is given."""
        told = {
            "env_id": self.env_id,
            "total_timesteps": self.total_steps,
            "seed": self.seed,
            "cuda": on_gpu,
            "capture_video": self.capture_video,
            **self.parameters,
        }
        known = find_script(self.algo).parameters
        pairs = ([known[name].option, str(told[name])] for name in told if told[name] is not None and name in known)
        return [word for pair in pairs for word in pair]

    @classmethod
    def algorithms(cls) -> Collection[str]:
        """Return the scripts that can run here."""
        return usable_names()

    @classmethod
    def parameters_taken(cls, algo: str) -> Collection[str]:
        """Return the arguments of the script that are not settings of their own."""
        from mosaic_cleanrl.schema import parameters_schema

        known: Collection[str] = parameters_schema(find_script(algo))["properties"] if algo in usable_names() else ()
        return known

    def library_faults(self) -> list[str]:
        """Ask the installed script."""
        from mosaic_cleanrl.schema import parameters_schema

        script = find_script(self.algo)
        faults = self.parameter_faults(parameters_schema(script))
        if self.num_envs is not None and "num_envs" not in script.parameters:
            faults.append(f"num_envs: {script.name} plays one environment and has no --num-envs")
        if self.eval_every and script.is_recurrent:
            faults.append(f"eval_every: {script.name} has a recurrent policy, which cannot be evaluated here yet")
        if self.preset in PRESETS and self.algo not in PRESETS[self.preset]:
            faults.append(f"preset: {self.preset} is for {', '.join(PRESETS[self.preset])} and not for {self.algo}")
        return faults
