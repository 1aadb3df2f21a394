"""XuanCe as the template drives it: its own training loop, with a callback at every boundary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from xuance.common import MultiAgentBaseCallback

from mosaic.worker.library.checkpoints import About
from mosaic.worker.library.trainer import Policy, Trainer
from mosaic_xuance import state
from mosaic_xuance.config import XuanCeConfig
from mosaic_xuance.library import Settings, arguments, blamed, make_agent, unused_range
from mosaic_xuance.narrator import Narrator
from mosaic_xuance.policy import XuanCePolicy


class XuanCeTrainer(Trainer):
    """One agent of XuanCe, which may be a team, in its environments."""

    agent: Any
    _settings: Settings
    _narrator: Narrator

    def build(self) -> Mapping[str, Any]:
        """Make environments and agent."""
        self._narrator = Narrator(self.training, self.config)
        self._settings, self.agent = self._made(self.config, self._narrator)
        self.training.live_step = lambda: int(self.agent.current_step)
        found = vars(self._settings)
        parameters = {name: found.get(name, value) for name, value in self.config.recipe.hyper_parameters.items()}
        return {**parameters, "num_envs": found["parallels"], "device": str(found["device"])}

    def advance(self) -> None:
        """Learn by the library's own loop, which counts rounds of all environments together; it plays one at least."""
        agent, step = self.agent, int(self.agent.current_step)
        left = (self.config.total_steps - step) // agent.n_envs
        rounds = max(0 if step else 1, left)
        self._narrator.begin(agent, ends_at=step + rounds * agent.n_envs)
        if rounds:
            with blamed(agent, self.config.env_id):
                agent.train(rounds)
            self._narrator.tell_last_point()
        self.training.note(int(agent.current_step))

    def save(self, folder: Path) -> Sequence[str]:
        """Write the library's own model file, and beside it all that an exact continuation needs."""
        return state.save(folder, self.agent, self._narrator.told, replay_limit_mb=self.config.replay_limit_mb)

    def load(self, folder: Path) -> None:
        """Go on from what `save` wrote."""
        self._narrator.told = state.restore(folder, self.agent)

    def policy(self, folder: Path | None) -> Policy:
        """Return the agent of a checkpoint, or of this training; it plays in environments of its own."""
        if folder is None:
            return XuanCePolicy(self.agent, self._settings, self.config, film=self._film())
        config = self.config.played_with(About.read(folder).settings)
        settings, agent = self._made(config, MultiAgentBaseCallback())
        state.restore(folder, agent)
        return XuanCePolicy(agent, settings, config, film=self._film(), is_its_own=True)

    def close(self) -> None:
        """Close the environments and the library's files for TensorBoard."""
        self.agent.finish()
        self.agent.train_envs.close()

    def _made(self, config: XuanCeConfig, callback: Any) -> tuple[Settings, Any]:
        logs, models = self.run_dir / config.tensorboard_dir, self.run_dir / "models"
        told = config.overrides(self.config.seed, log_dir=logs, model_dir=models, on_gpu=self.on_gpu)
        settings = arguments(config, told)
        agent = make_agent(config, settings, callback)
        if unused := unused_range(settings, config.env_id, agent.action_space):
            self.training.reporter.emitter.log(unused, "warning")
        return settings, agent

    def _film(self) -> Path | None:
        step = self.training.progress.step
        return self.run_dir / "videos" / f"step-{step:010d}.mp4" if self.config.capture_video else None
