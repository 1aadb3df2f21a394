"""``python -m drill_worker --config FILE``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .config import DrillConfig
from .runtime import Drill

EXIT_BAD_CONFIG = 2


def main() -> int:
    """Run one drill and return its exit status."""
    path = Path(sys.argv[sys.argv.index("--config") + 1])
    try:
        config = DrillConfig.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"bad config: {error}\n")
        return EXIT_BAD_CONFIG
    return Drill(config).run()


if __name__ == "__main__":
    sys.exit(main())
