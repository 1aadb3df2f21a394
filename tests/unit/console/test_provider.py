"""Signing in by an identity provider: what comes back is believed only when everything about it is right."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from joserfc import jwt
from joserfc.jwk import RSAKey

from mosaic.errors import BadInput, Refused, ServiceUnavailable, Unauthenticated
from mosaic.ids import TeamName
from mosaic.model.identity import Role
from mosaic_console.adapters.oidc_provider import OidcProvider
from mosaic_console.domain.provider import Claims, Flow, Vouched, read_teams
from tests.fakes.identity_provider import CLIENT, SECRET, IdentityProvider, serving

BACK = "https://fleet.example.org/sign-in/callback"
TEAMS = read_teams("ml-vision=vision:researcher; ml-leads=vision:team-admin; cn=robots,dc=x=robots:viewer")


@pytest.fixture(scope="module")
def running() -> Iterator[IdentityProvider]:
    with serving() as provider:
        yield provider


@pytest.fixture
def provider(running: IdentityProvider) -> IdentityProvider:
    running.forge, running.claims = running.sign, {}
    running.keys = running.keys[:1]
    running.person = {"sub": "7", "preferred_username": "eve", "groups": ["ml-vision"]}
    return running


def ours(provider: IdentityProvider, secret: str = SECRET, claims: Claims | None = None) -> OidcProvider:
    mapping = claims or Claims(teams=TEAMS)
    return OidcProvider(provider.issuer, CLIENT, secret, scopes="openid profile", claims=mapping)


def code_of(us: OidcProvider, flow: Flow) -> str:
    """Return what the browser brings back."""
    answer = httpx2.get(us.address(flow, BACK), follow_redirects=False)
    back = parse_qs(urlsplit(answer.headers["location"]).query)
    assert flow.is_answered_by(back["state"][0])
    return back["code"][0]


def sign_in(us: OidcProvider) -> Vouched:
    flow = Flow.new()
    return us.redeem(code_of(us, flow), flow, BACK)


def test_who_the_provider_vouches_for_is_who_it_says(provider: IdentityProvider) -> None:
    provider.claims = {"name": "Eve", "email": "eve@example.org"}

    vouched = sign_in(ours(provider))

    assert vouched == Vouched(
        provider.issuer, "7", "eve", "Eve", "eve@example.org", {TeamName("vision"): Role.RESEARCHER}
    )


def test_keys_that_were_turned_are_found(provider: IdentityProvider) -> None:
    us = ours(provider)
    sign_in(us)
    us._kept = {url: (asked_at - 60, value) for url, (asked_at, value) in us._kept.items()}
    provider.turn_keys()

    assert sign_in(us).subject == "7"


def packed(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def unsigned(claims: dict[str, Any]) -> str:
    return f"{packed({'alg': 'none'})}.{packed(claims)}."


def by_shared_secret(claims: dict[str, Any], secret: bytes) -> str:
    told = f"{packed({'alg': 'HS256', 'kid': 'rsa-1'})}.{packed(claims)}"
    signature = hmac.new(secret, told.encode(), hashlib.sha256).digest()
    return f"{told}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


FORGERIES: dict[str, Callable[[IdentityProvider], Callable[[dict[str, Any]], str]]] = {
    "no signature": lambda _: unsigned,
    "the public key as a shared secret": lambda provider: (
        lambda claims: by_shared_secret(claims, provider.keys[0].as_pem(private=False))
    ),
    "another's key under our key's name": lambda _: (
        lambda claims: jwt.encode({"alg": "RS256", "kid": "rsa-1"}, claims, RSAKey.generate_key(2048))
    ),
    "a key that nobody published": lambda _: (
        lambda claims: jwt.encode({"alg": "RS256", "kid": "mine"}, claims, RSAKey.generate_key(2048))
    ),
    "an algorithm that we do not take": lambda provider: (
        lambda claims: jwt.encode({"alg": "PS256", "kid": "rsa-1"}, claims, provider.keys[0], algorithms=["PS256"])
    ),
    "another issuer": lambda provider: lambda claims: provider.sign({**claims, "iss": "https://evil.example"}),
    "another audience": lambda provider: lambda claims: provider.sign({**claims, "aud": "another"}),
    "made for another client": lambda provider: (
        lambda claims: provider.sign({**claims, "aud": [CLIENT, "another"], "azp": "another"})
    ),
    "another nonce": lambda provider: lambda claims: provider.sign({**claims, "nonce": "x" * 43}),
    "no nonce": lambda provider: lambda claims: provider.sign({**claims, "nonce": None}),
    "too old": lambda provider: lambda claims: provider.sign({**claims, "exp": claims["iat"] - 120}),
    "no end": lambda provider: lambda claims: provider.sign({key: claims[key] for key in claims if key != "exp"}),
    "from the future": lambda provider: lambda claims: provider.sign({**claims, "iat": claims["iat"] + 3600}),
    "nobody": lambda provider: lambda claims: provider.sign({**claims, "sub": ""}),
    "no token": lambda _: lambda _claims: "",
    "rubbish": lambda _: lambda _claims: "a.b.c",
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_token_with_anything_wrong_is_not_believed(provider: IdentityProvider, what: str) -> None:
    provider.forge = FORGERIES[what](provider)

    with pytest.raises(Unauthenticated):
        sign_in(ours(provider))


def test_a_token_that_asks_for_what_we_do_not_understand_is_not_believed(provider: IdentityProvider) -> None:
    """``crit`` says: whoever does not know this must refuse."""

    def critical(claims: dict[str, Any]) -> str:
        header = {"alg": "RS256", "kid": "rsa-1", "crit": ["audience-of-one"], "audience-of-one": True}
        told = f"{packed(header)}.{packed(claims)}"
        signature = provider.keys[0].private_key.sign(told.encode(), PKCS1v15(), SHA256())
        return f"{told}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"

    provider.forge = critical

    with pytest.raises(Unauthenticated):
        sign_in(ours(provider))


def test_a_code_is_good_once_and_only_for_who_asked(provider: IdentityProvider) -> None:
    us, flow = ours(provider), Flow.new()
    code = code_of(us, flow)
    with pytest.raises(Unauthenticated):
        us.redeem(code, Flow(flow.state, flow.nonce, Flow.new().verifier), BACK)

    fresh = code_of(us, flow)
    us.redeem(fresh, flow, BACK)
    with pytest.raises(Unauthenticated):
        us.redeem(fresh, flow, BACK)


def test_a_wrong_secret_of_ours_is_told(provider: IdentityProvider) -> None:
    with pytest.raises(Unauthenticated, match="invalid_client"):
        sign_in(ours(provider, secret="wrong"))


@pytest.mark.parametrize(
    ("groups", "teams"),
    [
        (["ml-vision", "ml-leads"], {"vision": Role.TEAM_ADMIN}),
        (["ml-leads", "ml-vision"], {"vision": Role.TEAM_ADMIN}),
        (["cn=robots,dc=x"], {"robots": Role.VIEWER}),
        ("ml-vision", {"vision": Role.RESEARCHER}),
        (["ml-visio", "ml-vision2", "ML-VISION", 7, None], {}),
        (None, {}),
        ({"ml-vision": 1}, {}),
    ],
)
def test_groups_become_roles_in_teams_letter_by_letter(groups: Any, teams: dict[str, Role]) -> None:
    claims = {"iss": "i", "sub": "7", "preferred_username": "eve", "groups": groups}

    assert teams == Claims(teams=TEAMS).vouched(claims).teams


def test_without_a_mapping_the_provider_says_nothing_of_teams() -> None:
    claims = {"iss": "i", "sub": "7", "preferred_username": "eve", "groups": ["ml-vision"]}

    assert Claims().vouched(claims).teams is None


@pytest.mark.parametrize(
    ("user_claim", "claims"),
    [
        ("preferred_username", {}),
        ("preferred_username", {"preferred_username": ["eve"]}),
        ("email", {"email": "eve@example.org"}),
        ("email", {"email": "eve@example.org", "email_verified": False}),
    ],
)
def test_who_has_no_name_that_counts_does_not_enter(user_claim: str, claims: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        Claims(user_claim=user_claim).vouched({"iss": "i", "sub": "7", **claims})


@pytest.mark.parametrize("text", ["x", "x=vision", "x=vision:king", "x=vision:admin", "=vision:viewer", "x=a b:viewer"])
def test_a_mapping_that_says_nothing_is_told(text: str) -> None:
    with pytest.raises(BadInput):
        read_teams(f"ml=vision:viewer; {text}")


@pytest.mark.parametrize("issuer", ["http://id.example.org", "ftp://x", "", "https://", "javascript:alert(1)"])
def test_a_provider_without_tls_is_not_trusted(issuer: str) -> None:
    with pytest.raises(BadInput):
        OidcProvider(issuer, CLIENT, SECRET, scopes="openid", claims=Claims())


def test_a_provider_that_calls_itself_otherwise_is_refused(provider: IdentityProvider) -> None:
    us = OidcProvider(f"{provider.issuer}/", CLIENT, SECRET, scopes="openid", claims=Claims())

    with pytest.raises(Refused):
        us.address(Flow.new(), BACK)


def test_a_provider_that_is_away_is_told() -> None:
    us = OidcProvider("http://127.0.0.1:1", CLIENT, SECRET, scopes="openid", claims=Claims())

    with pytest.raises(ServiceUnavailable):
        us.address(Flow.new(), BACK)


@pytest.mark.parametrize("cookie", ["", "a.b.c", "x" * 131, ".".join(["x" * 43] * 4), ".".join(["x" * 43] * 2)])
def test_a_strange_cookie_is_no_flow(cookie: str) -> None:
    assert Flow.read(cookie) is None


def test_a_flow_is_kept_by_the_browser_alone() -> None:
    flow = Flow.new()

    assert flow == Flow.read(flow.cookie)
    assert flow.verifier not in repr(flow)
    assert not flow.is_answered_by("")
    assert not flow.is_answered_by(flow.state[:-1] + "é")
