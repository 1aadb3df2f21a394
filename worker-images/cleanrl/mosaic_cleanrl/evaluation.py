"""A trained policy, rebuilt with the script's own networks and environment, and played."""

from __future__ import annotations

import inspect
import runpy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.distributions.categorical import Categorical
from torch.distributions.normal import Normal

from mosaic.errors import BadInput
from mosaic.worker.library.evaluation import PlayedEpisode
from mosaic.worker.library.rng import seed_everything
from mosaic.worker.library.snapshots import give_layer, layers_of
from mosaic.worker.library.trainer import Policy
from mosaic_cleanrl.environments import Spectator, hooked_environments
from mosaic_cleanrl.scripts import Script

#: Which of a script's networks acts, best first.
_ACTING = ("agent", "actor", "q_network")


class PlayedAlone:
    """A script's vector of one environment, in Gymnasium's interface."""

    def __init__(self, envs: Any) -> None:
        self._envs = envs
        self._recorder = next(layer for layer in layers_of(envs) if "tally" in vars(layer))
        #: What was seen last: as the script would see it, and of this the one environment's part.
        self.batch: Any = None
        self.shown: Any = None

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        answer = self._envs.reset(seed=None if seed is None else [seed])
        return self._show(answer[0] if isinstance(answer, tuple) else answer), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act once; the reward is the environment's own, before any scaling."""
        self._show(self._envs.step(np.asarray(action)[None])[0])
        _, reward, terminated, truncated, _ = self._recorder.last_result
        return self.shown, float(reward), bool(terminated), bool(truncated), {}

    def close(self) -> None:
        """Close it."""
        self._envs.close()

    def _show(self, batch: Any) -> Any:
        self.batch, self.shown = batch, batch[0]
        return self.shown


class TrainedPolicy(Policy):
    """A policy and one environment as its script would make it, apart from those of any training.

    *is_greedy*, it takes the most likely action, or the mean; otherwise one that is drawn as in training. A policy
    that is no distribution always acts the same. An episode follows from its seed alone.
    """

    def __init__(
        self, script: Script, state: Mapping[str, Any], *, is_greedy: bool = True, capture_video: bool = False
    ) -> None:
        """Build the policy that *script* has learned and that `take_policy` has put into *state*.

        Raises:
            BadInput: the policy cannot act by itself.

        """
        arguments = state["arguments"]
        self._spectator = Spectator(script, renders=capture_video)
        with hooked_environments(self._spectator):
            parts = runpy.run_module(script.module, run_name="cleanrl_policy")
            envs = _make_envs(parts, arguments, capture_video)
        if is_greedy:
            # The script's functions find these where they would find torch's own.
            parts |= {name: kind for name, kind in _GREEDY.items() if name in parts}
        self.env: PlayedAlone = PlayedAlone(envs)
        self._normaliser = next((layer for layer in layers_of(envs) if "obs_rms" in vars(layer)), None)
        network = _network(parts, envs, arguments, state)
        self._act = _acting(network, script.name, is_greedy=is_greedy)
        network.load_state_dict(state["modules"][_acting_name(state)])
        self._take_statistics(state["environments"])

    def act(self, observation: Any, mask: Any = None) -> Any:
        """Return the policy's action for one observation, this environment's or a caller's."""
        if observation is self.env.shown:
            batch = self.env.batch
        else:
            batch = np.asarray(observation, dtype=np.float32)[None]
            batch = batch if self._normaliser is None else np.clip(self._normaliser.normalize(batch), -10, 10)
        with torch.no_grad():
            action: Any = self._act(torch.Tensor(batch)).cpu().numpy()[0]
        return action

    def play(self, seed: int, obey: Callable[[], None]) -> PlayedEpisode:
        """Play one episode to its end, as the bare environment counts: wrappers skip steps, and end lives."""
        seed_everything(seed)
        before = len(self._spectator.episodes)
        observation, _ = self.env.reset(seed=seed)
        while len(self._spectator.episodes) == before:
            obey()
            observation, *_ = self.env.step(self.act(observation))
        return PlayedEpisode(seed, **self._spectator.episodes[-1])

    def _take_statistics(self, environments: Sequence[Mapping[str, Any]]) -> None:
        learned = next((taken["obs_rms"] for taken in environments if "obs_rms" in taken), None)
        if self._normaliser is not None and learned is not None:
            give_layer(self._normaliser, {"obs_rms": learned})
            # What is played does not change what was learned.
            self._normaliser.obs_rms.update = lambda _batch: None


class _MostLikely(Categorical):  # type: ignore[misc]
    """Draws what is most likely."""

    def sample(self, sample_shape: Any = ()) -> torch.Tensor:
        """Return the most likely outcome, the first of several."""
        return self.logits.argmax(dim=-1)


class _Mean(Normal):  # type: ignore[misc]
    """Draws its mean."""

    def sample(self, sample_shape: Any = ()) -> torch.Tensor:
        """Return the mean."""
        return self.mean


#: What scripts draw actions from, by the names they have for it.
_GREEDY: Mapping[str, type] = {"Categorical": _MostLikely, "Normal": _Mean}


def _make_envs(parts: Mapping[str, Any], arguments: Mapping[str, Any], capture_video: bool) -> Any:
    offered = {**arguments, "idx": 0, "capture_video": capture_video, "run_name": "evaluation"}
    make_env: Callable[..., Any] = parts["make_env"]
    thunk = make_env(**{name: offered[name] for name in inspect.signature(make_env).parameters})
    return parts["gym"].vector.SyncVectorEnv([thunk])


def _acting_name(state: Mapping[str, Any]) -> str:
    saved = state["modules"]
    name = next((name for name in _ACTING if name in saved), None)
    if name is None:
        raise BadInput("the checkpoint", [f"holds no policy that can act (it holds: {', '.join(saved) or 'nothing'})"])
    return name


def _network(parts: Mapping[str, Any], envs: Any, arguments: Mapping[str, Any], state: Mapping[str, Any]) -> Any:
    kind = parts[state["classes"][_acting_name(state)]]
    wanted = list(inspect.signature(kind).parameters)
    network: torch.nn.Module = kind(envs, **{one: arguments[one] for one in wanted[1:] if one in arguments})
    return network.eval()


def _acting(network: Any, source: str, *, is_greedy: bool = True) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return how to ask *network* for actions; each family of scripts has its own way."""
    if hasattr(network, "get_states"):
        raise BadInput(source, ["is a recurrent policy, which cannot be evaluated here yet"])
    if hasattr(network, "get_action_and_value"):
        return lambda observations: network.get_action_and_value(observations)[0]
    if hasattr(network, "fc_logstd"):
        # It returns an action, its log-probability and the mean.
        return lambda observations: network.get_action(observations)[2 if is_greedy else 0]
    if hasattr(network, "get_action"):
        return lambda observations: network.get_action(observations)[0]
    if hasattr(network, "action_scale"):
        return lambda observations: network(observations)
    return lambda observations: network(observations).argmax(dim=1)
