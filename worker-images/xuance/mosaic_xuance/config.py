"""The settings of one run."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from mosaic.errors import did_you_mean
from mosaic.worker import validate_config
from mosaic.worker.environments import catalog
from mosaic.worker.library.config import LibrarySettings
from mosaic.worker.library.settings import ASKED, Resolved
from mosaic.worker.schema import setting
from mosaic_xuance.catalog import Recipe, algorithms, find_recipe, own_name, recipes, recipes_of
from mosaic_xuance.schema import build_schema

#: The name under which `mosaic_xuance.library` lends XuanCe environments for a team in this process.
TEAM_IN_PROCESS = "TeamInProcess"
#: Stepping environments in the worker's process keeps a run within its lease, and its state within reach of
#: a checkpoint.
_IN_PROCESS = {"SubprocVecMultiAgentEnv": TEAM_IN_PROCESS}


@dataclass(frozen=True)
class XuanCeConfig(LibrarySettings):
    """What a user may set; every fault is reported before anything starts."""

    algo: str = setting("ppo", "How to learn, by XuanCe's name for it; upper and lower case are the same")
    num_envs: int | None = setting(
        None, "Environments stepped side by side; null = what XuanCe's authors chose", minimum=1, maximum=1024
    )
    device: str | None = setting(
        None, "Where the networks live: cpu, cuda or cuda:N; null = as cuda says", pattern=r"^(cpu|cuda(:\d+)?)$"
    )
    algo_params: dict[str, Any] = setting({}, "Hyper-parameters by XuanCe's names; others keep XuanCe's defaults")
    policy_path: str | None = setting(None, "Checkpoint to evaluate, to play interactively, or to begin training from")
    checkpoint_every: int = setting(20_000, "Steps between two checkpoints", minimum=1)
    replay_limit_mb: int = setting(
        64, "A replay buffer larger than this is not kept in checkpoints and fills anew on resume", minimum=0
    )
    metrics_every: int = setting(
        500, "Steps between two points of each metric; the last step of a training always has one", minimum=1
    )
    eval_policy: Literal["greedy", "sample"] = setting(
        "greedy", "How an evaluation acts: the most likely action, or with the chance or the exploration of training"
    )

    def __post_init__(self) -> None:
        """Refuse what cannot work, naming all of it at once."""
        object.__setattr__(self, "algo", own_name(self.algo))
        pair_fault = self._pair_fault()
        faults = [pair_fault] if pair_fault else []
        # The schema of one algorithm is built in a moment, that of all takes as long as the library's own start.
        schema = build_schema(XuanCeConfig, [self.algo]) if self._recipes else published_schema()
        seen = validate_config(schema, asdict(self))
        faults += [fault for fault in seen if not (pair_fault and fault.startswith(("algo: ", "env_id: ")))]
        faults = faults or self._recipe_faults()
        faults += self.mode_faults()
        if faults:
            raise ValueError("; ".join(faults))

    @classmethod
    def algorithms(cls) -> Collection[str]:
        """Return XuanCe's names of its algorithms."""
        return algorithms()

    @classmethod
    def parameters_taken(cls, algo: str) -> Collection[str]:
        """Return what XuanCe's settings of *algo* hold anywhere."""
        return {name for recipe in recipes_of(own_name(algo)) for name in recipe.hyper_parameters}

    @property
    def _recipes(self) -> tuple[Recipe, ...]:
        return recipes_of(str(self.algo))

    @property
    def recipe(self) -> Recipe:
        """XuanCe's own settings for this algorithm on this environment."""
        found = find_recipe(self.algo, self.env_id)
        assert found is not None
        return found

    def played_with(self, learned: Resolved) -> XuanCeConfig:
        """Return these settings with the hyper-parameters that a checkpoint was *learned* with.

        They make its networks, so nobody has to ask for them again.
        """
        own = self.recipe.hyper_parameters
        kept = {name: one["value"] for name, one in learned.items() if name in own and one["origin"] == ASKED}
        return self.resolved(algo_params={**kept, **self.algo_params})

    def overrides(self, seed: int, *, log_dir: Path, model_dir: Path, on_gpu: bool = False) -> dict[str, Any]:
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
            "device": self.device or ("cuda:0" if on_gpu else "cpu"),
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
