"""The settings of one run."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from mosaic.worker.library.config import ReplaySettings
from mosaic.worker.schema import setting
from mosaic_sb3.algorithms import NAMES, find_algorithm


@dataclass(frozen=True)
class SB3Config(ReplaySettings):
    """What a user may set; every fault is reported before anything starts."""

    policy: str | None = setting(
        None,
        "The kind of network, e.g. MlpPolicy or CnnPolicy; null = by what the environment shows",
        pattern="^(Mlp|Cnn|MultiInput)(Lstm)?Policy$",
    )
    metrics_every: int = setting(500, "Least number of steps between two points of each metric", minimum=1)

    @property
    def policy_name(self) -> str:
        """The kind of network, as far as it does not depend on what is shown."""
        return self.policy or ("MlpLstmPolicy" if self.algo == "recurrent_ppo" else "MlpPolicy")

    @classmethod
    def algorithms(cls) -> Collection[str]:
        """Return the names of the algorithms."""
        return NAMES

    @classmethod
    def parameters_taken(cls, algo: str) -> Collection[str]:
        """Return the arguments of the algorithm's class."""
        return find_algorithm(algo).parameters if algo in NAMES else ()

    def library_faults(self) -> list[str]:
        """Ask the installed algorithm."""
        from mosaic_sb3.schema import parameters_schema

        return self.parameter_faults(parameters_schema(find_algorithm(self.algo)))
