"""The settings that all workers around a library share; each adds those of its own library."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, TypeVar

from mosaic.errors import BadInput
from mosaic.worker.library.extras import unfold
from mosaic.worker.schema import config_schema, setting
from mosaic.worker.upstream_names import translate
from mosaic.worker.validation import INSIDE_RUN_DIRECTORY, validate_config

AskedT = TypeVar("AskedT", bound="AskedSettings")
SettingsT = TypeVar("SettingsT", bound="LibrarySettings")


class AskedSettings:
    """For a frozen dataclass of settings that remembers which of them somebody asked for."""

    @property
    def asked(self) -> Mapping[str, Any]:
        """What the user set, by name; of settings that were not read from a file, what differs from the default."""
        told: Mapping[str, Any] | None = vars(self).get("_asked")
        return told if told is not None else _changed(self)

    def as_asked(self: AskedT, told: Mapping[str, Any]) -> AskedT:
        """Return the same settings, of which *told* were asked for."""
        same = copy(self)
        # Not a field: how the settings were told is no part of what they are.
        object.__setattr__(same, "_asked", {name: value for name, value in told.items() if value != {}})
        return same

    def resolved(self: AskedT, **values: Any) -> AskedT:
        """Return the settings with *values* that were found out since; what was asked for stays what it was."""
        return replace(self, **values).as_asked(self.asked)  # type: ignore[type-var]


@dataclass(frozen=True)
class LibrarySettings(AskedSettings):
    """What a user may set with every library."""

    run_id: str = field(metadata={"help": "Name of the run, given by the fleet"})
    seed: int | None = setting(1, "Everything random follows from it; null draws a new one", minimum=0)
    algo: str = setting("ppo", "How to learn")
    env_id: str = setting("CartPole-v1", "What to learn", minLength=1)
    total_steps: int = setting(100_000, "Steps in all environments together", minimum=1, maximum=10**10)
    num_envs: int | None = setting(
        None, "Environments stepped side by side; null = the library's own choice", minimum=1, maximum=1024
    )
    cuda: bool | None = setting(None, "Learn on a GPU; null: the GPU of the lease if there is one")
    algo_params: dict[str, Any] = setting({}, "Hyper-parameters by the library's own names")
    mode: Literal["train", "policy_eval"] = setting("train", "Learn, or only play the policy in policy_path")
    policy_path: str | None = setting(None, "A checkpoint of this worker, for policy_eval and --interactive")
    checkpoint_every: int = setting(25_000, "Steps between two checkpoints", minimum=1)
    keep_checkpoints: int = setting(3, "How many checkpoints stay on disk", minimum=1, maximum=1000)
    eval_every: int = setting(0, "Steps between two evaluations during training; 0 = none", minimum=0)
    eval_episodes: int = setting(
        10, "Episodes of an evaluation; one is made at the end of the training, 0 = none", minimum=0, maximum=10_000
    )
    eval_policy: Literal["greedy", "sample"] = setting(
        "greedy", "How an evaluation acts: the most likely action, or one drawn as in training"
    )
    capture_video: bool = setting(False, "Film the first episode of the evaluation under videos/")
    tensorboard_dir: str = setting(
        "tensorboard", "Where event files go, inside the run directory", format=INSIDE_RUN_DIRECTORY
    )
    track_wandb: bool = setting(False, "Also send the curves to Weights & Biases; the key is WANDB_API_KEY")
    wandb_mode: Literal["online", "offline"] = setting("online", "offline only writes files, for `wandb sync` later")
    wandb_project: str = setting("mosaic", "Project of W&B", minLength=1)
    wandb_entity: str | None = setting(None, "User or team of W&B; null = that of the key")
    wandb_run_name: str | None = setting(None, "Name shown by W&B; null = the run's id")
    wandb_group: str | None = setting(None, "Group of W&B")
    wandb_tags: list[str] = setting([], "Tags of W&B")
    notes: str = setting("", "Anything you want to remember about this run")
    extras: dict[str, Any] = setting({}, "More of the above in one place, as the desktop application writes it")

    def __post_init__(self) -> None:
        """Refuse what cannot work, naming all of it at once."""
        faults = [*validate_config(config_schema(type(self)), asdict(self)), *self.mode_faults()]
        if not faults:
            try:
                faults = self.library_faults()
            except BadInput as refused:
                faults = [f"{refused.source}: {fault}" for fault in refused.faults]
        if faults:
            raise ValueError("; ".join(faults))

    def library_faults(self) -> list[str]:
        """Say what the installed library refuses of settings that are otherwise right.

        Raises:
            BadInput: it refuses the algorithm itself.

        """
        return []

    def parameter_faults(self, schema: Mapping[str, Any]) -> list[str]:
        """Say what of ``algo_params`` does not fit the *schema* of the algorithm's hyper-parameters."""
        return validate_config({"properties": {"algo_params": schema}}, asdict(self))

    def mode_faults(self) -> list[str]:
        """Say what is missing for the mode, and for evaluations."""
        if self.mode == "policy_eval" and not self.policy_path:
            return ["policy_path: is required for mode policy_eval"]
        if (self.mode == "policy_eval" or self.eval_every) and not self.eval_episodes:
            return ["eval_episodes: an evaluation needs at least 1 episode"]
        return []

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls: type[SettingsT], data: dict[str, Any]) -> SettingsT:
        """Build the settings from what `to_dict` returned; other fields are refused.

        The entries of ``extras`` become settings, or hyper-parameters of the library.
        """
        told = unfold(cls.by_own_names(data), [one.name for one in fields(cls)])
        return cls(**told).as_asked(told)

    @classmethod
    def by_own_names(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return *data* with the names and spellings of this worker instead of those that upstream's forms write."""
        default = cls.__dataclass_fields__["algo"].default
        return translate(
            data,
            {one.name for one in fields(cls)},
            algorithms=cls.algorithms(),
            parameters=cls.parameters_taken,
            default_algo=str(default),
        )

    @classmethod
    def algorithms(cls) -> Collection[str]:
        """Return the names of the algorithms of the installed library."""
        return ()

    @classmethod
    def parameters_taken(cls, algo: str) -> Collection[str]:
        """Return the hyper-parameters of *algo*; none of one that does not exist."""
        return ()


@dataclass(frozen=True)
class ReplaySettings(LibrarySettings):
    """Those of a library whose replay buffers can be saved."""

    replay_limit_mb: int = setting(
        512, "A replay buffer up to this size goes into checkpoints; a larger one is refilled after resume", minimum=0
    )


def _changed(config: Any) -> dict[str, Any]:
    fresh = asdict(type(config)(run_id=config.run_id))
    return {name: value for name, value in asdict(config).items() if value != fresh[name]}
