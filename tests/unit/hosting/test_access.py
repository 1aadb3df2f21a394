"""What stands before every gRPC method."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import timedelta
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding

from mosaic.errors import Forbidden, Unauthenticated
from mosaic.hosting.access import AccessControl, caller_of, needs, peer_of
from mosaic.hosting.pki import new_key, utc_now
from mosaic.ids import TeamName, UserName
from mosaic.model.identity import Caller, Permission, Role
from mosaic.wire.caller import CALLER_KEY, speak_for

ANN = Caller(
    UserName("ann"),
    teams={TeamName("vision"): Role.RESEARCHER},
    roles=frozenset({Role.OPERATOR}),
    via="token:7",
    scopes=frozenset({Permission.RUNS_READ, Permission.FLEET_CHANGE}),
)
CONSOLE, SCHEDULER, AGENT = "mosaic://service/console", "mosaic://service/scheduler", "mosaic://agent/a1"
ANOTHER = "mosaic://service/console2"
URIS = {CONSOLE, SCHEDULER, AGENT, ANOTHER}


@cache
def certificate(*names: str, lifetime: timedelta = timedelta(hours=1)) -> bytes:
    """Return a certificate with these alternative names: URIs, and all others as DNS names."""
    alternative = [
        x509.UniformResourceIdentifier(one) if one in URIS else x509.DNSName(one.removeprefix("DNS:")) for one in names
    ]
    nobody = x509.Name([])
    key = new_key()
    builder = x509.CertificateBuilder().subject_name(nobody).issuer_name(nobody).public_key(key.public_key())
    builder = builder.not_valid_before(utc_now() - timedelta(days=1)).not_valid_after(utc_now() + lifetime)
    builder = builder.add_extension(x509.SubjectAlternativeName(alternative), critical=False).serial_number(0xBEE)
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


class Context:
    """A call, as far as access looks at it."""

    def __init__(self, names: Sequence[str] = (), metadata: Sequence[tuple[str, Any]] = ()) -> None:
        self._shown = [certificate(*names)] if names else []
        self._metadata = metadata

    def auth_context(self) -> Mapping[str, Sequence[bytes]]:
        return {"x509_pem_cert": self._shown}

    def invocation_metadata(self) -> Sequence[tuple[str, Any]]:
        return self._metadata


def test_the_console_speaks_for_a_person_and_nothing_of_them_is_lost() -> None:
    assert ANN == caller_of(Context([CONSOLE], speak_for(ANN)))


@pytest.mark.parametrize(
    "names", [[], [SCHEDULER], [AGENT], [ANOTHER], ["console"], [f"DNS:{CONSOLE}"], [CONSOLE, AGENT]]
)
def test_nobody_else_speaks_for_people(names: Sequence[str]) -> None:
    with pytest.raises(Unauthenticated):
        caller_of(Context(names, speak_for(ANN)))


@pytest.mark.parametrize("told", [b"", b"{", b"[]", b"{}", b'{"user": "ann", "roles": ["king"]}', b"\xff", b"[" * 9000])
def test_a_name_that_cannot_be_read_is_no_name(told: bytes) -> None:
    with pytest.raises(Unauthenticated):
        caller_of(Context([CONSOLE], [(CALLER_KEY, told)]))


def test_a_certificate_names_a_service_or_an_agent() -> None:
    service, agent = peer_of(Context([SCHEDULER])), peer_of(Context(["localhost", AGENT]))

    assert service is not None
    assert agent is not None
    assert ("scheduler", "a1") == (service.service, agent.agent_id)
    assert peer_of(Context(["localhost"])) is None


class Details:
    """The method that is called."""

    method = "/x/Y"


class Handler:
    """A method that answers with its request."""

    request_streaming = response_streaming = False
    unary_stream = stream_unary = stream_stream = request_deserializer = response_serializer = None

    @staticmethod
    def unary_unary(request: Any, context: Any) -> Any:
        return request


def call(permission: Permission | None, context: Context) -> Any:
    """Call a method that needs *permission*."""
    control = AccessControl({Details.method: permission} if permission else {})
    return control.intercept_service(lambda _: Handler, Details).unary_unary("asked", context)


@pytest.mark.parametrize(
    ("permission", "names"),
    [
        (Permission.ANYONE, []),
        (Permission.AGENT, [AGENT]),
        (Permission.SERVICE, [SCHEDULER]),
        (Permission.CONSOLE, [CONSOLE]),
        (Permission.RUNS_READ, [CONSOLE]),
        (Permission.FLEET_CHANGE, [CONSOLE]),
    ],
)
def test_who_may_is_answered(permission: Permission, names: Sequence[str]) -> None:
    assert "asked" == call(permission, Context(names, speak_for(ANN)))


@pytest.mark.parametrize("permission", [None, *(one for one in Permission if one is not Permission.ANYONE)])
def test_a_stranger_is_not(permission: Permission | None) -> None:
    with pytest.raises(Unauthenticated):
        call(permission, Context())


@pytest.mark.parametrize(
    ("permission", "names"),
    [
        (None, [CONSOLE]),
        (Permission.AGENT, [CONSOLE]),
        (Permission.AGENT, [SCHEDULER]),
        (Permission.SERVICE, [AGENT]),
        (Permission.CONSOLE, [SCHEDULER]),
        (Permission.AUDIT_READ, [CONSOLE]),
        (Permission.RUNS_SUBMIT, [CONSOLE]),
    ],
)
def test_who_may_not_is_refused(permission: Permission | None, names: Sequence[str]) -> None:
    with pytest.raises(Forbidden):
        call(permission, Context(names, speak_for(ANN)))


def test_a_certificate_that_expired_while_its_connection_lasted_is_none() -> None:
    context = Context()
    context._shown = [certificate(SCHEDULER, lifetime=timedelta(seconds=-1))]

    with pytest.raises(Unauthenticated):
        call(Permission.SERVICE, context)


def test_a_revoked_certificate_is_none() -> None:
    control = AccessControl({Details.method: Permission.AGENT}, lambda peer: peer.serial == "bee")

    with pytest.raises(Unauthenticated, match="revoked"):
        control.intercept_service(lambda _: Handler, Details).unary_unary("asked", Context([AGENT]))


@pytest.mark.parametrize(("named", "is_answered"), [("a1", True), ("a2", False), ("", False), ("a11", False)])
def test_an_agent_speaks_for_itself_alone(named: str, is_answered: bool) -> None:
    control = AccessControl({Details.method: Permission.AGENT})
    request = SimpleNamespace(agent_id=named)

    with nullcontext() if is_answered else pytest.raises(Forbidden):
        assert request is control.intercept_service(lambda _: Handler, Details).unary_unary(request, Context([AGENT]))


def test_an_agent_that_names_a_person_is_refused() -> None:
    with pytest.raises(Unauthenticated):
        call(Permission.RUNS_READ, Context([AGENT], speak_for(ANN)))


def test_a_declaration_stays_with_its_method() -> None:
    @needs(Permission.AUDIT_READ)
    def method() -> None: ...

    assert Permission.AUDIT_READ is method.permission  # type: ignore[attr-defined]


def test_the_caller_is_json_on_the_wire() -> None:
    ((_, told),) = speak_for(ANN)

    assert "researcher" == json.loads(told)["teams"]["vision"]
