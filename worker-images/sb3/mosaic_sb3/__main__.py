"""Start the worker: ``python -m mosaic_sb3 --config FILE``."""

from __future__ import annotations

from mosaic.worker.shim import main
from mosaic_sb3.config import SB3Config
from mosaic_sb3.runtime import SB3Runtime

if __name__ == "__main__":
    main(SB3Config, SB3Runtime)
