"""An OpenID Connect provider over HTTP: where it is, and whom it vouches for."""

from __future__ import annotations

import ipaddress
import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, KeySet, RSAKey

from mosaic.errors import BadInput, Refused, ServiceUnavailable, Unauthenticated
from mosaic_console.domain.provider import Claims, Flow, Vouched

#: No others: `none` is no signature, and with a shared secret whoever checks could also forge.
ALGORITHMS = ["RS256", "ES256"]
_TIMEOUT_S = 10.0
#: Clocks of two machines differ.
_LEEWAY_S = 60
_KEEP_S = 600.0
#: A token with an unknown key makes us look for new keys, but not more often than this.
_LOOK_AGAIN_S = 30.0
_MOST_BYTES = 1024 * 1024

Clock = Callable[[], float]


class OidcProvider:
    """One provider; may be used by several threads."""

    def __init__(
        self, issuer: str, client_id: str, client_secret: str, *, scopes: str, claims: Claims, clock: Clock = time.time
    ) -> None:
        """Know the provider; nothing is asked before somebody signs in.

        Raises:
            BadInput: the issuer is no address that can be trusted.
        """
        _check_url("MOSAIC_CONSOLE_OIDC_ISSUER", issuer)
        self.issuer = issuer
        self._client_id, self._client_secret, self._scopes = client_id, client_secret, scopes
        self._claims = claims
        self._clock = clock
        self._http = httpx2.Client(timeout=_TIMEOUT_S, follow_redirects=False)
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, Any]] = {}

    def address(self, flow: Flow, redirect_uri: str) -> str:
        """Return where a browser is sent to sign in.

        Raises:
            ServiceUnavailable: the provider does not answer.
        """
        asked = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": redirect_uri,
            "scope": self._scopes,
            "state": flow.state,
            "nonce": flow.nonce,
            "code_challenge": flow.challenge,
            "code_challenge_method": "S256",
        }
        endpoint = self._endpoint("authorization_endpoint")
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"

    def redeem(self, code: str, flow: Flow, redirect_uri: str) -> Vouched:
        """Return whom the provider vouches for with *code*.

        Raises:
            Unauthenticated: the code is no good, or the provider's token is not to be believed.
            ServiceUnavailable: the provider does not answer.
            BadInput: the token does not say who it is.
        """
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": self._client_id,
            "code_verifier": flow.verifier,
        }
        auth = (self._client_id, self._client_secret) if self._client_secret else None
        told = self._ask("POST", self._endpoint("token_endpoint"), data=form, auth=auth)
        token = told.get("id_token")
        if not isinstance(token, str):
            raise Unauthenticated("the identity provider gave no ID token; is `openid` among the scopes?")
        return self._claims.vouched(self._verified(token, flow.nonce))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _verified(self, token: str, nonce: str) -> Mapping[str, Any]:
        rules = jwt.JWTClaimsRegistry(
            now=lambda: int(self._clock()),
            leeway=_LEEWAY_S,
            iss={"essential": True, "value": self.issuer},
            aud={"essential": True, "value": self._client_id},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            claims = self._decoded(token).claims
            rules.validate(claims)
        except (JoseError, ValueError, TypeError) as error:
            raise Unauthenticated(f"the identity provider's token is not to be believed: {error}") from error
        if claims.get("azp", self._client_id) != self._client_id:
            raise Unauthenticated("the identity provider's token was made for somebody else")
        return claims

    def _decoded(self, token: str) -> jwt.Token:
        try:
            return jwt.decode(token, self._keys(), algorithms=ALGORITHMS)
        except (JoseError, ValueError):
            # It may be signed by a key that is newer than those we know.
            return jwt.decode(token, self._keys(at_most_s=_LOOK_AGAIN_S), algorithms=ALGORITHMS)

    def _keys(self, at_most_s: float = _KEEP_S) -> KeySet:
        told = self._get(self._endpoint("jwks_uri"), at_most_s).get("keys", [])
        kinds: dict[str, Any] = {"RSA": RSAKey, "EC": ECKey}
        signing = [key for key in told if key.get("kty") in kinds and key.get("use", "sig") == "sig"]
        return KeySet([kinds[key["kty"]].import_key(key) for key in signing])

    def _endpoint(self, name: str) -> str:
        found = self._get(f"{self.issuer.rstrip('/')}/.well-known/openid-configuration", _KEEP_S)
        if found.get("issuer") != self.issuer:
            raise Refused(
                f"the identity provider calls itself {found.get('issuer')!r}, MOSAIC_CONSOLE_OIDC_ISSUER calls it "
                f"{self.issuer!r}: they must be the same, letter by letter"
            )
        endpoint = str(found.get(name, ""))
        _check_url(f"{name} of the identity provider", endpoint)
        return endpoint

    def _get(self, url: str, at_most_s: float) -> Any:
        with self._lock:
            asked_at, value = self._kept.get(url, (0.0, None))
        if value is None or self._clock() - asked_at >= at_most_s:
            value = self._ask("GET", url)
            with self._lock:
                self._kept[url] = (self._clock(), value)
        return value

    def _ask(self, method: str, url: str, **more: Any) -> Any:
        try:
            answer = self._http.request(method, url, headers={"Accept": "application/json"}, **more)
            if len(answer.content) > _MOST_BYTES:
                raise ValueError("the answer is too long")
            value = json.loads(answer.content)
            if not isinstance(value, dict):
                raise ValueError("the answer is no object")
        except (httpx2.HTTPError, ValueError, RecursionError) as error:
            raise ServiceUnavailable("the identity provider", url, str(error)[:200]) from error
        if answer.is_error:
            raise Unauthenticated(f"the identity provider refuses: {str(value.get('error', answer.status_code))[:100]}")
        return value


def _check_url(what: str, url: str) -> None:
    """Let pass https, and http on this machine."""
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http" and _is_loopback(parts.hostname or ""):
        return
    raise BadInput(what, [f"{url!r} is not https://..."])


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
