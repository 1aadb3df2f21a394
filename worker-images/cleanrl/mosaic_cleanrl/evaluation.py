"""A trained policy, rebuilt from a checkpoint with the script's own networks and environment, and played."""

from __future__ import annotations

import inspect
import os
import runpy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mosaic.errors import BadInput
from mosaic.worker import TelemetryEmitter
from mosaic.worker.evaluation import Listener, PlayedEpisode, tell_evaluation
from mosaic_cleanrl.checkpoint import Checkpoint, load
from mosaic_cleanrl.environments import hooked_environments
from mosaic_cleanrl.scripts import Script, find_script
from mosaic_cleanrl.state import give_layer, layers_of
from mosaic_cleanrl.training import Episode

#: Which of a script's networks acts, best first.
_ACTING = ("agent", "actor", "q_network")


@dataclass
class Spectator:
    """Watches a policy play; nothing is learned."""

    script: Script
    renders: bool = False
    is_interrupted: bool = False
    episodes: list[Episode] = field(default_factory=list)
    step: int = 0

    def obey_soon(self) -> None:
        """Go on: whoever lets it play asks between the steps."""

    def episode_ended(self, episode: Episode) -> None:
        """Keep the episode."""
        self.episodes.append(episode)


class TrainedPolicy:
    """The policy of a checkpoint and one environment as its script would make it.

    Policies that are distributions are sampled, as CleanRL's own evaluation does, except where the script
    names a mean action. An episode follows from its seed alone.
    """

    def __init__(self, path: Path, run_dir: Path, *, capture_video: bool = False) -> None:
        """Rebuild the policy.

        Raises:
            BadInput: the checkpoint is none, or of a script whose policy cannot act by itself.

        """
        kept = load(path)
        self.env_id = kept.env_id
        self.step_saved = kept.step
        self._spectator = Spectator(find_script(kept.script), capture_video)
        run_dir.mkdir(parents=True, exist_ok=True)
        os.chdir(run_dir)
        with hooked_environments(self._spectator):
            parts = runpy.run_module(self._spectator.script.module, run_name="cleanrl_policy")
            self._envs = _make_envs(parts, kept, capture_video)
        self._recorder = next(layer for layer in layers_of(self._envs) if "tally" in vars(layer))
        self._normaliser = _restored_normaliser(self._envs, kept)
        self._act = _acting(_network(parts, self._envs, kept), str(path))
        self._batch: Any = None
        self._shown: Any = None

    @property
    def episodes(self) -> Sequence[Episode]:
        """The episodes played to their end so far."""
        return self._spectator.episodes

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; the policy's own chance follows from *seed* as well."""
        if seed is not None:
            torch.manual_seed(seed)
        answer = self._envs.reset(seed=None if seed is None else [seed])
        self._batch = answer[0] if isinstance(answer, tuple) else answer
        self._shown = self._batch[0]
        return self._shown, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act once; the reward is the environment's own, before any scaling."""
        self._batch = self._envs.step(np.asarray(action)[None])[0]
        self._shown = self._batch[0]
        _, reward, terminated, truncated, _ = self._recorder.last_result
        return self._shown, float(reward), bool(terminated), bool(truncated), {}

    def act_once(self, observation: Any, _action_mask: Any = None) -> Any:
        """Return the policy's action for one observation, this environment's or a caller's."""
        if observation is self._shown:
            batch = self._batch
        else:
            batch = np.asarray(observation, dtype=np.float32)[None]
            batch = batch if self._normaliser is None else np.clip(self._normaliser.normalize(batch), -10, 10)
        with torch.no_grad():
            action: Any = self._act(torch.Tensor(batch)).cpu().numpy()[0]
        return action

    def play(self, seed: int, obey: Callable[[], None]) -> Episode:
        """Play one episode to its end; *obey* is called before every step and may raise to end it there."""
        before = len(self._spectator.episodes)
        observation, _ = self.reset(seed=seed)
        while len(self._spectator.episodes) == before:
            obey()
            observation, *_ = self.step(self.act_once(observation))
        return self._spectator.episodes[-1]


def play_episodes(
    path: Path,
    seeds: Sequence[int],
    emitter: TelemetryEmitter,
    run_dir: Path,
    *,
    obey: Callable[[], None],
    also_tell: Listener,
    capture_video: bool = False,
) -> dict[str, Any]:
    """Play one episode per seed with the policy at *path*, tell of each, return rows and their summary.

    Raises:
        TrainingStopped: *obey* has said so.

    """
    policy = TrainedPolicy(path, run_dir, capture_video=capture_video)

    def played() -> Iterator[PlayedEpisode]:
        for seed in seeds:
            one = policy.play(seed, obey)
            yield PlayedEpisode(seed, one.episode_return, one.length, one.terminated, one.truncated)

    result = tell_evaluation(played(), emitter, policy.step_saved, also_tell)
    return {"checkpoint_step": policy.step_saved, **result}


def _make_envs(parts: Mapping[str, Any], kept: Checkpoint, capture_video: bool) -> Any:
    offered = {**kept.arguments, "idx": 0, "capture_video": capture_video, "run_name": "evaluation"}
    make_env: Callable[..., Any] = parts["make_env"]
    thunk = make_env(**{name: offered[name] for name in inspect.signature(make_env).parameters})
    return parts["gym"].vector.SyncVectorEnv([thunk])


def _network(parts: Mapping[str, Any], envs: Any, kept: Checkpoint) -> torch.nn.Module:
    saved = kept.state["modules"]
    name = next((name for name in _ACTING if name in saved), None)
    if name is None:
        raise BadInput("the checkpoint", [f"holds no policy that can act (it holds: {', '.join(saved) or 'nothing'})"])
    kind = parts[kept.state["classes"][name]]
    wanted = list(inspect.signature(kind).parameters)
    network: torch.nn.Module = kind(envs, **{one: kept.arguments[one] for one in wanted[1:] if one in kept.arguments})
    network.load_state_dict(saved[name])
    return network.eval()


def _acting(network: Any, source: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return how to ask *network* for actions; each family of scripts has its own way."""
    if hasattr(network, "get_states"):
        raise BadInput(source, ["is a recurrent policy, which cannot be evaluated here yet"])
    if hasattr(network, "get_action_and_value"):
        return lambda observations: network.get_action_and_value(observations)[0]
    if hasattr(network, "fc_logstd"):
        return lambda observations: network.get_action(observations)[2]
    if hasattr(network, "get_action"):
        return lambda observations: network.get_action(observations)[0]
    if hasattr(network, "action_scale"):
        return lambda observations: network(observations)
    return lambda observations: network(observations).argmax(dim=1)


def _restored_normaliser(envs: Any, kept: Checkpoint) -> Any:
    """Give a normalising wrapper the statistics of the training, and keep it from changing them."""
    for layer, taken in zip(layers_of(envs), kept.state["environments"], strict=False):
        if "obs_rms" in taken:
            give_layer(layer, {"obs_rms": taken["obs_rms"]})
            layer.obs_rms.update = lambda _batch: None
            return layer
    return None
