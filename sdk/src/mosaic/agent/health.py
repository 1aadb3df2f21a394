"""/healthz, /readyz and /metrics of an agent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest

from mosaic.agent.agent import Agent

#: Path -> status, content type and body.
Page = Callable[[], tuple[int, str, bytes]]


def agent_metrics(agent: Agent) -> CollectorRegistry:
    """Return the gauges of *agent*, read when they are asked for."""
    registry = CollectorRegistry()
    gauges: dict[str, tuple[str, Callable[[], float]]] = {
        "mosaic_agent_attempts": ("Attempts executed now.", lambda: float(agent.running())),
        "mosaic_agent_spool_bytes": (
            "Telemetry not confirmed yet.",
            lambda: float(agent.backlog.size_bytes),
        ),
        "mosaic_agent_starved": ("1 while steps are thinned.", lambda: float(agent.backlog.is_starved)),
        "mosaic_agent_ready": ("1 while everything is reached.", lambda: float(not agent.faults())),
    }
    for name, (text, read) in gauges.items():
        Gauge(name, text, registry=registry).set_function(read)
    return registry


class HealthServer:
    """Answers probes in its own thread."""

    def __init__(self, address: str, agent: Agent) -> None:
        host, _, port = address.rpartition(":")
        metrics = agent_metrics(agent)
        pages: dict[str, Page] = {
            "/healthz": lambda: (200, "application/json", b'{"status":"alive"}'),
            "/readyz": lambda: _readiness(agent),
            "/metrics": lambda: (200, CONTENT_TYPE_LATEST, generate_latest(metrics)),
        }
        self._http = ThreadingHTTPServer((host, int(port)), _handler(pages))
        self._http.daemon_threads = True
        #: Where it listens, with the port that was really taken.
        self.address = f"{host}:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, name="health", daemon=True)

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Close the port."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def _readiness(agent: Agent) -> tuple[int, str, bytes]:
    faults = agent.faults()
    body = {"status": "broken" if faults else "ready", "faults": faults}
    return 503 if faults else 200, "application/json", json.dumps(body).encode()


def _handler(pages: dict[str, Page]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path, lambda: (404, "text/plain", b"try /healthz, /readyz or /metrics\n"))
            status, kind, body = page()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing: probes come every few seconds."""

    return Handler
