"""Telling of a run: the platform, TensorBoard and, if wanted, Weights & Biases hear the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from mosaic.worker.emitter import TelemetryEmitter
from mosaic.worker.library.config import LibrarySettings
from mosaic.worker.library.control import Control
from mosaic.worker.wandb_guard import WandbGuard


class Reporter:
    """Passes every point on to all who listen. Before `open` and after `close` only the platform does."""

    def __init__(self, config: LibrarySettings, emitter: TelemetryEmitter, run_dir: Path, control: Control) -> None:
        self.emitter = emitter
        self._config = config
        self._run_dir = run_dir
        self._control = control
        self._wandb: WandbGuard | None = None
        self._events: Any = None
        self._purge_step: int | None = None

    def open(self) -> None:
        """Let W&B listen too, if that is wanted.

        Raises:
            BadInput: the curves are to be sent, and there is no key to send them with.

        """
        self._wandb = WandbGuard.of_run(self._config, self.emitter, self._run_dir)

    def goes_on_from(self, step: int) -> None:
        """Let TensorBoard hide what it was once told of later steps."""
        self._purge_step = step + 1

    def write_with(self, writer: Any) -> None:
        """Add figures by *writer*, through which the library writes too, so that one file has all in order."""
        self._events = writer

    def close(self) -> None:
        """Let all who listen finish; a run that was asked to stop has little time left."""
        if self._events is not None:
            self._events.close()
        if self._wandb is not None:
            self._wandb.finish(is_stopping=lambda: self._control.is_stopping)

    def wandb(self) -> dict[str, Any]:
        """Return where W&B has the curves, as a part of the summary."""
        told = self._wandb.told() if self._wandb is not None else None
        return {"wandb": told} if told else {}

    def metrics(
        self, values: Mapping[str, float], step: int, *, policy: str | None = None, events: bool = True
    ) -> None:
        """Give one point of each series at *step*; those of one *policy* of several carry its name."""
        self.emitter.metrics(values, step, agent=policy)
        named = values if policy is None else {f"{policy}/{name}": value for name, value in values.items()}
        self.figures(named, step, events=events)

    def figures(self, values: Mapping[str, float], step: int, *, events: bool = True) -> None:
        """Give one point of each series to all but the platform; with *events*, also to TensorBoard."""
        if self._wandb is None:
            return
        self._wandb.log(values, step)
        if events:
            self._write(values, step)

    def episode(
        self,
        index: int,
        episode_return: float,
        length: int,
        *,
        step: int,
        agents: Mapping[str, float],
        events: bool = True,
        **more: Any,
    ) -> None:
        """Tell of a finished episode of training, and of each agent's part in it; with *events*, TensorBoard too."""
        self.emitter.episode(index, episode_return, length, step=step, **more)
        if events and self._wandb is not None:
            self._write({"episode_return": episode_return, "episode_length": length}, step)
        for name, part in agents.items():
            self.emitter.episode(index, part, length, step=step, agent=name)

    def _write(self, values: Mapping[str, float], step: int) -> None:
        if self._events is None:
            directory = str(self._run_dir / self._config.tensorboard_dir)
            self._events = _summary_writer()(directory, purge_step=self._purge_step, flush_secs=10)
        for name, value in values.items():
            self._events.add_scalar(name, value, step)


def _summary_writer() -> Any:
    try:
        return import_module("torch.utils.tensorboard").SummaryWriter
    except ImportError:
        return import_module("tensorboardX").SummaryWriter
