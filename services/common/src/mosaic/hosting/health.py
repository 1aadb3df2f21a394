"""/healthz, /readyz and /metrics over HTTP, for probes and Prometheus."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from mosaic.errors import BadInput, Refused

#: Returns None when the part works, else what is wrong with it.
Probe = Callable[[], str | None]

_LAST_PORT = 65535


class HealthServer:
    """Answers probes in its own thread.

    ``/healthz`` says that the process lives; ``/readyz`` asks every part by its probe and answers 503
    with the broken ones named.
    """

    def __init__(self, address: str, probes: Mapping[str, Probe], metrics: CollectorRegistry) -> None:
        """Bind *address* (``host:port``; port 0 takes a free one).

        Raises:
            BadInput: *address* is not of that form.
            Refused: the address cannot be bound.
        """
        host, port = _split(address)
        try:
            self._http = ThreadingHTTPServer((host, port), _handler(probes, metrics))
        except OSError as error:
            raise Refused(
                f"cannot answer probes on {address}: {error.strerror}; choose another port, or 0 for a free one"
            ) from error
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


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > _LAST_PORT:
        fault = f"{address!r} is not host:port, for example 127.0.0.1:8080; port 0 takes a free one"
        raise BadInput("health address", [fault])
    return host, int(port)


def process_metrics() -> CollectorRegistry:
    """Return a registry that already tells memory, CPU and garbage collection."""
    metrics = CollectorRegistry()
    ProcessCollector(registry=metrics)
    PlatformCollector(registry=metrics)
    GCCollector(registry=metrics)
    return metrics


def check(probes: Mapping[str, Probe]) -> dict[str, str]:
    """Run every probe and return what is wrong, by part; empty means ready. Parts may be added meanwhile."""
    faults: dict[str, str] = {}
    for name, probe in list(probes.items()):
        try:
            fault = probe()
        except Exception as error:  # a probe that raises is a part that does not work
            fault = f"{type(error).__name__}: {error}"
        if fault is not None:
            faults[name] = fault
    return faults


def _handler(probes: Mapping[str, Probe], metrics: CollectorRegistry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/healthz":
                self._answer(200, "application/json", b'{"status":"alive"}')
            elif self.path == "/readyz":
                faults = check(probes)
                body = {"status": "broken" if faults else "ready", "faults": faults}
                self._answer(503 if faults else 200, "application/json", json.dumps(body).encode())
            elif self.path == "/metrics":
                self._answer(200, CONTENT_TYPE_LATEST, generate_latest(metrics))
            else:
                self._answer(404, "text/plain", b"try /healthz, /readyz or /metrics\n")

        def _answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing: probes come every few seconds."""

    return Handler
