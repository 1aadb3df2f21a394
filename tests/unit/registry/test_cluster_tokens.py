"""Tokens that pods show, honest and forged, against keys that the test made itself."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from mosaic.errors import Unavailable
from mosaic.hosting.pki import new_key, request_pem, utc_now
from mosaic_registry.adapters.cluster_tokens import ClusterTokens
from mosaic_registry.domain.admission import NotInvited, Pod
from mosaic_registry.handlers import admission
from tests.fakes.catalog import InMemoryCatalog
from tests.unit.registry.test_admission import OwnIssuer

NOW = utc_now()
ISSUER = "https://kubernetes.default.svc.cluster.local"
RSA_KEY, EC_KEY = rsa.generate_private_key(65537, 2048), new_key()
STRANGER = rsa.generate_private_key(65537, 2048)

CLAIMS: dict[str, Any] = {
    "iss": ISSUER,
    "aud": ["mosaic"],
    "sub": "system:serviceaccount:mosaic:agent",
    "exp": NOW.timestamp() + 600,
    "nbf": NOW.timestamp() - 1,
    "kubernetes.io": {"namespace": "mosaic", "serviceaccount": {"name": "agent"}, "pod": {"name": "agent-x1"}},
}


def b64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def number(value: int) -> str:
    return b64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def jwks() -> bytes:
    whole, point = RSA_KEY.public_key().public_numbers(), EC_KEY.public_key().public_numbers()
    keys = [
        {
            "kid": "r",
            "kty": "RSA",
            "alg": "RS256",
            "use": "sig",
            "n": number(whole.n),
            "e": number(whole.e),
        },
        {"kid": "e", "kty": "EC", "crv": "P-256", "x": number(point.x), "y": number(point.y)},
    ]
    return json.dumps({"keys": keys}).encode()


def rs256(signed: bytes, key: rsa.RSAPrivateKey = RSA_KEY) -> bytes:
    return key.sign(signed, padding.PKCS1v15(), hashes.SHA256())


def es256(signed: bytes) -> bytes:
    halves = decode_dss_signature(EC_KEY.sign(signed, ec.ECDSA(hashes.SHA256())))
    return b"".join(half.to_bytes(32, "big") for half in halves)


def with_public_key_as_secret(signed: bytes) -> bytes:
    secret = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return hmac.digest(secret, signed, hashlib.sha256)


def a_token(header: dict[str, Any] | None = None, sign: Callable[[bytes], bytes] = rs256, **claims: Any) -> str:
    """Return a token with these *claims* and *header* instead of the honest ones; None leaves one out."""
    head = {"alg": "RS256", "kid": "r", "typ": "JWT", **(header or {})}
    body = {name: value for name, value in {**CLAIMS, **claims}.items() if value is not None}
    signed = f"{b64(json.dumps(head).encode())}.{b64(json.dumps(body).encode())}"
    return f"{signed}.{b64(sign(signed.encode()))}"


def cluster(source: Callable[[], bytes] = jwks, timer: Callable[[], float] = lambda: 0.0) -> ClusterTokens:
    return ClusterTokens(source, issuer=ISSUER, accounts=["mosaic/agent"], timer=timer)


@pytest.mark.parametrize(
    "token",
    [a_token(), a_token({"alg": "ES256", "kid": "e"}, es256), a_token(aud="mosaic"), a_token(aud=["api", "mosaic"])],
)
def test_a_pod_of_the_cluster_is_known(token: str) -> None:
    assert Pod("agent-x1", "mosaic/agent") == cluster().pod_of(token, NOW)


HOSTILE = {
    "no algorithm": a_token({"alg": "none"}, lambda _: b""),
    "no algorithm, spelt otherwise": a_token({"alg": "None"}, lambda _: b""),
    "no signature": a_token(sign=lambda _: b""),
    "the public key as a shared secret": a_token({"alg": "HS256"}, with_public_key_as_secret),
    "another's key": a_token(sign=lambda signed: rs256(signed, STRANGER)),
    "an unknown key": a_token({"kid": "x"}),
    "no key named": a_token({"kid": None}),
    "an RSA key taken for a curve": a_token({"alg": "ES256", "kid": "r"}, es256),
    "a curve taken for RSA": a_token({"alg": "RS256", "kid": "e"}),
    "its own key": a_token({"jwk": json.loads(jwks())["keys"][0], "kid": None}),
    "a critical extension": a_token({"crit": ["exp"]}),
    "another algorithm of the same key": a_token({"alg": "PS256"}),
    "a list as algorithm": a_token({"alg": ["RS256"]}),
    "an algorithm with a blank": a_token({"alg": "RS256 "}),
    "another audience": a_token(aud=["api"]),
    "no audience": a_token(aud=None),
    "an audience that begins alike": a_token(aud="mosaic2"),
    "another issuer": a_token(iss="https://evil"),
    "expired": a_token(exp=NOW.timestamp() - 1),
    "without end": a_token(exp=None),
    "an end that is no number": a_token(exp="9999999999"),
    "true as end": a_token(exp=True),
    "not yet": a_token(nbf=NOW.timestamp() + 3600),
    "another account": a_token(
        sub="system:serviceaccount:mosaic:other",
        **{"kubernetes.io": {**CLAIMS["kubernetes.io"], "serviceaccount": {"name": "other"}}},
    ),
    "an account that begins alike": a_token(
        sub="system:serviceaccount:mosaic:agent2",
        **{"kubernetes.io": {**CLAIMS["kubernetes.io"], "serviceaccount": {"name": "agent2"}}},
    ),
    "a subject that is not the account": a_token(sub="system:serviceaccount:kube-system:admin"),
    "no pod": a_token(**{"kubernetes.io": {"namespace": "mosaic", "serviceaccount": {"name": "agent"}}}),
    "claims of the wrong kind": a_token(**{"kubernetes.io": ["mosaic"]}),
    "empty": "",
    "two parts": "a.b",
    "four parts": f"{a_token()}.x",
    "no JSON": f"{b64(b'x')}.{b64(b'y')}.{b64(b'z')}",
    "a deep one": f"{b64(b'[' * 5000)}.{b64(b'{}')}.",
    "no ASCII": "ä.ö.ü",
    "too long": a_token(x="x" * 20_000),
    "a signature cut short": a_token()[:-4],
}


@pytest.mark.parametrize("token", HOSTILE.values(), ids=HOSTILE)
def test_what_the_cluster_did_not_sign_for_us_is_refused(token: str) -> None:
    with pytest.raises(NotInvited):
        cluster().pod_of(token, NOW)


def test_keys_are_asked_for_anew_when_one_is_unknown_but_not_by_every_guess() -> None:
    moments, asked = [0.0], []

    def source() -> bytes:
        asked.append(1)
        return b'{"keys": []}' if len(asked) == 1 else jwks()

    tokens = cluster(source, lambda: moments[0])
    for _ in range(5):
        with pytest.raises(NotInvited):
            tokens.pod_of(a_token(), NOW)
    assert 1 == len(asked)

    moments[0] += 11
    assert "agent-x1" == tokens.pod_of(a_token(), NOW).name


def test_keys_that_cannot_be_read_are_waited_for() -> None:
    with pytest.raises(Unavailable):
        cluster(lambda: b"<html>").pod_of(a_token(), NOW)


def test_a_pod_speaks_for_itself_alone() -> None:
    pod, request = cluster().pod_of(a_token(), NOW), request_pem(new_key())
    parts: dict[str, Any] = {"catalog": InMemoryCatalog(), "issuer": OwnIssuer(), "now": NOW}

    assert admission.join_as_pod("agent-x1", pod, request, **parts).serial
    with pytest.raises(NotInvited, match="agent-x1"):
        admission.join_as_pod("agent-x2", pod, request, **parts)
    assert NOW + timedelta(hours=24) >= max(one.expires_at for one in parts["catalog"]._now.certificates())
