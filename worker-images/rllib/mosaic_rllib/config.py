"""The settings of one run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from mosaic.worker import config_schema, validate_config
from mosaic.worker.extras import LibrarySettings
from mosaic.worker.schema import setting
from mosaic.worker.validation import INSIDE_RUN_DIRECTORY

Algo = Literal["ppo", "dqn", "sac", "impala", "appo"]


@dataclass(frozen=True)
class RLlibConfig(LibrarySettings):
    """What a user may set; every fault is reported before anything starts."""

    run_id: str = field(metadata={"help": "Name of the run, given by the fleet"})
    seed: int | None = setting(1, "Everything random follows from it; null draws a new one", minimum=0)
    algo: Algo = setting("ppo", "How to learn")
    env_id: str = setting(
        "CartPole-v1",
        "What to learn: a Gymnasium id such as CartPole-v1, or a PettingZoo one such as mpe/simple_spread_v3",
        minLength=1,
    )
    env_kwargs: dict[str, Any] = setting({}, "Arguments of the environment itself")
    total_steps: int = setting(
        100_000, "Steps of all environments together; the iteration under way is finished", minimum=1, maximum=10**10
    )
    policies: Literal["auto", "shared", "independent"] = setting(
        "auto", "With several agents: one policy for all, or one for each; auto = one for all if they are alike"
    )
    num_env_runners: int | None = setting(
        None,
        "Processes that play beside the one that learns; null = RLlib's number, as far as the lease has cores for them",
        minimum=0,
        maximum=256,
    )
    num_envs: int | None = setting(
        None, "Environments per process, stepped in turn; null = RLlib's number", minimum=1, maximum=1024
    )
    cuda: bool | None = setting(None, "Learn on a GPU; null: the GPU of the lease if there is one")
    algo_params: dict[str, Any] = setting({}, "Arguments of RLlib's AlgorithmConfig by their own names")
    checkpoint_every: int = setting(25_000, "Steps between two checkpoints", minimum=1)
    keep_checkpoints: int = setting(5, "How many checkpoints stay on disk", minimum=1, maximum=1_000)
    eval_episodes: int = setting(10, "Greedy episodes played at the end; 0 = none", minimum=0, maximum=10_000)
    capture_video: bool = setting(False, "Film the first greedy episode of the evaluation")
    mode: Literal["train", "policy_eval"] = setting("train", "Learn, or only play the policy in policy_path")
    policy_path: str | None = setting(None, "A checkpoint of this worker, for policy_eval and --interactive")
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
        faults = validate_config(config_schema(type(self)), asdict(self)) or self._faults_by_rllib()
        if self.mode == "policy_eval" and not self.policy_path:
            faults.append("policy_path: is required for mode policy_eval")
        if faults:
            raise ValueError("; ".join(faults))

    def _faults_by_rllib(self) -> list[str]:
        """Ask the installed RLlib; imported late, so that the schema of the class alone needs no Ray."""
        from mosaic_rllib.arguments import parameters_schema
        from mosaic_rllib.catalog import pair_fault

        schema = {"properties": {"algo_params": parameters_schema(self.algo)}}
        fault = pair_fault(self.algo, self.env_id)
        return validate_config(schema, asdict(self)) + ([fault] if fault else [])
