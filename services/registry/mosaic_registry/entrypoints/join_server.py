"""Where agents join: ``GET /ca`` and ``POST /join`` over HTTPS, for those that have no certificate yet."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from typing import Any

import structlog

from mosaic.errors import BadInput, MosaicError, Refused, Unavailable
from mosaic.hosting.join_token import JoinToken
from mosaic.hosting.pki import Issued
from mosaic.wire.tls import Stamp, TlsFiles
from mosaic_registry.bootstrap import Parts
from mosaic_registry.handlers import admission
from mosaic_registry.ports import Issuer

log = structlog.get_logger(__name__)

_REQUEST_BYTES = 32 * 1024
_AT_ONCE = 32
#: A whole exchange; whoever is slower is cut off.
_PATIENCE_S = 15.0


class JoinServer:
    """Serves agents that join, in threads of its own."""

    def __init__(self, address: str, tls: TlsFiles, parts: Parts) -> None:
        """Bind *address* (``host:port``; port 0 takes a free one).

        Raises:
            Refused: the address cannot be bound, or this registry has no CA to issue with.
        """
        if parts.issuer is None:
            raise Refused("agents cannot join without a CA: set MOSAIC_REGISTRY_CA_KEY_FILE beside JOIN_ADDRESS")
        host, _, port = address.rpartition(":")
        try:
            self._http = _HttpsServer((host, int(port)), _handler(parts, parts.issuer), tls)
        except (OSError, ValueError) as error:
            raise Refused(f"agents cannot join at {address}: {error}") from error
        #: Where it listens, with the port that was really taken.
        self.address = f"{host}:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, name="join", daemon=True)

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Close the port."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _HttpsServer(ThreadingMixIn, HTTPServer):
    """Takes at most so many at once, each for a bounded time; nobody's handshake holds up another's."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], tls: TlsFiles) -> None:
        self._tls = tls
        self._stamp: Stamp | None = None
        self._places = threading.BoundedSemaphore(_AT_ONCE)
        self._context = self._newest_context()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        request.settimeout(_PATIENCE_S)
        secured = self._newest_context().wrap_socket(request, server_side=True, do_handshake_on_connect=False)
        patience = threading.Timer(_PATIENCE_S, partial(_cut_off, secured))
        patience.daemon = True
        patience.start()
        try:
            secured.do_handshake()
            self.finish_request(secured, client_address)
        except OSError:
            # A stranger that speaks something else, or went away.
            pass
        except Exception:
            log.exception("a request to join failed")
        finally:
            patience.cancel()
            self._places.release()
            self.shutdown_request(secured)

    def _newest_context(self) -> ssl.SSLContext:
        stamp = self._tls.stamp()
        if stamp is not None and stamp != self._stamp:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            context.load_cert_chain(self._tls.certificate, self._tls.key)
            self._context, self._stamp = context, stamp
        return self._context


def _cut_off(request: socket.socket) -> None:
    try:
        request.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


#: Error -> HTTP status; the nearest class of an error's ancestry decides.
_STATUS: dict[type[MosaicError], int] = {BadInput: 400, Refused: 403, Unavailable: 503, MosaicError: 500}


def _handler(parts: Parts, issuer: Issuer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _PATIENCE_S
        server_version, sys_version = "mosaic", ""

        def do_GET(self) -> None:
            if self.path == "/ca":
                self._answer(200, "application/x-pem-file", issuer.ca())
            else:
                self._say(404, "not_found", "agents ask for /ca and /join")

        def do_POST(self) -> None:
            if self.path != "/join":
                self._say(404, "not_found", "agents ask for /ca and /join")
                return
            self._guarded(lambda: self._join(_read(self)))

        def _join(self, asked: dict[str, str]) -> None:
            issued = _issue(asked, parts, issuer)
            names = {"agent_id": asked["agent_id"], "serial": issued.serial}
            log.info("an agent joined", address=self.client_address[0], **names)
            parts.changes.notify()
            body = {"certificate": issued.pem.decode(), "expires_at": issued.expires.isoformat()}
            self._answer(200, "application/json", json.dumps(body).encode())

        def _guarded(self, answer: Callable[[], None]) -> None:
            try:
                answer()
            except MosaicError as error:
                log.warning("an agent may not join", reason=str(error), address=self.client_address[0])
                status = next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)
                self._say(status, error.code, str(error))

        def _say(self, status: int, code: str, detail: str) -> None:
            self._answer(status, "application/json", json.dumps({"code": code, "detail": detail}).encode())

        def _answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing: what matters is logged above."""

    return Handler


def _read(handler: BaseHTTPRequestHandler) -> dict[str, str]:
    length = handler.headers.get("Content-Length", "")
    if not (length.isascii() and length.isdigit() and int(length) <= _REQUEST_BYTES):
        raise BadInput("request to join", [f"its Content-Length is {length[:20]!r}; it is at most {_REQUEST_BYTES}"])
    try:
        asked = json.loads(handler.rfile.read(int(length)))
    except (ValueError, RecursionError) as error:
        raise BadInput("request to join", ["it is not JSON"]) from error
    texts = isinstance(asked, dict) and all(isinstance(value, str) for value in asked.values())
    missing = [name for name in ("agent_id", "request") if not texts or name not in asked]
    if missing:
        raise BadInput("request to join", [f"{name} is missing" for name in missing])
    return dict(asked)


def _issue(asked: dict[str, str], parts: Parts, issuer: Issuer) -> Issued:
    request = asked["request"].encode()
    if "kubernetes_token" in asked:
        if parts.pods is None:
            raise Refused("pods cannot join here: MOSAIC_REGISTRY_KUBERNETES_JWKS is not set")
        pod, names = parts.pods.pod_of(asked["kubernetes_token"], parts.clock()), {"catalog": parts.catalog}
        return admission.join_as_pod(asked["agent_id"], pod, request, **names, issuer=issuer, now=parts.clock())
    token = JoinToken.read(asked.get("token", ""))
    return admission.join(token, asked["agent_id"], request, catalog=parts.catalog, issuer=issuer, now=parts.clock())
