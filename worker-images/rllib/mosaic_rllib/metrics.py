"""RLlib's results in the words that all workers share."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

#: RLlib's name of a learner's value, and ours.
_SHARED = {
    "policy_loss": "loss/policy",
    "vf_loss": "loss/value",
    "qf_loss": "loss/q",
    "total_loss": "loss/total",
    "entropy": "entropy",
    "mean_kl_loss": "approx_kl",
    "vf_explained_var": "explained_variance",
    "default_optimizer_learning_rate": "learning_rate",
}
#: What an algorithm calls otherwise: SAC has an actor and critics, IMPALA tells sums over the batch beside means.
_OF_ALGO = {
    "sac": {
        "policy_loss": "loss/actor",
        "qf_loss": "loss/critic",
        "alpha_loss": "loss/alpha",
        "policy_learning_rate": "learning_rate",
    },
    "impala": {"mean_pi_loss": "loss/policy", "mean_vf_loss": "loss/value", "vf_loss": "rllib/vf_loss"},
}
#: Of all learners together; the sums of their parts are told anyway.
_TOGETHER = "__all_modules__"
_SINGLE = "default_policy"
#: RLlib's count of the steps a policy was trained on in an iteration.
_TRAINED = "num_module_steps_trained"
#: Counters of RLlib's own bookkeeping, which nobody plots.
_BOOKKEEPING = re.compile(r"num_|weights_seq_no|module_train_batch_size|diff_num_")


class TrainingDiverged(RuntimeError):
    """A loss is no number any more, and no step can bring it back."""


def learner_metrics(algo: str, result: Mapping[str, Any]) -> dict[str | None, dict[str, float]]:
    """Return the values of each policy; the only policy of a single agent is called None."""
    names = _SHARED | _OF_ALGO.get(algo, {})
    found: dict[str | None, dict[str, float]] = {}
    for module, values in sorted(result.get("learners", {}).items()):
        if module != _TOGETHER and isinstance(values, Mapping):
            policy = None if module == _SINGLE else str(module)
            found[policy] = {names.get(name, f"rllib/{name}"): value for name, value in _numbers_in(values)}
    return {policy: values for policy, values in found.items() if values}


def broken_losses(algo: str, result: Mapping[str, Any]) -> list[str]:
    """Return the losses of trained policies that are no numbers; RLlib also says NaN of what was not measured."""
    learners = result.get("learners", {})
    return [
        f"{name} of {policy}" if policy else name
        for policy, values in learner_metrics(algo, result).items()
        if float(learners[policy or _SINGLE].get(_TRAINED) or 0) > 0
        for name, value in values.items()
        if name.startswith("loss/") and not math.isfinite(value)
    ]


def measured(values: Mapping[str, float]) -> dict[str, float]:
    """Return what can be plotted."""
    return {name: value for name, value in values.items() if math.isfinite(value)}


def divergence(losses: Sequence[str], step: int, iteration: int) -> TrainingDiverged:
    """Return the sentence for *losses* that are no numbers; RLlib itself would go on without learning."""
    return TrainingDiverged(
        f"{', '.join(losses)} became NaN by step {step} (iteration {iteration}), so nothing more can be learned; "
        "lower the learning rate, set grad_clip, or look at the rewards of the environment"
    )


def _numbers_in(values: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    # RLlib's order depends on the hashes of names, which differ from process to process.
    for name, value in sorted(values.items()):
        try:
            number = float(value)
        except (TypeError, ValueError):
            continue
        if not isinstance(value, bool) and not _BOOKKEEPING.match(name):
            yield str(name), number
