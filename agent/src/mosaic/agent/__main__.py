"""``python -m mosaic.agent``: run an agent until it is told to stop."""

from __future__ import annotations

import os
import sys

from mosaic.agent.bootstrap import build_agent
from mosaic.agent.execution.child import adopt_strays
from mosaic.agent.execution.kernel import hide_memory
from mosaic.agent.health import health_server
from mosaic.agent.settings import Settings
from mosaic.errors import MosaicError
from mosaic.hosting.logs import configure_logs
from mosaic.hosting.signals import StopSignal

#: How often an agent that is there for a few runs looks whether it may go.
_LOOK_S = 1.0


def main() -> int:
    """Read the settings, run, and return the exit status."""
    try:
        settings = Settings.from_env(os.environ)
        configure_logs("agent", level=settings.log_level)
        agent, close = build_agent(settings, os.environ)
    except MosaicError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    hide_memory()
    adopt_strays()
    stopping = StopSignal()
    health = health_server(settings.health_address, agent) if settings.health_address else None
    if health is not None:
        health.start()
    agent.start()
    while not stopping.wait(_LOOK_S) and not agent.has_served():
        pass
    agent.stop()
    close()
    if health is not None:
        health.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
