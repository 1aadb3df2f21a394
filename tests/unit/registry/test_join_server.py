"""Agents and strangers at the door where agents join: real HTTPS, real certificates."""

from __future__ import annotations

import json
import socket
import ssl
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from mosaic.agent.control import joining
from mosaic.agent.control.joining import Credentials, identity_of, join
from mosaic.errors import BadInput, Refused, ServiceUnavailable
from mosaic.hosting.join_token import JoinToken
from mosaic.hosting.pki import CA_FILE, holder_of, new_key, request_pem
from mosaic.ids import WorkerName
from mosaic.testing.certificates import ROOT, Certificates
from mosaic_registry.bootstrap import utc_now
from mosaic_registry.entrypoints.service import RegistryService
from mosaic_registry.handlers import admission
from mosaic_registry.settings import Settings


class Fleet:
    """A registry that agents may join."""

    def __init__(self, folder: Path) -> None:
        certificates = Certificates(folder / "pki")
        tls = certificates.service("registry")
        settings = Settings(
            f"sqlite:///{folder}/r.db",
            tls_ca_file=tls.ca,
            tls_cert_file=tls.certificate,
            tls_key_file=tls.key,
            ca_key_file=str(folder / "pki" / CA_FILE),
            join_address="127.0.0.1:0",
        )
        self.service = RegistryService(settings, metrics=CollectorRegistry())
        self.service.start()
        self.url = f"https://{self.service.join_address}"
        self.parts = self.service._parts

    def invite(self, uses: int = 1) -> JoinToken:
        parts = {"catalog": self.parts.catalog, "issuer": self.parts.issuer, "now": utc_now()}
        token, _ = admission.invite(ROOT, uses=uses, ttl_s=60, worker=WorkerName(""), **parts)
        return token

    def post(self, body: Any, path: str = "/join", **headers: str) -> tuple[int, dict[str, Any]]:
        """Send *body* as it is, or as JSON, and return status and answer."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = joining._Connection(self.url, context)
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", path, content, headers)
        answer = connection.getresponse()
        status, said = answer.status, answer.read()
        connection.close()
        return status, json.loads(said)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    made = Fleet(tmp_path_factory.mktemp("registry"))
    yield made
    made.service.stop()


def test_an_invited_agent_gets_a_certificate_that_names_it_and_keeps_it_to_itself(fleet: Fleet, tmp_path: Path) -> None:
    files = join(tmp_path, "a1", Credentials(fleet.url, fleet.invite().text), patience_s=0)

    holder = holder_of(files.read().certificate)
    assert holder is not None
    assert "mosaic://agent/a1" == holder.uri
    assert {0o600} == {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert {"ca.pem", "identity.pem"} == {path.name for path in tmp_path.iterdir()}
    assert files == identity_of(tmp_path, "a1")
    assert identity_of(tmp_path, "a2") is None


def test_a_registry_with_another_ca_never_sees_the_secret(fleet: Fleet, tmp_path: Path) -> None:
    impostor = Fleet(tmp_path)
    shown: list[Any] = []
    impostor.parts.catalog.change = lambda: shown.append("asked")  # type: ignore[assignment,func-returns-value,return-value]

    with pytest.raises(Refused, match="another fingerprint"):
        join(tmp_path / "home", "a9", Credentials(impostor.url, fleet.invite().text), patience_s=0)

    assert [] == shown
    impostor.service.stop()


def test_who_shows_the_right_ca_without_its_key_never_sees_the_secret(fleet: Fleet, tmp_path: Path) -> None:
    impostor = Fleet(tmp_path)
    issuer = impostor.parts.issuer
    assert fleet.parts.issuer is not None
    assert issuer is not None
    stolen = fleet.parts.issuer.ca()
    issuer.ca = lambda: stolen  # type: ignore[method-assign]

    with pytest.raises(ServiceUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
        join(tmp_path / "home", "a9", Credentials(impostor.url, fleet.invite().text), patience_s=0)
    impostor.service.stop()


@pytest.mark.parametrize("spoil", ["invite_id", "secret"])
def test_who_is_not_invited_is_told_why_and_what_to_do(fleet: Fleet, tmp_path: Path, spoil: str) -> None:
    token = fleet.invite()
    wrong = replace(token, **{spoil: "0" * len(getattr(token, spoil))})

    with pytest.raises(Refused, match="mosaic agents invite"):
        join(tmp_path, "a2", Credentials(fleet.url, wrong.text), patience_s=0)


def test_an_answer_that_was_lost_costs_no_second_invitation(fleet: Fleet, tmp_path: Path) -> None:
    shown = Credentials(fleet.url, fleet.invite().text)
    with pytest.raises(ServiceUnavailable):
        join(tmp_path, "a3", replace(shown, url="https://127.0.0.1:1"), patience_s=0)
    request = request_pem(new_key()).decode()
    for _ in range(2):
        assert 200 == fleet.post({"token": shown.token, "agent_id": "a3", "request": request})[0]


@pytest.mark.parametrize("text", ["", "mosaic_join_x", "mosaic_pat_1_2_3", f"mosaic_join_{'0' * 64}_{'0' * 16}_"])
def test_what_is_no_invitation_is_not_even_sent(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInput):
        join(tmp_path, "a1", Credentials("https://127.0.0.1:1", text), patience_s=0)


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"", {}, 400),
        (b"[" * 20_000, {}, 400),
        (b"[]", {}, 400),
        (b"null", {}, 400),
        ({"agent_id": 1, "request": "x"}, {}, 400),
        ({"agent_id": "a", "request": "x"}, {}, 400),
        ({"token": "x", "agent_id": "a", "request": "x"}, {}, 400),
        (b"x", {"Content-Length": "40000"}, 400),
        (b"x", {"Content-Length": "-1"}, 400),
        (b"x", {"Content-Length": "9" * 30}, 400),
    ],
)
def test_nonsense_is_refused(fleet: Fleet, body: Any, headers: dict[str, str], status: int) -> None:
    assert status == fleet.post(body, **headers)[0]


def test_a_request_with_a_good_invitation_but_no_proof_of_its_key_uses_nothing_up(fleet: Fleet) -> None:
    token = fleet.invite()
    asked = {"token": token.text, "agent_id": "a4", "request": "nonsense"}

    assert 400 == fleet.post(asked)[0]
    assert 200 == fleet.post({**asked, "request": request_pem(new_key()).decode()})[0]


def test_other_paths_and_methods_say_nothing(fleet: Fleet) -> None:
    assert 404 == fleet.post({}, "/")[0]
    assert 404 == fleet.post({}, "/join/../ca")[0]


def test_who_says_nothing_keeps_nobody_out(fleet: Fleet, tmp_path: Path) -> None:
    host, _, port = fleet.service.join_address.rpartition(":")
    with ExitStack() as silent:
        for _ in range(20):
            silent.enter_context(socket.create_connection((host, int(port))))

        join(tmp_path, "a5", Credentials(fleet.url, fleet.invite().text), patience_s=0)
