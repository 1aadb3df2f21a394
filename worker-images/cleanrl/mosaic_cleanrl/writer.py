"""The TensorBoard writer of the scripts: its files in the run directory, its scalars also to the fleet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch.utils import tensorboard

from mosaic_cleanrl.training import Training


def hook_writer(training: Training, directory: Path) -> None:
    """Let every ``SummaryWriter`` made from now on write to *directory* and tell *training*."""

    class TellingWriter(tensorboard.SummaryWriter):  # type: ignore[misc]
        def __init__(self, log_dir: str | None = None, **options: Any) -> None:
            super().__init__(str(directory), **options)

        def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None, *rest: Any, **options: Any) -> None:
            number = float(scalar_value)
            super().add_scalar(tag, number, global_step, *rest, **options)
            training.scalar(tag, number, int(global_step or 0))

    tensorboard.SummaryWriter = TellingWriter
