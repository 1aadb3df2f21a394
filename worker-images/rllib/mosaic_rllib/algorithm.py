"""RLlib's algorithm as a run uses it: built from a plan, begun anew, saved and restored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.tune.registry import get_trainable_cls, register_env
from ray.tune.trainable import trainable

from mosaic.errors import BadInput
from mosaic.worker.library.rng import seed_everything
from mosaic_rllib.arguments import arguments_of
from mosaic_rllib.callbacks import EpisodeReporter
from mosaic_rllib.environments import make_for_rllib
from mosaic_rllib.plan import ENVIRONMENT, Plan
from mosaic_rllib.policy import SHARED, own_policy, shared_policy

#: A file of ours beside RLlib's: what its own checkpoints leave out.
_FORGOTTEN = "kl_coefficients.json"


def algorithm_config(plan: Plan, agents: Sequence[str], policies: str) -> AlgorithmConfig:
    """Carry out *plan*; *agents* is empty where there is only one.

    Raises:
        BadInput: RLlib refuses an argument.

    """
    settings = _default_config(plan.algo).framework("torch")
    with _refusals():
        for method, arguments in plan.calls.items():
            if arguments:
                getattr(settings, method)(**arguments)
    settings.callbacks(EpisodeReporter)
    if agents and policies == "shared":
        settings.multi_agent(policies={SHARED}, policy_mapping_fn=shared_policy)
    elif agents:
        settings.multi_agent(policies=set(agents), policy_mapping_fn=own_policy)
    return settings


def arguments_in(settings: AlgorithmConfig, algo: str) -> dict[str, Any]:
    """Return what can be told to *algo*, with the values that *settings* have for it."""
    found = {name: getattr(settings, name) for name in arguments_of(algo) if hasattr(settings, name)}
    return found | {"model_config": asdict(DefaultModelConfig()) | found["model_config"]}


def usual_arguments(algo: str) -> dict[str, Any]:
    """Return the same with RLlib's own values."""
    return arguments_in(_default_config(algo), algo)


def build_algorithm(settings: AlgorithmConfig, seed: int, scratch: Path) -> Algorithm:
    """Build the algorithm; Ray must be running. What RLlib thinks it must write down goes to *scratch*.

    Raises:
        BadInput: RLlib refuses an argument.

    """
    seed_everything(seed)
    register_env(ENVIRONMENT, make_for_rllib)
    # The only way to keep it from leaving directories in the home of the user.
    trainable.DEFAULT_STORAGE_PATH = str(scratch / "ray_results")
    with _refusals():
        settings.validate()
        algorithm = settings.build_algo()
    _seed_buffer(algorithm, seed)
    return algorithm


def begin_anew(algorithm: Algorithm, seed: int) -> None:
    """Begin new episodes and a new stream of chance, both following from *seed*.

    Done at every checkpoint and after every restore, so that a continuation is what the run itself would have done,
    and does not play the beginning of the run again.
    """
    seed_everything(seed)
    algorithm.env_runner_group.foreach_env_runner(partial(_reseed, seed=seed))
    _seed_buffer(algorithm, seed)


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


def _default_config(algo: str) -> AlgorithmConfig:
    return get_trainable_cls(algo.upper()).get_default_config()


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, NotImplementedError) as error:
        raise BadInput("algo_params", [f"RLlib refuses them: {str(error).strip()}"]) from error


def _reseed(runner: Any, *, seed: int) -> None:
    own = seed + int(runner.worker_index or 0)
    seed_everything(own)
    # What its own constructor does; there is no other way to begin anew in the middle of a run.
    runner._seed = own
    runner._needs_initial_reset = True


def _seed_buffer(algorithm: Algorithm, seed: int) -> None:
    # RLlib draws from it by a generator that it never seeds.
    if algorithm.local_replay_buffer is not None:
        algorithm.local_replay_buffer.rng = np.random.default_rng(seed)


def _kl_coefficients(algorithm: Algorithm) -> Any:
    """Return PPO's weights of the KL loss, which it adapts as it goes; other algorithms have none."""
    learner = getattr(algorithm.learner_group, "_learner", None)
    return getattr(learner, "curr_kl_coeffs_per_module", {})
