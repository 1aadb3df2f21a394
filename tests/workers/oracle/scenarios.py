"""The runs that are compared with the formula: every library, alone and as a team, left alone and killed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic.client import Resources, RunSpec
from mosaic.worker.library.evaluation import evaluation_seeds
from tests.workers.oracle.expected import Expected, Habits, Plan, tell
from tests.workers.oracle.games.oracle_formula import EVALUATION_SEEDS, KILLED_IN

GAMES = Path(__file__).parent / "games"
SEED = 7

#: What a person names to train on an environment of their own, where the worker takes that.
OWN = "oracle_env:Oracle-v0"
#: Elsewhere `sitecustomize` puts the toy environment in the place of these.
CART_POLE, SPREAD = "CartPole-v1", "simple_spread_v3"


@dataclass(frozen=True)
class Series:
    """The episodes' returns among what a library writes for TensorBoard."""

    tag: str
    #: XuanCe says of a team's episode what its agents got on average, and names the step before.
    is_mean_of_agents: bool = False
    step_shift: int = 0


@dataclass(frozen=True)
class Library:
    """A worker, with settings so small that a run takes seconds."""

    worker: str
    config: Mapping[str, Any]
    habits: Habits
    tensorboard: Series | None = None


_RLLIB = {
    "algo": "ppo",
    "num_env_runners": 0,
    "num_envs": 1,
    "algo_params": {"train_batch_size_per_learner": 64, "minibatch_size": 64, "num_epochs": 1},
}
_RLLIB_HABITS = Habits(keeps_environment=False, begins_anew=True)

LIBRARIES: Mapping[str, Library] = {
    "reference": Library("reference", {"env_id": CART_POLE}, Habits(turn=0, keeps_environment=False)),
    "cleanrl": Library(
        "cleanrl",
        {
            "algo": "ppo",
            "env_id": OWN,
            "num_envs": 1,
            "algo_params": {"num_steps": 64, "num_minibatches": 1, "update_epochs": 1},
        },
        Habits(tells_mean_of_every_episode=True),
        Series("charts/episodic_return"),
    ),
    "xuance": Library(
        "xuance",
        {
            "algo": "ppo",
            "env_id": CART_POLE,
            "num_envs": 1,
            "algo_params": {"horizon_size": 64, "n_epochs": 1, "n_minibatch": 1},
        },
        Habits(),
        Series("Train-Episode-Rewards/rank_0", step_shift=-1),
    ),
    "xuance-team": Library(
        "xuance",
        {
            "algo": "mappo",
            "env_id": SPREAD,
            "num_envs": 1,
            "algo_params": {"buffer_size": 64, "n_epochs": 1, "n_minibatch": 1},
        },
        Habits(is_team=True),
        Series("Train-Results/Episode-Rewards/rank_0", is_mean_of_agents=True, step_shift=-1),
    ),
    "sb3": Library(
        "sb3",
        {"algo": "ppo", "env_id": OWN, "num_envs": 1, "algo_params": {"n_steps": 64, "n_epochs": 1}},
        Habits(),
        Series("episode_return"),
    ),
    "rllib": Library("rllib", {**_RLLIB, "env_id": OWN}, _RLLIB_HABITS, Series("episode_return")),
    "rllib-team": Library(
        "rllib",
        {**_RLLIB, "env_id": f"mpe/{SPREAD}"},
        Habits(is_team=True, keeps_environment=False, begins_anew=True),
        Series("episode_return"),
    ),
}

PLANS: Mapping[str, Plan] = {
    "whole": Plan(),
    # The checkpoint it goes on from is written where an evaluation was made, and fewer than a hundred episodes follow.
    "killed": Plan(total=576, eval_every=128, killed_in=85),
    "unjudged": Plan(eval_every=0, eval_episodes=0),
}


@dataclass(frozen=True)
class Scenario:
    """One run and what is expected of it."""

    name: str
    library: Library
    plan: Plan
    expected: Expected = field(compare=False)

    def submission(self) -> RunSpec:
        """Return what a person submits; the variables reach the environments through the worker."""
        plan = self.plan
        fields = self.library.config | {
            "total_steps": plan.total,
            "checkpoint_every": plan.checkpoint_every,
            "eval_every": plan.eval_every,
            "eval_episodes": plan.eval_episodes,
        }
        seeds = ",".join(map(str, evaluation_seeds(SEED, plan.eval_episodes)))
        variables = {EVALUATION_SEEDS: seeds}
        if self.library.worker in ("reference", "xuance", "sb3"):
            fields["metrics_every"] = plan.metrics_every
        if plan.killed_in is not None:
            variables[KILLED_IN] = str(plan.killed_in)
        return RunSpec(
            self.library.worker,
            fields,
            seed=SEED,
            name=self.name,
            environment=variables,
            resources=Resources(cpus=1.0),
        )


def _scenario(name: str, library: Library, kind: str) -> Scenario:
    plan = PLANS[kind]
    return Scenario(f"{name}-{kind}", library, plan, Expected(*tell(plan, library.habits)))


SCENARIOS: Mapping[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        *(_scenario(name, library, kind) for kind in ("whole", "killed") for name, library in LIBRARIES.items()),
        # Nothing that evaluates differs between libraries when nothing is evaluated.
        _scenario("reference", LIBRARIES["reference"], "unjudged"),
    )
}
