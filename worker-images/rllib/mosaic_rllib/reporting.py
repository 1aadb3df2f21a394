"""Telling of a run: the platform, TensorBoard and, if wanted, Weights & Biases hear the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tensorboardX import SummaryWriter

from mosaic.worker import TelemetryEmitter
from mosaic.worker.wandb_guard import FINISH_TIMEOUT_S, WandbGuard
from mosaic_rllib.config import RLlibConfig
from mosaic_rllib.interruption import Wishes


class Reporter:
    """Passes every point on to all who listen; leaving the ``with`` block lets them finish."""

    def __init__(self, config: RLlibConfig, emitter: TelemetryEmitter, run_dir: Path, wishes: Wishes) -> None:
        self._emitter = emitter
        self._wishes = wishes
        self._events = SummaryWriter(str(run_dir / config.tensorboard_dir), flush_secs=10)
        self._wandb = WandbGuard.of_run(config, emitter, run_dir)

    def __enter__(self) -> Reporter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._events.close()
        # A run that was asked to stop has little time left.
        self._wandb.finish(FINISH_TIMEOUT_S if kind is None else 1.0, is_stopping=lambda: self._wishes.stop)

    def metrics(self, values: Mapping[str, float], step: int, policy: str | None = None) -> None:
        """Give one point of each series at *step*; those of one policy of several carry its name."""
        self._emitter.metrics(values, step, agent=policy)
        self.figures(values if policy is None else {f"{policy}/{name}": value for name, value in values.items()}, step)

    def figures(self, values: Mapping[str, float], step: int) -> None:
        """Give one point of each series at *step* to all but the platform, which has it already."""
        for name, value in values.items():
            self._events.add_scalar(name, value, step)
        self._wandb.log(values, step)

    def episode(self, index: int, episode_return: float, length: int, step: int, **more: Any) -> None:
        """Report a finished episode of training, and each agent's part in it where there are several."""
        agents: Mapping[str, float] = more.pop("agents", {})
        self._emitter.episode(index, episode_return, length, step=step, **more)
        for name, part in agents.items():
            self._emitter.episode(index, part, length, step=step, agent=name)
        self._events.add_scalar("episode_return", episode_return, step)
        self._events.add_scalar("episode_length", length, step)
