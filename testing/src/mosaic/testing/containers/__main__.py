"""``python -m mosaic.testing.containers``: remove what stacks of killed processes left behind."""

from __future__ import annotations

import sys
from contextlib import closing

from mosaic.errors import MosaicError
from mosaic.testing.containers.engine import connect
from mosaic.testing.containers.ownership import remove_stale


def main() -> int:
    """Remove it, name it, and return the exit status."""
    try:
        with closing(connect().client) as client:
            removed = remove_stale(client)
    except MosaicError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write("".join(f"removed {name}\n" for name in removed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
