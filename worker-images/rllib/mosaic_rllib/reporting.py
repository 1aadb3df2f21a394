"""Telling of a run: the platform, TensorBoard and, if wanted, Weights & Biases hear the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tensorboardX import SummaryWriter

from mosaic.worker import TelemetryEmitter
from mosaic.worker.wandb_guard import WandbGuard, WandbSettings
from mosaic_rllib.config import RLlibConfig


class Reporter:
    """Passes every point on to all who listen; leaving the ``with`` block lets them finish."""

    def __init__(self, config: RLlibConfig, emitter: TelemetryEmitter, run_dir: Path) -> None:
        self._emitter = emitter
        self._events = SummaryWriter(str(run_dir / config.tensorboard_dir), flush_secs=10)
        self._wandb = _wandb(config, emitter, run_dir) if config.track_wandb else None

    def __enter__(self) -> Reporter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._events.close()
        if self._wandb is not None:
            # A run that was asked to stop has little time left.
            self._wandb.finish() if kind is None else self._wandb.finish(1.0)

    def metrics(self, values: Mapping[str, float], step: int, policy: str | None = None) -> None:
        """Give one point of each series at *step*; those of one policy of several carry its name."""
        self._emitter.metrics(values, step, agent=policy)
        named = values if policy is None else {f"{policy}/{name}": value for name, value in values.items()}
        for name, value in named.items():
            self._events.add_scalar(name, value, step)
        if self._wandb is not None:
            self._wandb.log(named, step)

    def episode(self, index: int, episode_return: float, length: int, step: int, **more: Any) -> None:
        """Report a finished episode of training, and each agent's part in it where there are several."""
        agents: Mapping[str, float] = more.pop("agents", {})
        self._emitter.episode(index, episode_return, length, step=step, **more)
        for name, part in agents.items():
            self._emitter.episode(index, part, length, step=step, agent=name)
        self._events.add_scalar("episode_return", episode_return, step)
        self._events.add_scalar("episode_length", length, step)


def _wandb(config: RLlibConfig, emitter: TelemetryEmitter, run_dir: Path) -> WandbGuard:
    settings = WandbSettings(
        project=config.wandb_project,
        mode=config.wandb_mode,
        entity=config.wandb_entity,
        name=config.wandb_run_name or config.run_id,
        group=config.wandb_group,
        tags=tuple(config.wandb_tags),
        notes=config.notes or None,
        config=config.to_dict(),
    )
    return WandbGuard(settings, run_dir / "wandb", warn=lambda sentence: emitter.log(sentence, "warning"))
