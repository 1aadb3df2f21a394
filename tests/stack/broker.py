"""What a RabbitMQ of the tests holds, and disturbing it."""

from __future__ import annotations

import base64
import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

from tests.servers.handle import Server

_WATERMARK = "0.4"


class Broker:
    """One virtual host of a server, seen through the management API."""

    def __init__(self, server: Server, url: str) -> None:
        """Look at the virtual host that the AMQP address *url* names."""
        self._server = server
        self._vhost = quote(urlsplit(url).path.removeprefix("/"), safe="%")

    def queues(self) -> dict[str, dict[str, Any]]:
        """Return the queues by name, each with its arguments and how much it holds."""
        found = self._ask("GET", f"queues/{self._vhost}?disable_stats=true&enable_queue_totals=true")
        return {queue["name"]: queue for queue in found}

    def cut_connections(self) -> int:
        """Close every connection to the virtual host, as a network does; return how many there were."""
        names = [one["name"] for one in self._ask("GET", "connections") if quote(one["vhost"]) == self._vhost]
        for name in names:
            self._ask("DELETE", f"connections/{quote(name)}")
        return len(names)

    @contextmanager
    def memory_alarm(self) -> Iterator[None]:
        """Have no memory left: every connection that publishes is blocked, on every virtual host."""
        self._server.execute("rabbitmqctl", "set_vm_memory_high_watermark", "0")
        try:
            yield
        finally:
            self._server.execute("rabbitmqctl", "set_vm_memory_high_watermark", _WATERMARK)

    def _ask(self, method: str, path: str) -> Any:
        parts = urlsplit(self._server.api_url)
        login = base64.b64encode(f"{parts.username}:{parts.password}".encode()).decode()
        address = f"{parts.scheme}://{parts.hostname}:{parts.port}/api/{path}"
        request = urllib.request.Request(address, method=method, headers={"Authorization": f"Basic {login}"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            body = answer.read()
        return json.loads(body) if body else None
