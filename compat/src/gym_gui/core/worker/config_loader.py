"""Part of the worker contract, under upstream's module name."""

from __future__ import annotations

from mosaic.worker import extract_worker_config, load_worker_config_from_file

__all__ = ["extract_worker_config", "load_worker_config_from_file"]
