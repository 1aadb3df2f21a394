"""Where upstream keeps files: below ``MOSAIC_VAR_ROOT``, or ``var`` in the working directory.

The paths are worked out when they are asked for, and importing this makes no directory.
"""

from __future__ import annotations

import os
from pathlib import Path

_BELOW_ROOT = {
    "VAR_ROOT": "",
    "VAR_CACHE_DIR": "cache",
    "VAR_CUSTOM_SCRIPTS_DIR": "trainer/custom_scripts",
    "VAR_DATA_DIR": "data",
    "VAR_EVALS_DIR": "trainer/evals",
    "VAR_EVALUATOR_DIR": "evaluator",
    "VAR_LOGS_DIR": "logs",
    "VAR_MODELS_DIR": "models",
    "VAR_OPERATORS_DIR": "operators",
    "VAR_OPERATORS_LOGS_DIR": "operators/logs",
    "VAR_OPERATORS_TELEMETRY_DIR": "operators/telemetry",
    "VAR_RECORDS_DIR": "records",
    "VAR_REPLAY_DIR": "replay",
    "VAR_TELEMETRY_DIR": "telemetry",
    "VAR_TENSORBOARD_DIR": "trainer/runs",
    "VAR_TMP_DIR": "tmp",
    "VAR_TRAINER_DB": "trainer/trainer.sqlite",
    "VAR_TRAINER_DIR": "trainer",
    "VAR_WANDB_DIR": "trainer/runs",
}


def __getattr__(name: str) -> Path:
    if name not in _BELOW_ROOT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    root = Path(os.environ.get("MOSAIC_VAR_ROOT") or "var")
    return root.absolute() / _BELOW_ROOT[name]


def ensure_var_directories() -> None:
    """Make every directory that is missing."""
    for name in _BELOW_ROOT:
        if name != "VAR_TRAINER_DB":
            __getattr__(name).mkdir(parents=True, exist_ok=True)
