"""The settings of one run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from mosaic.errors import did_you_mean
from mosaic.worker import validate_config
from mosaic.worker.environments import catalog
from mosaic.worker.extras import LibrarySettings
from mosaic.worker.schema import setting
from mosaic.worker.validation import INSIDE_RUN_DIRECTORY
from mosaic_xuance.catalog import Recipe, algorithms, find_recipe, recipes, recipes_of
from mosaic_xuance.schema import build_schema

#: The name under which `mosaic_xuance.library` lends XuanCe environments for a team in this process.
TEAM_IN_PROCESS = "TeamInProcess"
#: Stepping environments in the worker's process keeps a run within its lease, and its state within reach of
#: a checkpoint.
_IN_PROCESS = {"SubprocVecMultiAgentEnv": TEAM_IN_PROCESS}


@dataclass(frozen=True)
class XuanCeConfig(LibrarySettings):
    """What a user may set; every fault is reported before anything starts."""

    run_id: str = field(metadata={"help": "Name of the run, given by the fleet"})
    seed: int | None = setting(1, "Everything random follows from it; null draws a new one", minimum=0)
    algo: str = setting("ppo", "How to learn, by XuanCe's name for it in lower case")
    env_id: str = setting("CartPole-v1", "What to learn")
    total_steps: int = setting(100_000, "Steps in all environments together", minimum=1, maximum=10**10)
    num_envs: int | None = setting(
        None, "Environments stepped side by side; null = what XuanCe's authors chose", minimum=1, maximum=1024
    )
    device: str | None = setting(
        None, "Where the networks live: cpu, cuda or cuda:N; null = as cuda says", pattern=r"^(cpu|cuda(:\d+)?)$"
    )
    cuda: bool | None = setting(None, "Learn on a GPU; null: the GPU of the lease if there is one")
    algo_params: dict[str, Any] = setting({}, "Hyper-parameters by XuanCe's names; others keep XuanCe's defaults")
    mode: Literal["train", "policy_eval"] = setting("train", "Train, or only evaluate the policy at policy_path")
    policy_path: str | None = setting(None, "Checkpoint to evaluate, to play interactively, or to begin training from")
    checkpoint_every: int = setting(20_000, "Steps between two checkpoints", minimum=1)
    keep_checkpoints: int = setting(3, "How many checkpoints stay on disk", minimum=1, maximum=1000)
    replay_limit_mb: int = setting(
        64, "A replay buffer larger than this is not kept in checkpoints and fills anew on resume", minimum=0
    )
    metrics_every: int = setting(500, "Steps between two points of each metric", minimum=1)
    eval_episodes: int = setting(10, "Greedy episodes played at the end; 0 = none", minimum=0, maximum=10_000)
    capture_video: bool = setting(False, "Film the first greedy episode of the evaluation")
    tensorboard_dir: str = setting(
        "tensorboard", "Where event files go, inside the run directory", format=INSIDE_RUN_DIRECTORY
    )
    track_wandb: bool = setting(False, "Send metrics to Weights & Biases; the key comes from WANDB_API_KEY")
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

    def overrides(self, seed: int, *, log_dir: Path, model_dir: Path, device: str = "cpu") -> dict[str, Any]:
        """Return what XuanCe is told beyond its own defaults, to learn on *device*."""
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
            "device": device,
            "logger": "tensorboard",
            "render": False,
            "render_mode": "rgb_array",
            "log_dir": str(log_dir.resolve()),
            "model_dir": str(model_dir.resolve()),
        }

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
    """Return the JSON Schema of the config for the installed XuanCe, and what it cannot be trained on."""
    return build_schema(XuanCeConfig, algorithms()) | {"x-missing-environments": missing_environments()}


def missing_environments() -> dict[str, str]:
    """Return why what the catalog lists and no algorithm of XuanCe can train on is not there, by name."""
    from mosaic_xuance.registry import is_registered

    served = [known.env_id for known in catalog() if any(recipe.serves(known.env_id) for recipe in recipes())]
    there = [env_id for env_id in served if is_registered(env_id)]
    return {
        known.env_id: f"XuanCe has no settings to train on {known.env_id}{did_you_mean(known.env_id, there)}"
        if known.env_id not in served
        else f"XuanCe has settings for {known.env_id}, but the installed libraries do not have it"
        for known in catalog()
        if known.env_id not in there
    }
