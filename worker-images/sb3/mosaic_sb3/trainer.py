"""Stable-Baselines3 as the template drives it: its own ``learn``, with a callback at every boundary."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from stable_baselines3.common.atari_wrappers import AtariWrapper
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecFrameStack

from mosaic.errors import BadInput
from mosaic.worker.library import environments
from mosaic.worker.library.checkpoints import dump, undump
from mosaic.worker.library.control import StopRequested
from mosaic.worker.library.trainer import Policy, Trainer
from mosaic_sb3.algorithms import find_algorithm
from mosaic_sb3.state import give, take

_MODEL, _STATE = "model.zip", "state.pt"
_FRAMES = 4

#: The library's names in the vocabulary that all workers share; what has none keeps its own behind ``sb3/``.
_METRIC_NAMES: Mapping[str, str] = {
    "train/learning_rate": "learning_rate",
    "train/value_loss": "loss/value",
    "train/policy_gradient_loss": "loss/policy",
    "train/policy_loss": "loss/policy",
    "train/entropy_loss": "entropy",
    "train/approx_kl": "approx_kl",
    "train/clip_fraction": "clip_fraction",
    "train/explained_variance": "explained_variance",
    "train/actor_loss": "loss/actor",
    "train/critic_loss": "loss/critic",
    "train/ent_coef_loss": "loss/alpha",
    "rollout/exploration_rate": "epsilon",
}
_VALUE_BASED = ("dqn", "qrdqn")


class WithMask(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Answers contrib's question for legal actions with what the environment said last; all where it says nothing."""

    def action_masks(self) -> Any:
        """Return which actions are legal now."""
        mask = self.get_wrapper_attr("info").get("action_mask")
        return np.ones(self.action_space.n, bool) if mask is None else np.asarray(mask, bool)  # type: ignore[attr-defined]


class Boundaries(BaseCallback):
    """Hands every point between two rollouts to the trainer; between these it only looks whether to stop."""

    def __init__(self, trainer: SB3Trainer) -> None:
        super().__init__()
        self._trainer = trainer

    def _on_rollout_start(self) -> None:
        self._trainer.at_boundary()

    def _on_step(self) -> bool:
        if self._trainer.training.control.is_interrupted:
            self._trainer.within_rollout(self.locals)
        return True


