"""Where a run's TensorBoard files are, by upstream's layout."""

from __future__ import annotations

from pathlib import Path

from gym_gui.config import paths


def build_tensorboard_relative_path(run_id: str, worker_id: str | None = None) -> str:
    """Return the directory relative to the parent of ``VAR_ROOT``; *worker_id* makes no difference."""
    return f"var/trainer/runs/{run_id}/tensorboard"


def build_tensorboard_log_dir(run_id: str, worker_id: str | None = None) -> Path:
    """Return the directory as an absolute path; it is not made."""
    return paths.VAR_TENSORBOARD_DIR / run_id / "tensorboard"
