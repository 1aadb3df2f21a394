"""The settings of one run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from mosaic.errors import did_you_mean
from mosaic.worker import validate_config
from mosaic_xuance.catalog import Recipe, algorithms, find_recipe, recipes, recipes_of
from mosaic_xuance.schema import build_schema

#: The name under which `mosaic_xuance.library` lends XuanCe environments for a team in this process.
TEAM_IN_PROCESS = "TeamInProcess"
#: Stepping environments in the worker's process keeps a run within its lease, and its state within reach of
#: a checkpoint.
_IN_PROCESS = {"SubprocVecMultiAgentEnv": TEAM_IN_PROCESS}
_LAUNCHER_IDS = frozenset({"worker_id", "agent_id"})


def _setting(default: Any, help_text: str, **limits: Any) -> Any:
    return field(default=default, metadata={"help": help_text, **limits})


@dataclass(frozen=True)
class XuanCeConfig:
    """What a user may set; every fault is reported before anything starts."""

    run_id: str = field(metadata={"help": "Name of the run, given by the fleet"})
    seed: int | None = _setting(1, "Everything random follows from it; null draws a new one", minimum=0)
    algo: str = _setting("ppo", "How to learn, by XuanCe's name for it in lower case")
    env_id: str = _setting("CartPole-v1", "What to learn")
    total_steps: int = _setting(100_000, "Steps in all environments together", minimum=1, maximum=10**10)
    num_envs: int | None = _setting(
        None, "Environments stepped side by side; null = what XuanCe's authors chose", minimum=1, maximum=1024
    )
    device: str = _setting("cpu", "Where the networks live: cpu, cuda or cuda:N", pattern=r"^(cpu|cuda(:\d+)?)$")
    cuda: bool = _setting(False, "Short for device cuda:0")
    algo_params: dict[str, Any] = field(
        default_factory=dict, metadata={"help": "Hyper-parameters by XuanCe's names; others keep XuanCe's defaults"}
    )
    mode: Literal["train", "policy_eval"] = _setting("train", "Train, or only evaluate the policy at policy_path")
    policy_path: str | None = _setting(None, "Checkpoint to evaluate or to play interactively")
    checkpoint_every: int = _setting(20_000, "Steps between two checkpoints", minimum=1)
    keep_checkpoints: int = _setting(3, "How many checkpoints stay on disk", minimum=1, maximum=1000)
    replay_limit_mb: int = _setting(
        64, "A replay buffer larger than this is not kept in checkpoints and fills anew on resume", minimum=0
    )
    metrics_every: int = _setting(500, "Steps between two points of each metric", minimum=1)
    eval_episodes: int = _setting(10, "Greedy episodes played at the end; 0 = none", minimum=0, maximum=10_000)
    capture_video: bool = _setting(False, "Film the first greedy episode of the evaluation")
    tensorboard_dir: str | None = _setting(None, "Where event files go; null = tensorboard in the run directory")
    track_wandb: bool = _setting(False, "Send metrics to Weights & Biases; the key comes from WANDB_API_KEY")
    wandb_project: str = _setting("mosaic-xuance", "W&B project", minLength=1)
    wandb_entity: str | None = _setting(None, "W&B user or team")
    wandb_name: str | None = _setting(None, "W&B name of the run; null = its run id")
    wandb_mode: Literal["online", "offline"] = _setting("online", "Send at once, or keep files to sync later")
    notes: str = _setting("", "Words of your own, kept in the manifest")

    def __post_init__(self) -> None:
        """Refuse what cannot work, naming all of it at once."""
        pair_fault = self._pair_fault()
        faults = [pair_fault] if pair_fault else []
        # The schema of one algorithm is built in a moment, that of all takes as long as the library's own start.
        schema = build_schema(XuanCeConfig, [self.algo]) if self._recipes else published_schema()
        seen = validate_config(schema, asdict(self))
        faults += [fault for fault in seen if not (pair_fault and fault.startswith(("algo: ", "env_id: ")))]
        faults = faults or self._recipe_faults()
        if self.mode == "policy_eval" and not self.policy_path:
            faults.append("policy_path: mode policy_eval needs the checkpoint to evaluate")
        if faults:
            raise ValueError("; ".join(faults))

    @property
    def _recipes(self) -> tuple[Recipe, ...]:
        return recipes_of(str(self.algo))

    @property
    def recipe(self) -> Recipe:
        """XuanCe's own settings for this algorithm on this environment."""
        found = find_recipe(self.algo, self.env_id)
        assert found is not None
        return found

    @property
    def torch_device(self) -> str:
        """The device by the name torch has for it."""
        return "cuda:0" if self.cuda else self.device

    def overrides(self, seed: int, *, log_dir: Path, model_dir: Path) -> dict[str, Any]:
        """Return what XuanCe is told beyond its own defaults."""
        defaults = self.recipe.settings
        return {
            "vectorize": _IN_PROCESS.get(defaults["vectorize"], defaults["vectorize"]),
            **self.algo_params,
            "env_id": self.env_id,
            "seed": seed,
            # Environments are seeded one after the other from here: neighbouring seeds must not share any.
            "env_seed": seed * 1024,
            "running_steps": self.total_steps,
            "parallels": self.num_envs or defaults["parallels"],
            "device": self.torch_device,
            "logger": "tensorboard",
            "render": False,
            "render_mode": "rgb_array",
            "log_dir": str(log_dir.resolve()),
            "model_dir": str(model_dir.resolve()),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> XuanCeConfig:
        """Build the settings from what `to_dict` returned.

        A launcher may add ids of its own; other fields that do not exist are refused.
        """
        return cls(**{name: value for name, value in data.items() if name not in _LAUNCHER_IDS})

    def _pair_fault(self) -> str | None:
        """Say why the algorithm cannot train on the environment, if both are known and it cannot."""
        if not self._recipes or any(recipe.serves(str(self.env_id)) for recipe in self._recipes):
            return None
        own = sorted({recipe.env_id or recipe.family.name for recipe in self._recipes})
        others = sorted({recipe.algo for recipe in recipes() if recipe.serves(str(self.env_id))})
        if not others:
            known = sorted({recipe.env_id for recipe in recipes() if recipe.env_id})
            near = did_you_mean(str(self.env_id), known)
            return f"env_id: XuanCe has no settings for {self.env_id!r}{near}; {self.algo} trains on {', '.join(own)}"
        return (
            f"env_id: {self.algo} cannot train on {self.env_id}; it trains on {', '.join(own)}, "
            f"and {self.env_id} can be trained by {', '.join(others)}"
        )

    def _recipe_faults(self) -> list[str]:
        """Find parameters that the algorithm takes elsewhere, but not on this environment."""
        known = self.recipe.hyper_parameters
        return [
            f"algo_params.{name}: {self.algo} does not take it on {self.env_id}{did_you_mean(name, list(known))}"
            for name in self.algo_params
            if name not in known
        ]


@cache
def published_schema() -> dict[str, Any]:
    """Return the JSON Schema of the config for the installed XuanCe."""
    return build_schema(XuanCeConfig, algorithms())