class SB3Trainer(Trainer):
    """One model of Stable-Baselines3 in its environments."""

    model: BaseAlgorithm
    _told: tuple[float, int]

    def build(self) -> Mapping[str, Any]:
        """Make environments and model."""
        config = self.config
        envs = self._make_envs(config.num_envs or 1)
        arguments = {**self._algorithm.defaults, **config.algo_params}
        try:
            self.model = self._class()(
                self._policy_name(envs),
                envs,
                seed=config.seed,
                device="cuda" if self.on_gpu else "cpu",
                **_as_objects(config.algo_params, envs),
            )
        except (ValueError, TypeError, AssertionError) as error:
            raise BadInput("algo_params", [f"Stable-Baselines3 refuses them: {error}"]) from error
        self.model.set_logger(Logger(None, []))
        self.training.live_step = lambda: self.model.num_timesteps + envs.num_envs
        self._told = time.monotonic(), 0
        return {**arguments, "policy": self._policy_name(envs)}

    def advance(self) -> None:
        """Learn by the library's own loop."""
        done = self.model.num_timesteps
        self._told = time.monotonic(), done
        if done < self.config.total_steps:
            self.model.learn(
                self.config.total_steps - done,
                callback=Boundaries(self),
                log_interval=None,  # type: ignore[arg-type]
                reset_num_timesteps=not done,
            )
            self._tell_metrics(is_last=True)
        self.training.note(self.model.num_timesteps)

    def at_boundary(self) -> None:
        """Tell of what was learned, then do what the template wants."""
        self._tell_metrics()
        self.training.boundary(self.model.num_timesteps)

    def within_rollout(self, scope: Mapping[str, Any]) -> None:
        """Hold or stop within a rollout that takes long; it is played anew by who goes on."""
        try:
            self.training.control.obey_soon()
        except StopRequested:
            model: Any = self.model
            model.num_timesteps = self.training.noted.step
            model._last_obs, model._last_episode_starts = scope["new_obs"], scope["dones"]
            raise

    def save(self, folder: Path) -> Sequence[str]:
        """Write the library's own model file, and beside it all that an exact continuation needs."""
        self.model.save(folder / _MODEL)
        state = take(self.model, self.config.replay_limit_mb)
        dump(state, folder / _STATE)
        return ["replay buffer"] if state["replay"] is None and isinstance(self.model, OffPolicyAlgorithm) else []

    def load(self, folder: Path) -> None:
        """Go on from what `save` wrote, with the settings of this run."""
        self.model.set_parameters(str(folder / _MODEL), exact_match=True, device=self.model.device)
        for lost in give(self.model, undump(folder / _STATE)):
            self.training.reporter.emitter.log(lost, "warning")

    def policy(self, folder: Path | None) -> Policy:
        """Return the model of a checkpoint, or of this training, in an environment of its own."""
        model = self.model if folder is None else self._class().load(folder / _MODEL, device="cpu")
        is_greedy = self.config.eval_policy == "greedy"
        return SB3Policy(model, self._make_envs(1, is_played=True), is_greedy=is_greedy)

    def close(self) -> None:
        """Close the environments."""
        if self.model.env is not None:
            self.model.env.close()

    @property
    def _algorithm(self) -> Any:
        return find_algorithm(self.config.algo)

    def _class(self) -> Any:
        return getattr(import_module(self._algorithm.package), self._algorithm.name)

    def _make_envs(self, count: int, *, is_played: bool = False) -> VecEnv:
        envs: VecEnv = DummyVecEnv([lambda: self._make_env(is_played=is_played) for _ in range(count)])
        return VecFrameStack(envs, _FRAMES) if environments.is_atari(self.config.env_id) else envs

    def _make_env(self, *, is_played: bool) -> Any:
        env_id, is_filmed = self.config.env_id, is_played and self.config.capture_video
        # The wrapper of Atari skips frames, so the game must not.
        options = {"frameskip": 1} if env_id.startswith("ALE/") else {}
        env = environments.make(env_id, **options, **({"render_mode": "rgb_array"} if is_filmed else {}))
        able = self._algorithm.action_spaces
        environments.check_actions(env, env_id, self.config.algo, able[0] if len(able) == 1 else None)
        env = environments.filmed(env, self.run_dir / "videos") if is_filmed else env
        env = environments.watched(env, env_id, None if is_played else self.training)
        if environments.is_atari(env_id):
            env = AtariWrapper(env, terminal_on_life_loss=not is_played, clip_reward=not is_played)
        env = environments.as_array(env, env_id)
        return WithMask(env) if self.config.algo == "maskable_ppo" else env

    def _policy_name(self, envs: VecEnv) -> str:
        is_picture = is_image_space(envs.observation_space) and min(envs.observation_space.shape[:2]) >= 36  # type: ignore[index]
        named: str = self.config.policy_name
        return named.replace("Mlp", "Cnn") if is_picture and self.config.policy is None else named

    def _tell_metrics(self, *, is_last: bool = False) -> None:
        every, step, (since, step_then) = self.config.metrics_every, self.model.num_timesteps, self._told
        if step == step_then or not (is_last or step // every > step_then // every):
            return
        now = time.monotonic()
        values = self.model.logger.name_to_value
        told = {self._shared(name): _number(name, value) for name, value in values.items() if _is_number(value)}
        if isinstance(rate := getattr(self.model, "exploration_rate", None), float):
            told["epsilon"] = rate
        speed = (step - step_then) / max(now - since, 1e-9)
        self.training.metrics({**told, **self.training.progress.metrics, "steps_per_s": speed}, step)
        values.clear()
        self._told = now, step

    def _shared(self, name: str) -> str:
        if name == "train/loss" and self.config.algo in _VALUE_BASED:
            return "loss/q"
        return _METRIC_NAMES.get(name) or f"sb3/{name.rpartition('/')[2]}"


class SB3Policy(Policy):
    """A model that only acts, in a vector of one environment."""

    def __init__(self, model: Any, envs: VecEnv, *, is_greedy: bool) -> None:
        self.env = PlayedAlone(envs)
        self._model = model
        self._is_greedy = is_greedy
        self._memory: Any = None
        self._is_first = True

    def begin_episode(self) -> None:
        """Forget what was seen."""
        self._memory, self._is_first = None, True

    def act(self, observation: Any, mask: Any = None) -> Any:
        """Return the action for one *observation*."""
        told = {"action_masks": np.asarray(mask, bool)} if mask is not None and self._takes_masks else {}
        batch = observation if isinstance(observation, np.ndarray) else np.asarray(observation, np.float32)
        action, self._memory = self._model.predict(
            batch, self._memory, np.asarray([self._is_first]), deterministic=self._is_greedy, **told
        )
        self._is_first = False
        return action

    @property
    def _takes_masks(self) -> bool:
        return type(self._model).__name__ == "MaskablePPO"


class PlayedAlone:
    """A vector of one environment, in Gymnasium's interface."""

    def __init__(self, envs: VecEnv) -> None:
        self._envs = envs

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        self._envs.seed(seed)
        observations: Any = self._envs.reset()
        return observations[0], dict(self._envs.reset_infos[0])

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act once; the next episode begins by itself, but is not shown."""
        observations, rewards, dones, infos = self._envs.step(np.asarray([action]))
        truncated = bool(infos[0].get("TimeLimit.truncated", False))
        seen = infos[0].get("terminal_observation", observations[0])  # type: ignore[index]
        return seen, float(rewards[0]), bool(dones[0]) and not truncated, truncated, infos[0]

    def close(self) -> None:
        """Close it."""
        self._envs.close()


def _as_objects(parameters: Mapping[str, Any], envs: VecEnv) -> dict[str, Any]:
    """Return *parameters* with the objects that the library wants for some."""
    told = dict(parameters)
    if isinstance(deviation := told.get("action_noise"), (int, float)):
        shape = envs.action_space.shape
        told["action_noise"] = NormalActionNoise(np.zeros(shape), np.full(shape, float(deviation)))
    if isinstance(every := told.get("train_freq"), list):
        told["train_freq"] = tuple(every)
    return told


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number))


def _number(name: str, value: Any) -> float:
    # The library tells the loss that makes entropy grow, which is its negative.
    return -float(value) if name == "train/entropy_loss" else float(value)
