"""The command line every worker shares."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import TypeVar

from mosaic.worker.config import load_strictly

ConfigT = TypeVar("ConfigT")


class WorkerCLI:
    """The parts of a worker's ``main``; `run_worker` is the whole of one."""

    @staticmethod
    def create_base_parser(prog: str, description: str) -> argparse.ArgumentParser:
        """Return a parser with the options every worker has; unknown ones end the process with 2."""
        parser = argparse.ArgumentParser(
            prog=prog, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument(
            "--config", type=Path, required=True, help="configuration file (JSON), direct or nested"
        )
        parser.add_argument("-v", "--verbose", action="store_true", help="log debug messages to stderr")
        parser.add_argument("--dry-run", action="store_true", help="check the configuration, train nothing")
        parser.add_argument("--worker-id", help="name of this worker among several of one run")
        parser.add_argument("--grpc", action="store_true", help="accepted for older launchers")
        parser.add_argument("--grpc-target", default="127.0.0.1:50055", help="accepted for older launchers")
        return parser

    @staticmethod
    def setup_logging(verbose: bool = False) -> None:
        """Log to stderr, since stdout is for telemetry."""
        logging.basicConfig(
            level=logging.DEBUG if verbose else logging.INFO,
            format="%(asctime)s - %(name)s - %(levelname)s - %(message)s",
            stream=sys.stderr,
        )

    @staticmethod
    def load_and_validate_config(config_path: Path, config_class: type[ConfigT]) -> ConfigT:
        """Read the configuration and refuse what its schema or the class itself refuses.

        Raises:
            FileNotFoundError: there is no such file.
            TypeError: *config_class* has no ``from_dict``.
            ValueError: anything else; all faults are listed.
        """
        return load_strictly(Path(config_path), config_class)
