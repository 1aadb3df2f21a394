"""The settings of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from mosaic.errors import BadInput
from mosaic.worker import config_schema, validate_config
from mosaic.worker.extras import LibrarySettings
from mosaic.worker.schema import setting
from mosaic.worker.validation import INSIDE_RUN_DIRECTORY

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
class CleanRLConfig(LibrarySettings):
    """What a user may set; every fault is reported before anything starts."""

    run_id: str = field(metadata={"help": "Name of the run, given by the fleet"})
    seed: int | None = setting(1, "Everything random follows from it; null draws a new one", minimum=0)
    algo: str = setting("ppo", "The CleanRL script to run")
    env_id: str | None = setting(None, "What to learn; null = what the script itself would take")
    total_steps: int = setting(100_000, "Steps in the environment, all parallel ones together", minimum=1)
    num_envs: int | None = setting(
        None, "Environments played in turn, for scripts that have --num-envs; null = the script's own", minimum=1
    )
    cuda: bool | None = setting(None, "Learn on a GPU; null: the GPU of the lease if there is one")
    preset: Literal["auto", "none", "short_run"] = setting(
        "auto",
        "Hyper-parameters to begin with: none = the script's own, short_run = those with which ppo learns within "
        "100,000 steps, auto = short_run for a short ppo run on CartPole that sets no others, else none",
    )
    algo_params: dict[str, Any] = setting({}, "Hyper-parameters of the script, by its own names")
    capture_video: bool = setting(False, "Record videos of the first environment under videos/")
    checkpoint_every: int = setting(25_000, "Steps between two checkpoints", minimum=1)
    keep_checkpoints: int = setting(3, "How many checkpoints stay on disk", minimum=1, maximum=1000)
    replay_limit_mb: int = setting(
        512, "A replay buffer up to this size goes into checkpoints; a larger one is refilled after resume", minimum=0
    )
    eval_episodes: int = setting(0, "Episodes played with the final policy; 0 = none", minimum=0, maximum=10_000)
    mode: Literal["train", "policy_eval"] = setting("train", "Learn, or only play the policy in policy_path")
    policy_path: str | None = setting(None, "A checkpoint of this worker, for policy_eval and --interactive")
    tensorboard_dir: str = setting(
        "tensorboard", "Where event files go, inside the run directory", format=INSIDE_RUN_DIRECTORY
    )
    track_wandb: bool = setting(False, "Also send the curves to Weights & Biases")
    wandb_mode: Literal["online", "offline"] = setting("online", "offline only writes files, for `wandb sync` later")
    wandb_project: str = setting("mosaic", "Project of W&B")
    wandb_entity: str | None = setting(None, "User or team of W&B; null = that of the key")
    wandb_run_name: str | None = setting(None, "Name shown by W&B; null = the run's id")
    wandb_group: str | None = setting(None, "Group of W&B")
    wandb_tags: list[str] = setting([], "Tags of W&B")
    notes: str = setting("", "Anything you want to remember about this run")
    extras: dict[str, Any] = setting({}, "More of the above in one place, as the desktop application writes it")

    def __post_init__(self) -> None:
        """Refuse what cannot work, naming all of it at once."""
        faults = [*validate_config(config_schema(type(self)), asdict(self)), *self._mode_faults()]
        if not faults:
            faults = self._script_faults()
        if faults:
            raise ValueError("; ".join(faults))

    @property
    def resolved_env_id(self) -> str:
        """What will be learned, also where that is left to the script."""
        from mosaic_cleanrl.scripts import find_script

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
    def parameters(self) -> dict[str, Any]:
        """The script's hyper-parameters that differ from its own: the preset, and on top what the user set."""
        preset = PRESETS.get(self.chosen_preset, {}).get(self.algo, {})
        told = {} if self.num_envs is None else {"num_envs": self.num_envs}
        return {**preset, **told, **self.algo_params}

    def _mode_faults(self) -> list[str]:
        if self.mode == "policy_eval" and not self.policy_path:
            return ["policy_path: is required for mode policy_eval"]
        return []

    def _script_faults(self) -> list[str]:
        """Ask the installed script; imported late, so that reading the settings' schema needs no CleanRL."""
        from mosaic_cleanrl.schema import parameters_schema
        from mosaic_cleanrl.scripts import find_script

        try:
            script = find_script(self.algo)
        except BadInput as refused:
            return [f"{refused.source}: {fault}" for fault in refused.faults]
        faults = validate_config({"properties": {"algo_params": parameters_schema(script)}}, asdict(self))
        if self.num_envs is not None and "num_envs" not in script.parameters:
            faults.append(f"num_envs: {script.name} plays one environment and has no --num-envs")
        if self.preset in PRESETS and self.algo not in PRESETS[self.preset]:
            faults.append(f"preset: {self.preset} is for {', '.join(PRESETS[self.preset])} and not for {self.algo}")
        return faults
