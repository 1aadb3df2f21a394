"""Run the three servers until Ctrl-C, for benches and for test runs in a row."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress

from tests.servers.choice import servers
from tests.servers.handle import KINDS
from tests.servers.packages import VARIABLES


def main() -> None:
    """Print one ``export`` line per server, then wait."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), servers(durable="--durable" in sys.argv) as chosen:
        lines = [f"export {VARIABLES[kind]}={chosen.get(kind).url}" for kind in KINDS]
        lines.append(f"export MOSAIC_TEST_RABBITMQ_API_URL={chosen.rabbitmq.api_url}")
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()
        signal.pause()


if __name__ == "__main__":
    main()
