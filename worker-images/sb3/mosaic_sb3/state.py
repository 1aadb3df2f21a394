"""The whole state of a model between two rollouts, beside what the library's own file holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from mosaic.worker.library.snapshots import give_environments, give_replay, take_environments, take_replay

#: Counters without an underscore; those with one are all kept.
_COUNTERS = ("num_timesteps", "exploration_rate")
_OF_THIS_PROCESS = ("_logger", "_custom_logger", "_vec_normalize_env")


def take(model: Any, replay_limit_mb: int) -> dict[str, Any]:
    """Take counters, environments, the replay buffer unless it is too large, and metrics that were not told yet."""
    kept = (name for name in vars(model) if name.startswith("_") or name in _COUNTERS)
    _, names = model._get_torch_save_params()
    variables = {name: getattr(model, name) for name in names}
    is_off_policy = isinstance(model, OffPolicyAlgorithm)
    return {
        "attributes": {name: getattr(model, name) for name in kept if name not in _OF_THIS_PROCESS},
        "variables": {name: value.detach().cpu() for name, value in variables.items() if value is not None},
        "environments": take_environments(model.env),
        "replay": take_replay(model.replay_buffer, replay_limit_mb) if is_off_policy else None,
        "metrics": dict(model.logger.name_to_value),
    }


def give(model: Any, state: Mapping[str, Any]) -> list[str]:
    """Put *model*, freshly built, where *state* was taken; return what begins anew, in sentences."""
    for name, value in state["attributes"].items():
        setattr(model, name, value)
    for name, value in state["variables"].items():
        getattr(model, name).data.copy_(value)
    model.logger.name_to_value.update(state["metrics"])
    lost = []
    if not give_environments(model.env, state["environments"]):
        # Without a last observation the library begins new episodes itself, which must not be those of the run's seed.
        model._last_obs = None
        model.env.unwrapped._reset_seeds()
        lost.append("the state of these environments cannot be saved, so they begin new episodes")
    if isinstance(model, OffPolicyAlgorithm):
        if state["replay"] is not None:
            give_replay(model.replay_buffer, state["replay"])
        else:
            model.learning_starts += model.num_timesteps
            lost.append("the replay buffer was too large for the checkpoint and is filled anew")
    return lost
