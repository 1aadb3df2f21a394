"""What RLlib is told for a run, as data: the same whether it is carried out or only shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from mosaic_rllib.arguments import arguments_of, default_of
from mosaic_rllib.config import RLlibConfig

#: The name under which RLlib knows the environment of the run.
ENVIRONMENT = "mosaic-environment"
#: A longer iteration would keep curves and the answer to a stop waiting.
_LONGEST_ITERATION_S = 2
#: Algorithms whose players and learner do not wait for each other, so that chance decides who is first.
ASYNCHRONOUS = frozenset({"impala", "appo"})
#: By default these look for new episodes without pause, which takes the cores from those who play them.
_PATIENT: Mapping[str, Any] = {"timeout_s_sampler_manager": 0.05}


@dataclass(frozen=True)
class Plan:
    """The calls that make the config of an algorithm, and what they need of the machine."""

    algo: str
    #: Keyword arguments by the method of RLlib's AlgorithmConfig that takes them.
    calls: Mapping[str, Mapping[str, Any]]
    cpus: int
    env_runners: int

    @property
    def ray_cpus(self) -> int:
        """How many CPUs Ray must believe in, so that every process of the plan finds its place."""
        learners = self.calls["learners"]
        helpers = learners["num_learners"] * (1 + learners.get("num_aggregator_actors_per_learner", 0))
        players = self.env_runners * int(self.calls["env_runners"].get("num_cpus_per_env_runner", 1))
        return max(self.cpus, 1 + players + int(helpers))

    @property
    def learner_threads(self) -> int:
        """How many threads are left for the process that learns."""
        return max(1, self.cpus - self.env_runners)

    def as_code(self) -> str:
        """Return the plan as the Python one would write by hand."""
        calls = (f".{method}({_written(arguments)})" for method, arguments in self.calls.items() if arguments)
        return f"{self.algo.upper()}Config()" + "".join(calls)


def make_plan(config: RLlibConfig, cpus: int, *, on_gpu: bool = False) -> Plan:
    """Say what RLlib is told for *config* on a lease of *cpus* cores, and of a GPU if it learns *on_gpu*."""
    runners = _env_runners(config, cpus)
    calls: dict[str, dict[str, Any]] = {
        "environment": {"env": ENVIRONMENT, "env_config": {"env_id": config.env_id, "env_kwargs": config.env_kwargs}},
        "env_runners": {"num_env_runners": runners},
        # A learner of its own process pays off only with several GPUs; one process less starts sooner.
        "learners": {"num_learners": 0, "num_gpus_per_learner": int(on_gpu)},
        "training": dict(_PATIENT) if config.algo in ASYNCHRONOUS else {},
        "reporting": _reporting(config.algo),
        # RLlib would restart a broken environment a thousand times, a minute apart.
        "fault_tolerance": {"restart_failed_env_runners": False},
        "rl_module": {},
        "debugging": {"seed": config.seed, "log_level": "ERROR"},
    }
    if config.num_envs is not None:
        calls["env_runners"]["num_envs_per_env_runner"] = config.num_envs
    for name, value in config.algo_params.items():
        calls[arguments_of(config.algo)[name].method][name] = value
    return Plan(config.algo, calls, cpus, runners)


def leased_cpus(environment: Mapping[str, str]) -> int:
    """Return how many cores the run may use: what the agent says, else all it is allowed to run on."""
    told = environment.get("OMP_NUM_THREADS", "")
    return int(told) if told.isdigit() and int(told) > 0 else len(os.sched_getaffinity(0))


def derived_seed(seed: int, step: int) -> int:
    """Return the seed of what follows *step*, unlike that of any other step."""
    return int.from_bytes(sha256(f"{seed}:{step}".encode()).digest()[:4], "big") >> 1


def _env_runners(config: RLlibConfig, cpus: int) -> int:
    if config.num_env_runners is not None:
        return config.num_env_runners
    wanted = default_of(config.algo, "num_env_runners") or 0
    # Without a process of its own to play in, an asynchronous algorithm has nobody to wait for.
    least = 1 if config.algo in ASYNCHRONOUS else 0
    return max(least, min(int(wanted), cpus - 1))


def _reporting(algo: str) -> dict[str, Any]:
    usual = default_of(algo, "min_time_s_per_iteration")
    return {} if not usual or usual <= _LONGEST_ITERATION_S else {"min_time_s_per_iteration": _LONGEST_ITERATION_S}


def _written(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())
