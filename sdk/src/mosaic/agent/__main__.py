"""``python -m mosaic.agent``: run an agent until it is told to stop."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading

import structlog

from mosaic.agent.bootstrap import build_agent
from mosaic.agent.health import HealthServer
from mosaic.agent.settings import Settings
from mosaic.errors import MosaicError


def main() -> int:
    """Read the settings, run, and return the exit status."""
    try:
        settings = Settings.from_env(os.environ)
        _configure_logs(settings.log_level)
        agent, close = build_agent(settings, os.environ)
    except MosaicError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    health = HealthServer(settings.health_address, agent) if settings.health_address else None
    if health is not None:
        health.start()
    agent.start()
    stopping.wait()
    agent.stop()
    close()
    if health is not None:
        health.stop()
    return 0


def _configure_logs(level: str) -> None:
    number = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    logging.basicConfig(level=max(number, logging.WARNING), stream=sys.stderr)
    renderer = structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


if __name__ == "__main__":
    sys.exit(main())
