from __future__ import annotations

import hashlib
import json
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mosaic.testing.containers.engine import connect, require_images
from mosaic.testing.containers.faults import ImageMissing


class Engine(BaseHTTPRequestHandler):
    """As much of an engine as a client asks for before anything is run; it has no image and remembers its callers."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append(f"GET {self.path}")
        found = self.path.endswith(("/version", "/_ping"))
        self._answer(200 if found else 404, {"ApiVersion": "1.41"} if found else {"message": "no such image"})

    def do_POST(self):
        self.server.asked.append(f"POST {self.path}")
        self._answer(404, {"message": "no such repository"})

    def log_message(self, *words):
        pass

    def _answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """An engine that `docker context use` has chosen; DOCKER_HOST says nothing."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Engine) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        _choose_context(tmp_path, f"tcp://127.0.0.1:{server.server_address[1]}")
        monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
        # Empty rather than gone: the client writes into it what it has found, and that must not stay.
        monkeypatch.setenv("DOCKER_HOST", "")
        monkeypatch.delenv("DOCKER_CONTEXT", raising=False)
        yield server
        server.shutdown()
        thread.join()


def test_the_engine_of_the_chosen_context_is_used_wherever_it_listens(engine):
    connect().client.close()

    assert "GET /version" in engine.asked


def test_an_image_of_the_platform_is_never_looked_for_on_a_public_registry(engine):
    connected = connect()
    with closing(connected.client), pytest.raises(ImageMissing, match="mosaic-fleet/registry:0, elsewhere:0;"):
        require_images(connected, ["mosaic-fleet/registry:0", "elsewhere:0"])

    pulled = [path for path in engine.asked if path.startswith("POST")]
    assert 1 == len(pulled), pulled
    assert "fromImage=elsewhere" in pulled[0]


def _choose_context(config, host):
    meta = config / "contexts" / "meta" / hashlib.sha256(b"theirs").hexdigest()
    meta.mkdir(parents=True)
    described = {"Name": "theirs", "Metadata": {}, "Endpoints": {"docker": {"Host": host, "SkipTLSVerify": False}}}
    (meta / "meta.json").write_text(json.dumps(described))
    (config / "config.json").write_text(json.dumps({"currentContext": "theirs"}))
