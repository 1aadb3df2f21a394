"""A trained policy without Ray around it: observation in, best action out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModule
from ray.rllib.utils.spaces.space_utils import unsquash_action

#: Where RLlib keeps the networks inside a checkpoint of an algorithm.
_NETWORKS = Path("learner_group", "learner", "rl_module")
#: The policy that all agents share.
SHARED = "shared"


def shared_policy(_agent: Any, *_others: Any, **_more: Any) -> str:
    """Return the policy that acts for every agent."""
    return SHARED


def own_policy(agent: Any, *_others: Any, **_more: Any) -> str:
    """Return the policy that acts for *agent* alone."""
    return str(agent)


class GreedyPolicy:
    """Always takes the action that the networks find best.

    Networks with a memory begin an episode by `begin_episode`.
    """

    def __init__(self, directory: Path, action_spaces: Mapping[str, gymnasium.Space[Any]], *, rescale: bool) -> None:
        """Take the networks that RLlib saved in *directory*; *rescale* as its ``normalize_actions``."""
        self._networks = MultiRLModule.from_checkpoint(directory / _NETWORKS)
        self._spaces = action_spaces
        self._rescale = rescale
        self._memories: dict[str, Any] = {}

    def begin_episode(self) -> None:
        """Forget what was seen before."""
        self._memories.clear()

    def action(self, observation: Any, agent: str = "", mask: Any = None) -> Any:
        """Return what *agent* does; *mask* marks the actions that are allowed, None allows all."""
        network = self._network_of(agent)
        row = torch.as_tensor(np.asarray(observation, dtype=np.float32)).unsqueeze(0)
        batch = {Columns.OBS: row.unsqueeze(1) if network.is_stateful() else row} | self._memory(agent, network)
        with torch.no_grad():
            told = network.forward_inference(batch)
        if network.is_stateful():
            self._memories[agent] = told[Columns.STATE_OUT]
        return self._acted(self._chosen(network, told, mask), agent)

    def _network_of(self, agent: str) -> Any:
        names = list(self._networks.keys())
        if len(names) == 1:
            return self._networks[names[0]]
        return self._networks[own_policy(agent)]

    def _memory(self, agent: str, network: Any) -> dict[str, Any]:
        if not network.is_stateful():
            return {}
        fresh = {
            name: torch.as_tensor(np.asarray(value)).unsqueeze(0) for name, value in network.get_initial_state().items()
        }
        return {Columns.STATE_IN: self._memories.get(agent, fresh)}

    def _chosen(self, network: Any, told: Mapping[str, Any], mask: Any) -> Any:
        if Columns.ACTIONS in told:
            return told[Columns.ACTIONS].cpu().numpy().reshape(-1)[0]
        inputs = told[Columns.ACTION_DIST_INPUTS]
        inputs = inputs[:, -1] if inputs.dim() == 3 else inputs
        if mask is not None:
            allowed = torch.as_tensor(np.asarray(mask, dtype=bool)).unsqueeze(0)
            inputs = inputs.masked_fill(~allowed, float("-inf"))
        spread = network.get_inference_action_dist_cls().from_logits(inputs)
        return spread.to_deterministic().sample().cpu().numpy()[0]

    def _acted(self, chosen: Any, agent: str) -> Any:
        space = self._spaces[agent]
        if isinstance(space, gymnasium.spaces.Discrete):
            return int(chosen)
        if isinstance(space, gymnasium.spaces.Box):
            scaled = unsquash_action(chosen, space) if self._rescale else chosen
            return np.clip(scaled, space.low, space.high).astype(space.dtype)
        return chosen
