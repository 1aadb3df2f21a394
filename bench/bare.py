"""The libraries without us: what a worker's ``--dry-run`` says it would execute, executed by hand.

Run by the interpreter of a worker's environment, ``python bare.py LIBRARY PLAN STEPS``, so nothing of the platform is
imported. Every finished episode is one line, ``episode STEP``.
"""

from __future__ import annotations

import json
import os
import sys
from types import SimpleNamespace
from typing import Any


def tell(step: int) -> None:
    """Say that an episode ended at *step*."""
    print(f"episode {step}", flush=True)


def xuance(plan: str, _steps: int) -> None:
    """Build the agent of the plan's arguments and train it."""
    import torch
    from xuance.common import BaseCallback
    from xuance.environment import make_envs
    from xuance.torch.agents import REGISTRY_Agents

    class Teller(BaseCallback):
        def on_train_episode_info(self, **told: Any) -> None:
            tell(told["current_step"])

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    told = json.loads(plan)
    arguments = SimpleNamespace(**told["arguments"])
    agent = REGISTRY_Agents[told["agent"]](arguments, make_envs(arguments), callback=Teller())
    agent.train(told["train_steps"])
    agent.finish()


def rllib(plan: str, steps: int) -> None:
    """Build the algorithm that the plan is the code of, on a Ray of its own, and train it to *steps*."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONWARNINGS": "ignore"}
    import gymnasium
    import ray
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.callbacks.callbacks import RLlibCallback
    from ray.tune.registry import register_env

    class Teller(RLlibCallback):
        played = 0

        def on_episode_end(self, *, episode: Any, **_others: Any) -> None:
            Teller.played += episode.t
            tell(Teller.played)

    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    register_env("mosaic-environment", lambda told: gymnasium.make(told["env_id"], **told["env_kwargs"]))
    algorithm = eval(plan, {"PPOConfig": PPOConfig}).callbacks(Teller).build_algo()
    while algorithm.train()["env_runners"]["num_env_steps_sampled_lifetime"] < steps:
        pass
    ray.shutdown()


if __name__ == "__main__":
    library, plan, steps = sys.argv[1:]
    {"xuance": xuance, "rllib": rllib}[library](plan, int(steps))
    sys.stdout.flush()
    os._exit(0)
