"""Send one run through the stack and read its manifest: is the platform whole? Run by ``make smoke``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any

from mosaic.client import Mosaic
from mosaic.errors import MosaicError

_PATIENCE_S = 300.0
_SHOWN = ("run_id", "worker", "outcome", "reason", "started_at", "ended_at", "is_complete")


def main() -> int:
    """Submit, wait, and print what the manifest says; not 0 when anything is not as it should be."""
    parser = argparse.ArgumentParser(description="Send one run through the stack.")
    parser.add_argument("--worker", default="reference")
    parser.add_argument("--config", default='{"env_id": "FrozenLake-v1", "total_steps": 2000}', help="as JSON")
    asked = parser.parse_args()
    try:
        with Mosaic.connect() as platform:
            [run] = platform.submit(asked.worker, config=json.loads(asked.config))
            return judge(platform.manifest(run.run_id, within_s=_PATIENCE_S).content)
    except MosaicError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code


def judge(manifest: Mapping[str, Any]) -> int:
    """Print the heart of *manifest*; 0 when the run succeeded and every event of it arrived."""
    for field in _SHOWN:
        sys.stdout.write(f"{field:<12} {manifest[field]}\n")
    return 0 if manifest["outcome"] == "succeeded" and manifest["is_complete"] else 1


if __name__ == "__main__":
    sys.exit(main())
