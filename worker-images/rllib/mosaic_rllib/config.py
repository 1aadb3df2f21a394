"""The settings of one run."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from mosaic.worker import config_schema, validate_config
from mosaic.worker.library.config import LibrarySettings
from mosaic.worker.schema import setting

#: Policies that follow from the environment.
UNDECIDED = "auto"

Algo = Literal["ppo", "dqn", "sac", "impala", "appo"]


@dataclass(frozen=True)
class RLlibConfig(LibrarySettings):
    """What a user may set; every fault is reported before anything starts."""

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
        UNDECIDED, "With several agents: one policy for all, or one for each; auto = one for all if they are alike"
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
    algo_params: dict[str, Any] = setting({}, "Arguments of RLlib's AlgorithmConfig by their own names")

    def __post_init__(self) -> None:
        """Refuse what cannot work, naming all of it at once."""
        faults = validate_config(config_schema(type(self)), asdict(self)) or self._faults_by_rllib()
        faults += self.mode_faults()
        if faults:
            raise ValueError("; ".join(faults))

    @classmethod
    def algorithms(cls) -> Collection[str]:
        """Return the names of the algorithms."""
        return get_args(Algo)

    @classmethod
    def parameters_taken(cls, algo: str) -> Collection[str]:
        """Return the arguments of the algorithm's config."""
        from mosaic_rllib.arguments import arguments_of

        return arguments_of(algo) if algo in get_args(Algo) else ()

    def _faults_by_rllib(self) -> list[str]:
        """Ask the installed RLlib; imported late, so that the schema of the class alone needs no Ray."""
        from mosaic_rllib.arguments import parameters_schema
        from mosaic_rllib.catalog import pair_fault

        schema = {"properties": {"algo_params": parameters_schema(self.algo)}}
        fault = pair_fault(self.algo, self.env_id)
        return validate_config(schema, asdict(self)) + ([fault] if fault else [])
