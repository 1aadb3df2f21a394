"""What was learned, without Ray around it: observation in, action out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.utils.save_video import save_video
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModule
from ray.rllib.utils.spaces.space_utils import unsquash_action

from mosaic.worker.library import environments
from mosaic.worker.library.evaluation import PlayedEpisode
from mosaic.worker.library.rng import seed_everything
from mosaic.worker.library.trainer import LONGEST_EPISODE, Policy
from mosaic_rllib.catalog import is_multi_agent
from mosaic_rllib.config import RLlibConfig
from mosaic_rllib.environments import make_parallel, make_single

#: Where RLlib keeps the networks inside its state.
_NETWORKS = Path("learner_group", "learner", "rl_module")
_FRAMES_PER_S = 15
#: The policy that all agents share.
SHARED = "shared"


def shared_policy(_agent: Any, *_others: Any, **_more: Any) -> str:
    """Return the policy that acts for every agent."""
    return SHARED


def own_policy(agent: Any, *_others: Any, **_more: Any) -> str:
    """Return the policy that acts for *agent* alone."""
    return str(agent)


def load_networks(directory: Path) -> Any:
    """Return the networks out of what RLlib saved in *directory*."""
    return MultiRLModule.from_checkpoint(directory / _NETWORKS)


def make_policy(config: RLlibConfig, networks: Any, step: int, videos: Path | None) -> Policy:
    """Return *networks* as they were learned by *step*, as one agent or a team; *videos* is where to film them."""
    render_mode = None if videos is None else "rgb_array"
    rescale = bool(config.algo_params.get("normalize_actions", True))
    drawn_at = step if config.eval_policy == "sample" else None
    if is_multi_agent(config.env_id):
        team = make_parallel(config.env_id, config.env_kwargs, render_mode=render_mode)
        spaces = {agent: team.action_space(agent) for agent in team.possible_agents}
        return Team(team, Actor(networks, spaces, rescale=rescale, drawn_at=drawn_at), videos)
    env = make_single(config.env_id, config.env_kwargs, render_mode=render_mode)
    env = environments.watched(env, config.env_id, None)
    env = env if videos is None else environments.filmed(env, videos)
    return Single(env, Actor(networks, {"": env.action_space}, rescale=rescale, drawn_at=drawn_at))


class Actor:
    """Takes the action that the networks find best, or draws one as in training."""

    def __init__(
        self,
        networks: Any,
        action_spaces: Mapping[str, gymnasium.Space[Any]],
        *,
        rescale: bool,
        drawn_at: int | None = None,
    ) -> None:
        """Act by *networks*; *rescale* as RLlib's ``normalize_actions``.

        With *drawn_at* actions are drawn as the training does at that step, which decides how far DQN explores.
        """
        self._networks = networks
        self._spaces = action_spaces
        self._rescale = rescale
        self._drawn_at = drawn_at
        self._memories: dict[str, Any] = {}

    def begin_episode(self) -> None:
        """Forget what was seen before."""
        self._memories.clear()

    def action(self, observation: Any, agent: str = "", mask: Any = None) -> Any:
        """Return what *agent* does; *mask* marks the actions that are allowed, None allows all."""
        network = self._network_of(agent)
        row = _tensor(np.asarray(observation, dtype=np.float32), network).unsqueeze(0)
        batch = {Columns.OBS: row.unsqueeze(1) if network.is_stateful() else row} | self._memory(agent, network)
        with torch.no_grad():
            told = self._asked(network, batch)
        if network.is_stateful():
            self._memories[agent] = told[Columns.STATE_OUT]
        return self._acted(self._chosen(network, told, mask), agent)

    def _asked(self, network: Any, batch: Mapping[str, Any]) -> Mapping[str, Any]:
        told: Mapping[str, Any] = (
            network.forward_inference(batch)
            if self._drawn_at is None
            else network.forward_exploration(batch, t=self._drawn_at)
        )
        return told

    def _network_of(self, agent: str) -> Any:
        names = list(self._networks.keys())
        return self._networks[names[0] if len(names) == 1 else own_policy(agent)]

    def _memory(self, agent: str, network: Any) -> dict[str, Any]:
        if not network.is_stateful():
            return {}
        fresh = {name: _tensor(value, network).unsqueeze(0) for name, value in network.get_initial_state().items()}
        return {Columns.STATE_IN: self._memories.get(agent, fresh)}

    def _chosen(self, network: Any, told: Mapping[str, Any], mask: Any) -> Any:
        if Columns.ACTIONS in told:
            return told[Columns.ACTIONS].cpu().numpy().reshape(-1)[0]
        inputs = told[Columns.ACTION_DIST_INPUTS]
        inputs = inputs[:, -1] if inputs.dim() == 3 else inputs
        if mask is not None:
            allowed = torch.as_tensor(np.asarray(mask, dtype=bool), device=inputs.device).unsqueeze(0)
            inputs = inputs.masked_fill(~allowed, float("-inf"))
        if self._drawn_at is not None:
            return network.get_exploration_action_dist_cls().from_logits(inputs).sample().cpu().numpy()[0]
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


class Single(Policy):
    """One agent in an environment of Gymnasium."""

    def __init__(self, env: Any, actor: Actor) -> None:
        self.env = env
        self._actor = actor

    def begin_episode(self) -> None:
        """Forget what was seen before."""
        self._actor.begin_episode()

    def act(self, observation: Any, mask: Any = None) -> Any:
        """Return the action for one *observation*."""
        return self._actor.action(observation, mask=mask)


class Team(Policy):
    """Agents that act together in an environment of PettingZoo."""

    def __init__(self, team: Any, actor: Actor, videos: Path | None) -> None:
        self._team = team
        self._actor = actor
        self._videos = videos

    def act(self, observation: Any, mask: Any = None) -> Any:
        """Refuse to act for nobody in particular."""
        raise TypeError("a team acts together: play an episode")

    def play(self, seed: int, obey: Callable[[], None]) -> PlayedEpisode:
        """Play one episode; the first is filmed."""
        self._actor.begin_episode()
        film: list[Any] | None = None if self._videos is None else []
        played = self._played(seed, obey, film)
        if film:
            save_video(film, str(self._videos), lambda _number: True, fps=_FRAMES_PER_S, name_prefix="evaluation")
            self._videos = None
        return played

    def close(self) -> None:
        """Close the environment."""
        self._team.close()

    def _played(self, seed: int, obey: Callable[[], None], film: list[Any] | None) -> PlayedEpisode:
        env = self._team
        # Actions may be drawn, and some environments draw from what all share.
        seed_everything(seed)
        observations, _ = env.reset(seed=seed)
        returns = dict.fromkeys(env.possible_agents, 0.0)
        length, ends = 0, {}
        while env.agents and length < LONGEST_EPISODE:
            obey()
            actions = {agent: self._actor.action(seen, agent) for agent, seen in observations.items()}
            observations, rewards, ends, _, _ = env.step(actions)
            if film is not None:
                film.append(env.render())
            length += 1
            for agent, reward in rewards.items():
                returns[agent] += float(reward)
        is_terminated = bool(ends) and all(ends.values())
        return PlayedEpisode(seed, sum(returns.values()), length, is_terminated, not is_terminated, returns)


def _tensor(values: Any, network: Any) -> Any:
    """Return *values* where the *network* is, which learns on a GPU perhaps."""
    device = next((one.device for one in network.parameters()), "cpu")
    return torch.as_tensor(values, device=device)
