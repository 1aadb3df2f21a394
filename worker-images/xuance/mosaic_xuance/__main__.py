"""Start the worker: ``python -m mosaic_xuance --config FILE``."""

from __future__ import annotations

import os
import sys

from mosaic.worker import run_worker
from mosaic_xuance.config import XuanCeConfig
from mosaic_xuance.runtime import XuanCeRuntime

if __name__ == "__main__":
    # XuanCe's progress bar would otherwise write ten lines a second to the log.
    os.environ.setdefault("TQDM_MININTERVAL", "10")
    sys.exit(run_worker(XuanCeConfig, XuanCeRuntime, worker_type="xuance"))
