"""Start the worker: ``python -m mosaic_cleanrl --config FILE``."""

from __future__ import annotations

import sys

from mosaic.worker import run_worker
from mosaic_cleanrl.config import CleanRLConfig
from mosaic_cleanrl.runtime import CleanRLRuntime

if __name__ == "__main__":
    sys.exit(run_worker(CleanRLConfig, CleanRLRuntime, worker_type="cleanrl"))
