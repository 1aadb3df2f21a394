"""Start the worker: ``python -m mosaic_reference --config FILE``."""

from __future__ import annotations

import sys

from mosaic.worker import run_worker
from mosaic_reference.config import ReferenceConfig
from mosaic_reference.runtime import ReferenceRuntime

if __name__ == "__main__":
    sys.exit(run_worker(ReferenceConfig, ReferenceRuntime, worker_type="reference"))
