"""Start the worker: ``python -m mosaic_rllib --config FILE``."""

from __future__ import annotations

import os
import sys

from mosaic.worker import run_worker
from mosaic_rllib.config import RLlibConfig
from mosaic_rllib.instance import end_what_was_left, prepare_environment
from mosaic_rllib.runtime import RLlibRuntime

if __name__ == "__main__":
    prepare_environment()
    code = run_worker(RLlibConfig, RLlibRuntime, worker_type="rllib")
    sys.stdout.flush()
    sys.stderr.flush()
    end_what_was_left()
    # Ray and Torch would take seconds to say goodbye, and have nothing left to do.
    os._exit(code)
