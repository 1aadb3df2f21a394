"""RLlib's algorithm as a run uses it: built from a plan, trained by iterations, saved and restored."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.tune.registry import get_trainable_cls, register_env
from ray.tune.trainable import trainable

from mosaic.errors import BadInput
from mosaic_rllib.callbacks import EpisodeReporter
from mosaic_rllib.environments import make_for_rllib
from mosaic_rllib.plan import ENVIRONMENT, Plan
from mosaic_rllib.policy import SHARED, own_policy, shared_policy

#: A file of ours beside RLlib's: what its own checkpoints leave out.
_FORGOTTEN = "kl_coefficients.json"


def build_algorithm(plan: Plan, agents: Sequence[str], policies: str, seed: int, scratch: Path) -> Algorithm:
    """Build the algorithm; Ray must be running. What RLlib thinks it must write down goes to *scratch*.

    Raises:
        BadInput: RLlib refuses an argument.

    """
    _seed_everything(seed)
    register_env(ENVIRONMENT, make_for_rllib)
    # The only way to keep it from leaving directories in the home of the user.
    trainable.DEFAULT_STORAGE_PATH = str(scratch / "ray_results")
    try:
        settings = algorithm_config(plan, agents, policies)
        settings.validate()
        algorithm = settings.build_algo()
    except (ValueError, TypeError, NotImplementedError) as error:
        raise BadInput("algo_params", [f"RLlib refuses them: {str(error).strip()}"]) from error
    _seed_buffer(algorithm, seed)
    return algorithm


def algorithm_config(plan: Plan, agents: Sequence[str], policies: str) -> AlgorithmConfig:
    """Carry out *plan*; *agents* is empty where there is only one."""
    settings = get_trainable_cls(plan.algo.upper()).get_default_config().framework("torch")
    for method, arguments in plan.calls.items():
        if arguments:
            getattr(settings, method)(**arguments)
    settings.callbacks(EpisodeReporter)
    if agents and policies == "shared":
        settings.multi_agent(policies={SHARED}, policy_mapping_fn=shared_policy)
    elif agents:
        settings.multi_agent(policies=set(agents), policy_mapping_fn=own_policy)
    return settings


def begin_anew(algorithm: Algorithm, seed: int) -> None:
    """Begin new episodes and a new stream of chance, both following from *seed*.

    Done at every checkpoint and after every restore, so that a continuation is what the run itself would have done,
    and does not play the beginning of the run again.
    """
    _seed_everything(seed)
    algorithm.env_runner_group.foreach_env_runner(partial(_reseed, seed=seed))
    _seed_buffer(algorithm, seed)


def _reseed(runner: Any, *, seed: int) -> None:
    own = seed + int(runner.worker_index or 0)
    _seed_everything(own)
    # What its own constructor does; there is no other way to begin anew in the middle of a run.
    runner._seed = own
    runner._needs_initial_reset = True


def _seed_buffer(algorithm: Algorithm, seed: int) -> None:
    # RLlib draws from it by a generator that it never seeds.
    if algorithm.local_replay_buffer is not None:
        algorithm.local_replay_buffer.rng = np.random.default_rng(seed)


def _seed_everything(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def iterate(algorithm: Algorithm, plan: Plan) -> Mapping[str, Any]:
    """Run one iteration and return RLlib's result."""
    # Torch keeps the number per thread, and this may be another one each time.
    torch.set_num_threads(plan.learner_threads)
    result: Mapping[str, Any] = algorithm.train()
    return result


def release(algorithm: Algorithm) -> None:
    """End the processes that play, so that nobody waits for them any more; the algorithm is of no use then."""
    if algorithm.env_runner_group is not None:
        algorithm.env_runner_group._worker_manager.clear()


def env_steps(result: Mapping[str, Any]) -> int:
    """Return how many environment steps the run has taken, by the *result* of an iteration."""
    return int(result.get("env_runners", {}).get("num_env_steps_sampled_lifetime") or 0)


def save(algorithm: Algorithm, directory: Path) -> None:
    """Let RLlib save all of its state into *directory*, and add what it forgets."""
    algorithm.save_to_path(str(directory.resolve()))
    coefficients = {str(name): float(value) for name, value in _kl_coefficients(algorithm).items()}
    (directory / _FORGOTTEN).write_text(json.dumps(coefficients), encoding="utf-8")


def restore(algorithm: Algorithm, directory: Path) -> None:
    """Let RLlib take up what it saved in *directory*: networks, optimisers, counters and schedules."""
    algorithm.restore_from_path(str(directory.resolve()))
    ours = _kl_coefficients(algorithm)
    for name, value in json.loads((directory / _FORGOTTEN).read_text(encoding="utf-8")).items():
        ours[name].data.fill_(value)


def _kl_coefficients(algorithm: Algorithm) -> Any:
    """Return PPO's weights of the KL loss, which it adapts as it goes; other algorithms have none."""
    learner = getattr(algorithm.learner_group, "_learner", None)
    return getattr(learner, "curr_kl_coeffs_per_module", {})
