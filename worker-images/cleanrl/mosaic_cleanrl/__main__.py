"""Start the worker: ``python -m mosaic_cleanrl --config FILE``."""

from __future__ import annotations

from mosaic.worker.shim import main
from mosaic_cleanrl.config import CleanRLConfig
from mosaic_cleanrl.runtime import CleanRLRuntime

if __name__ == "__main__":
    main(CleanRLConfig, CleanRLRuntime)
