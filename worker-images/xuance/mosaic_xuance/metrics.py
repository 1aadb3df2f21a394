"""XuanCe's metrics by the names that all workers share."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

#: XuanCe's names of a metric and the one that all libraries share.
_SHARED_NAMES = {
    **dict.fromkeys(("actor_loss", "loss_actor", "ploss", "p_loss"), "loss/actor"),
    **dict.fromkeys(("critic_loss", "loss_critic"), "loss/critic"),
    **dict.fromkeys(("qloss", "q_loss", "loss_q", "loss_qmix", "loss_td"), "loss/q"),
    **dict.fromkeys(("pg_loss", "policy_loss"), "loss/policy"),
    **dict.fromkeys(("vf_loss", "value_loss"), "loss/value"),
    "alpha_loss": "loss/alpha",
    "loss": "loss/total",
    "entropy_loss": "loss/entropy",
    "entropy": "entropy",
    "kl": "approx_kl",
    "clip_ratio": "clip_fraction",
    **dict.fromkeys(("learning_rate", "actor_lr", "learning_rate_actor"), "learning_rate"),
    **dict.fromkeys(("critic_lr", "learning_rate_critic"), "learning_rate/critic"),
    "epsilon_greedy": "epsilon",
}
#: What other libraries call the losses of an algorithm that learns from its own newest play.
_ON_POLICY = {"loss/actor": "loss/policy", "loss/critic": "loss/value"}
#: The critic of an actor estimates Q as well, but its loss is known as the critic's.
_WITH_ACTOR = {"loss/q": "loss/critic"}
_ACTOR_RATES = frozenset({"actor_lr", "learning_rate_actor"})


def shared_metrics(told: Mapping[str, Any], *, on_policy: bool) -> dict[str, float]:
    """Translate XuanCe's *told* into shared names; a metric of several agents becomes their mean.

    XuanCe writes ``Qloss/rank_0``, ``actor-loss`` or ``agent_1/loss_critic`` for what others call
    ``loss/q``, ``loss/actor`` and ``loss/critic``. What has no shared name keeps its own behind ``xuance/``.
    """
    has_actor = any(_plain(name) in _ACTOR_RATES for name in told)
    renamed = _ON_POLICY if on_policy else _WITH_ACTOR if has_actor else {}
    grouped: dict[str, list[float]] = {}
    for name, value in told.items():
        number = _number(value)
        if number is not None:
            shared = _SHARED_NAMES.get(_plain(name)) or f"xuance/{_own_name(name)}"
            grouped.setdefault(renamed.get(shared, shared), []).append(number)
    return {name: fmean(values) if len(values) > 1 else values[0] for name, values in grouped.items()}


def _plain(name: str) -> str:
    return _own_name(name).lower().replace("-", "_")


def _own_name(name: str) -> str:
    """Return XuanCe's *name* without the agent before it and the process behind it."""
    return [part for part in name.split("/") if not part.startswith("rank_")][-1]


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
