"""RLlib's results in the words that all workers share."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
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


def learner_metrics(algo: str, result: Mapping[str, Any]) -> dict[str | None, dict[str, float]]:
    """Return the values of each policy; the only policy of a single agent is called None.

    RLlib says NaN of what was not measured, which is left out; a loss of a policy that was trained is not.
    """
    names = _SHARED | _OF_ALGO.get(algo, {})
    found: dict[str | None, dict[str, float]] = {}
    for module, values in sorted(result.get("learners", {}).items()):
        if module != _TOGETHER and isinstance(values, Mapping):
            is_trained = float(values.get(_TRAINED) or 0) > 0
            told = ((names.get(name, f"rllib/{name}"), value) for name, value in _numbers_in(values))
            found[None if module == _SINGLE else str(module)] = {
                name: value for name, value in told if math.isfinite(value) or (is_trained and name.startswith("loss/"))
            }
    return {policy: values for policy, values in found.items() if values}


def _numbers_in(values: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    # RLlib's order depends on the hashes of names, which differ from process to process.
    for name, value in sorted(values.items()):
        try:
            number = float(value)
        except (TypeError, ValueError):
            continue
        if not isinstance(value, bool) and not _BOOKKEEPING.match(name):
            yield str(name), number
