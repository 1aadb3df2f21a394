"""A small OpenID Connect provider over real HTTP: it signs in whoever it is told to, and can be told to lie."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

CLIENT, SECRET = "mosaic", "the client's own secret"


class IdentityProvider:
    """Vouches for `person`; `forge` turns the ID token that is right into one that may be wrong."""

    def __init__(self) -> None:
        self.keys: list[Any] = [RSAKey.generate_key(2048, {"kid": "rsa-1", "use": "sig"}, private=True)]
        self.person: dict[str, Any] = {"sub": "7", "preferred_username": "eve", "groups": ["ml-vision"]}
        self.claims: dict[str, Any] = {}
        self.forge: Callable[[dict[str, Any]], str] = self.sign
        self.issuer = ""
        self.asked: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}

    def sign(self, claims: dict[str, Any]) -> str:
        """Return an ID token by the newest key."""
        key = self.keys[-1]
        return str(jwt.encode({"alg": "ES256" if isinstance(key, ECKey) else "RS256", "kid": key.kid}, claims, key))

    def turn_keys(self) -> None:
        """Sign with another key, of another kind, from now on."""
        self.keys.append(ECKey.generate_key("P-256", {"kid": f"ec-{len(self.keys)}", "use": "sig"}, private=True))

    def answer(self, path: str, query: dict[str, str], form: dict[str, str], basic: str) -> tuple[int, Any]:
        """Return status and JSON, or status and where to go."""
        self.asked.append(path)
        if path == "/.well-known/openid-configuration":
            names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
            return 200, {"issuer": self.issuer, **{name: f"{self.issuer}/{name}" for name in names}}
        if path == "/jwks_uri":
            return 200, {"keys": [key.as_dict(private=False) for key in self.keys]}
        if path == "/authorization_endpoint":
            return self._authorize(query)
        if path == "/token_endpoint":
            return self._token(form, basic)
        return 404, {"error": "not_found"}

    def _authorize(self, query: dict[str, str]) -> tuple[int, Any]:
        code = secrets.token_urlsafe(16)
        self._codes[code] = query
        return 302, f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def _token(self, form: dict[str, str], basic: str) -> tuple[int, Any]:
        asked = self._codes.pop(form.get("code", ""), None)
        if asked is None or asked["redirect_uri"] != form.get("redirect_uri"):
            return 400, {"error": "invalid_grant"}
        if basic != base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode():
            return 401, {"error": "invalid_client"}
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        right = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        token = self.forge({**right, **self.person, **self.claims})
        return 200, {"id_token": token, "access_token": "unused", "token_type": "Bearer"}


@contextmanager
def serving() -> Iterator[IdentityProvider]:
    """Serve a provider on a free port of loopback."""
    provider = IdentityProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0"))).decode()
            self._answer({name: values[0] for name, values in parse_qs(body).items()})

        def _answer(self, form: dict[str, str]) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            basic = self.headers.get("authorization", "").removeprefix("Basic ")
            status, told = provider.answer(parts.path, query, form, basic)
            content = b"" if status == 302 else json.dumps(told).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", told)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
