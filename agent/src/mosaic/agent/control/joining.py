"""Getting this agent's first certificate: with an invitation, or as a pod that the cluster vouches for."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import structlog

from mosaic.errors import BadInput, MosaicError, Refused, ServiceUnavailable, Unavailable
from mosaic.hosting.join_token import JoinToken
from mosaic.hosting.pki import (
    AGENT_FILE,
    AGENT_URI,
    holder_of,
    identity_files,
    key_pem,
    load_key,
    new_key,
    replace_file,
    request_pem,
    tls_files,
    utc_now,
)
from mosaic.wire.tls import TlsFiles, server_name

log = structlog.get_logger()

_TIMEOUT_S = 10.0
_ANSWER_BYTES = 256 * 1024
_PAUSE_S = 1.0


@dataclass(frozen=True)
class Credentials:
    """What an agent may show instead of a certificate."""

    #: ``https://host:port`` of the registry's join address.
    url: str
    #: An invitation.
    token: str = ""
    #: The file with the token of the pod's service account, which the cluster renews.
    kubernetes_token_file: str = ""
    #: The CA to believe where no invitation says which.
    ca_file: str = ""


def identity_of(home: Path, agent_id: str) -> TlsFiles | None:
    """Return the files of the certificate in *home*; None when there is none that is good and names *agent_id*."""
    files = tls_files(home, AGENT_FILE)
    try:
        holder = holder_of(files.read().certificate)
    except (BadInput, ValueError):
        return None
    is_good = holder is not None and holder.uri == AGENT_URI + agent_id and holder.expires > utc_now()
    return files if is_good else None


def join(home: Path, agent_id: str, shown: Credentials, *, patience_s: float) -> TlsFiles:
    """Return the files of a new certificate; while the registry does not answer, it is asked again.

    Raises:
        Refused: the registry does not take this agent, or it is not the registry of the invitation.
        BadInput: the invitation is none.
        ServiceUnavailable: it did not answer in time.
    """
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return _join(home, agent_id, shown)
        except Unavailable as error:
            if time.monotonic() > deadline:
                raise
            log.warning("cannot join yet", reason=str(error))
            time.sleep(_PAUSE_S)


def _join(home: Path, agent_id: str, shown: Credentials) -> TlsFiles:
    ca, proof = _by_invite(shown) if shown.token else _by_pod(shown)
    # Kept before it is used: should the answer get lost, the same key asks again, and that is no second agent.
    key_file = home / "joining.key"
    if not key_file.exists():
        replace_file(key_file, key_pem(new_key()))
    key = load_key(key_file.read_bytes())
    asked = {"agent_id": agent_id, "request": request_pem(key).decode(), **proof}
    answer = _post(shown.url, ca, asked)
    certificate = str(answer["certificate"]).encode()
    files = identity_files(home, AGENT_FILE, ca=ca, certificate=certificate, key=key_pem(key))
    key_file.unlink()
    log.info("joined the fleet", agent_id=agent_id, until=answer.get("expires_at"))
    return files


def _by_invite(shown: Credentials) -> tuple[bytes, dict[str, str]]:
    token = JoinToken.read(shown.token)
    ca = _download_ca(shown.url)
    if not token.is_of(ca):
        raise Refused(f"{shown.url} is not the registry that the invitation is for: its CA has another fingerprint")
    return ca, {"token": token.text}


def _by_pod(shown: Credentials) -> tuple[bytes, dict[str, str]]:
    try:
        proof = Path(shown.kubernetes_token_file).read_text(encoding="utf-8").strip()
        return Path(shown.ca_file).read_bytes(), {"kubernetes_token": proof}
    except OSError as error:
        raise BadInput("environment", [f"{error.filename}: {error.strerror}"]) from error


def _download_ca(url: str) -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Nobody is believed yet: what comes is compared with the invitation before anything is shown.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    status, body = _ask(url, context, "GET", "/ca")
    if status != http.HTTPStatus.OK:
        raise ServiceUnavailable("the registry", url, f"/ca answers {status}")
    return body


def _post(url: str, ca: bytes, asked: dict[str, str]) -> dict[str, Any]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=ca.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise Refused(f"what {url} calls its CA is no certificate") from error
    status, body = _ask(url, context, "POST", "/join", json.dumps(asked).encode())
    try:
        answer = json.loads(body)
    except ValueError:
        answer = {}
    if status == http.HTTPStatus.OK and isinstance(answer, dict) and "certificate" in answer:
        return answer
    said = str(answer.get("detail", status) if isinstance(answer, dict) else status)
    if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
        raise ServiceUnavailable("the registry", url, said)
    raise Refused(f"cannot join the fleet at {url}: {said}")


def _ask(url: str, context: ssl.SSLContext, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    connection = _Connection(url, context)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read(_ANSWER_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise ServiceUnavailable("the registry", url, str(error)) from error
    finally:
        connection.close()


class _Connection(http.client.HTTPConnection):
    """HTTPS to whoever has the registry's certificate, at whatever address."""

    def __init__(self, url: str, context: ssl.SSLContext) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" or not parts.hostname or not parts.port:
            raise BadInput("environment", [f"MOSAIC_AGENT_JOIN_URL={url!r} is not https://host:port"])
        super().__init__(parts.hostname, parts.port, timeout=_TIMEOUT_S)
        self._context = context

    def connect(self) -> None:
        plain = socket.create_connection((self.host, self.port), _TIMEOUT_S)
        self.sock = self._context.wrap_socket(plain, server_hostname=server_name("registry"))


#: Asks the registry for the next certificate with a request; returns it and what to believe from then on.
Renew = Callable[[bytes], tuple[bytes, bytes]]


def renewed(home: Path, renew: Renew) -> None:
    """Put a new certificate with a new key in the place of the one in *home*.

    Raises:
        MosaicError: the registry does not answer, or refuses.
    """
    key = new_key()
    certificate, ca = renew(request_pem(key))
    if not certificate or not ca:
        raise MosaicError("the registry sent no certificate")
    identity_files(home, AGENT_FILE, ca=ca, certificate=certificate, key=key_pem(key))
