"""Run a worker package that has no ``__main__``: ``python -m mosaic.worker.driver PACKAGE --config FILE``.

The guides' minimal worker is a config and a runtime, nothing to start it with. This is what it lacks.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mosaic.errors import MosaicError
from mosaic.worker.command import run_worker
from mosaic.worker.pairing import find_pair


def main(argv: Sequence[str]) -> int:
    """Run the package named first in *argv* with the rest as its arguments; return its exit code."""
    try:
        config_class, runtime_class = find_pair(argv[0])
    except MosaicError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return run_worker(config_class, runtime_class, list(argv[1:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
