"""``python -m mosaic_console``: one replica, configured by ``MOSAIC_CONSOLE_*``."""

from __future__ import annotations

import os
import sys

import structlog

from mosaic.errors import MosaicError
from mosaic.hosting.health import HealthServer, process_metrics
from mosaic.hosting.logs import configure_logs
from mosaic.hosting.signals import StopSignal
from mosaic_console.entrypoints.server import ConsoleServer
from mosaic_console.settings import Settings

log = structlog.get_logger(__name__)


def main() -> None:
    """Serve until SIGTERM or SIGINT; exit with the error's own code if it cannot start."""
    stopping = StopSignal()
    try:
        settings = Settings.from_env(os.environ)
        configure_logs("console", level=settings.log_level)
        settings.tls.read()
        server = ConsoleServer(settings)
        health = HealthServer(settings.health_address, {"console": server.fault}, process_metrics())
    except MosaicError as error:
        sys.stderr.write(f"console: {error}\n")
        sys.exit(error.exit_code)
    server.start()
    health.start()
    log.info("serving", url=server.login.url, health=health.address)
    stopping.wait()
    log.info("stopping; requests under way may end")
    server.stop()
    health.stop()


if __name__ == "__main__":
    main()
