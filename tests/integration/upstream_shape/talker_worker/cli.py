"""The command: its own parser, which knows ``--config`` and none of the other flags a launcher might pass."""

import argparse
import logging
import sys

from .config import TalkerWorkerConfig
from .runtime import TalkerWorkerRuntime


def main() -> int:
    parser = argparse.ArgumentParser(prog="talker-worker")
    parser.add_argument("--config")
    parser.add_argument("--run-id", default="interactive")
    parser.add_argument("--interactive", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.DEBUG if arguments.verbose else logging.INFO, stream=sys.stderr)
    try:
        TalkerWorkerRuntime(TalkerWorkerConfig.from_json_file(arguments.config)).run()
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        logging.error("the run failed: %s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
