"""Tokens of Kubernetes service accounts, checked against the keys of the cluster (JWKS)."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from mosaic.errors import Unavailable
from mosaic_registry.domain.admission import NotInvited, Pod

AUDIENCE = "mosaic"
#: Where a pod finds the CA of its cluster and a token for its API.
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TOKEN_BYTES = 16 * 1024
_KEYS_BYTES = 256 * 1024
_TIMEOUT_S = 5.0
#: Keys are asked for anew when one is unknown, but not more often than that.
_ASK_AGAIN_S = 10.0
_P256_BYTES = 32
#: Clocks differ.
_SKEW_S = 60.0
_WEAKEST_RSA = 2048

#: Algorithm -> the only kind of key it is checked with: a token does not choose what its key is taken for.
_KEY_KINDS = {"RS256": "RSA", "ES256": "EC"}

Keys = Mapping[str, Any]


class ClusterTokens:
    """Says which pod a token stands for."""

    def __init__(
        self,
        source: Callable[[], bytes],
        *,
        issuer: str,
        accounts: Collection[str],
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        """Believe the keys that *source* returns, for tokens of *issuer* and of *accounts* (``namespace/name``)."""
        self._source = source
        self._issuer = issuer
        self._accounts = frozenset(accounts)
        self._timer = timer
        self._lock = threading.Lock()
        self._keys: dict[str, Keys] = {}
        self._asked_at = -_ASK_AGAIN_S

    def pod_of(self, token: str, now: datetime) -> Pod:
        """Return the pod that *token* stands for.

        Raises:
            NotInvited: it stands for none that may join; the reason names no key.
            Unavailable: the cluster's keys cannot be read now.
        """
        header, claims, signed, signature = _parts(token)
        self._check_signature(header, signed, signature)
        self._check_claims(claims, now)
        return self._pod(claims)

    def _check_signature(self, header: Keys, signed: bytes, signature: bytes) -> None:
        algorithm = str(header.get("alg"))
        if algorithm not in _KEY_KINDS or "crit" in header:
            raise NotInvited("the token of the pod is not signed as the cluster signs (RS256 or ES256)")
        key = self._key(str(header.get("kid", "")))
        if key is None or key.get("kty") != _KEY_KINDS[algorithm] or key.get("use", "sig") != "sig":
            raise NotInvited("the token of the pod is signed with no key of the cluster")
        try:
            _verify(key, signed, signature)
        except (InvalidSignature, ValueError, KeyError, TypeError) as error:
            raise NotInvited("the token of the pod is not signed by the cluster") from error

    def _check_claims(self, claims: Keys, now: datetime) -> None:
        audiences = claims.get("aud")
        if claims.get("iss") != self._issuer:
            raise NotInvited("the token of the pod is of another cluster")
        if AUDIENCE not in (audiences if isinstance(audiences, list) else [audiences]):
            raise NotInvited(f"the token of the pod is not for the audience {AUDIENCE!r}")
        begin, end = _moment(claims.get("nbf", 0)), _moment(claims.get("exp"))
        if begin is None or end is None or not begin - _SKEW_S <= now.timestamp() < end:
            raise NotInvited("the token of the pod has expired, or is not good yet")

    def _pod(self, claims: Keys) -> Pod:
        told = claims.get("kubernetes.io")
        told = told if isinstance(told, dict) else {}
        names = [told.get("namespace"), *(_name(told.get(kind)) for kind in ("serviceaccount", "pod"))]
        namespace, account, pod = (name if isinstance(name, str) else "" for name in names)
        if claims.get("sub") != f"system:serviceaccount:{namespace}:{account}" or not pod:
            raise NotInvited("the token is not that of a pod")
        if f"{namespace}/{account}" not in self._accounts:
            raise NotInvited(f"pods of the service account {namespace}/{account} may not join")
        return Pod(pod, f"{namespace}/{account}")

    def _key(self, name: str) -> Keys | None:
        with self._lock:
            if name not in self._keys and self._timer() - self._asked_at >= _ASK_AGAIN_S:
                self._asked_at = self._timer()
                self._keys = _read_keys(self._source())
            return self._keys.get(name)


def from_file(path: Path) -> Callable[[], bytes]:
    """Return how the keys are read from a file."""

    def read() -> bytes:
        try:
            return path.read_bytes()
        except OSError as error:
            raise Unavailable(f"the keys of the cluster cannot be read: {error}") from error

    return read


def from_cluster(url: str, account: Path = _ACCOUNT) -> Callable[[], bytes]:
    """Return how the keys are asked of the cluster's API, as any of its service accounts may."""

    def read() -> bytes:
        try:
            token = (account / "token").read_text(encoding="utf-8").strip()
            context = ssl.create_default_context(cafile=str(account / "ca.crt"))
            request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=context) as answer:
                return bytes(answer.read(_KEYS_BYTES))
        except (OSError, ValueError) as error:
            raise Unavailable(f"the keys of the cluster cannot be read from {url}: {error}") from error

    return read


def _parts(token: str) -> tuple[Keys, Keys, bytes, bytes]:
    try:
        if len(token) > _TOKEN_BYTES:
            raise ValueError
        head, body, signature = token.split(".")
        header, claims = json.loads(_decoded(head)), json.loads(_decoded(body))
        if not isinstance(header, dict) or not isinstance(claims, dict):
            raise TypeError
        return header, claims, f"{head}.{body}".encode("ascii"), _decoded(signature)
    except (ValueError, TypeError, RecursionError) as error:
        raise NotInvited("the token of the pod cannot be read") from error


def _read_keys(document: bytes) -> dict[str, Keys]:
    try:
        return {str(key["kid"]): key for key in json.loads(document)["keys"] if isinstance(key, dict) and "kid" in key}
    except (ValueError, KeyError, TypeError) as error:
        raise Unavailable("the keys of the cluster cannot be read: they are no JWKS") from error


def _verify(key: Keys, signed: bytes, signature: bytes) -> None:
    if key["kty"] == "RSA":
        public = rsa.RSAPublicNumbers(_number(key["e"]), _number(key["n"])).public_key()
        if public.key_size < _WEAKEST_RSA:
            raise ValueError("a key that can be broken")
        public.verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
        return
    if key["crv"] != "P-256" or len(signature) != 2 * _P256_BYTES:
        raise ValueError("not ES256")
    point = ec.EllipticCurvePublicNumbers(_number(key["x"]), _number(key["y"]), ec.SECP256R1()).public_key()
    halves = (int.from_bytes(signature[half : half + _P256_BYTES], "big") for half in (0, _P256_BYTES))
    point.verify(encode_dss_signature(*halves), signed, ec.ECDSA(hashes.SHA256()))


def _number(text: str) -> int:
    return int.from_bytes(_decoded(text), "big")


def _decoded(text: str) -> bytes:
    return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _moment(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) else None


def _name(told: Any) -> Any:
    return told.get("name") if isinstance(told, dict) else None
