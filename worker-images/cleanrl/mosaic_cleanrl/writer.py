"""The TensorBoard writer of the scripts: its files in the run directory, its scalars also to the fleet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch.utils import tensorboard
from torch.utils.tensorboard import SummaryWriter

from mosaic_cleanrl.training import Training


def hook_writer(training: Training, directory: Path) -> None:
    """Let every ``SummaryWriter`` made from now on write to *directory* and tell *training*."""

    class TellingWriter(SummaryWriter):  # type: ignore[misc]
        def __init__(self, log_dir: str | None = None, **options: Any) -> None:
            super().__init__(str(directory), **options)

        def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None, *rest: Any, **options: Any) -> None:
            number = float(scalar_value)
            super().add_scalar(tag, number, global_step, *rest, **options)
            training.scalar(tag, number, int(global_step or 0))

    tensorboard.SummaryWriter = TellingWriter


def write_scalars(directory: Path, values: Mapping[str, float], step: int) -> None:
    """Add *values* to the files in *directory*, once the script has closed its own writer."""
    with SummaryWriter(str(directory)) as writer:
        for name, value in values.items():
            writer.add_scalar(name, value, step)
