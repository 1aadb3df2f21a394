"""Start the worker: ``python -m mosaic_rllib --config FILE``."""

from __future__ import annotations

import sys

from mosaic.worker import run_worker
from mosaic_rllib.config import RLlibConfig
from mosaic_rllib.runtime import RLlibRuntime

if __name__ == "__main__":
    sys.exit(run_worker(RLlibConfig, RLlibRuntime, worker_type="rllib"))
