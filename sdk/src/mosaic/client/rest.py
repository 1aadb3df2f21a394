"""The API over HTTP: answers as JSON values, refusals as our errors."""

from __future__ import annotations

import ipaddress
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2

from mosaic.client.login import Login
from mosaic.errors import (
    BadInput,
    MosaicError,
    NotFound,
    Refused,
    ServiceUnavailable,
    Unauthenticated,
    Unavailable,
    revive,
)

_TIMEOUT_S = 30.0
#: A stream says something at least every few seconds, if only that it is still there.
_SILENT_S = 20.0
_KEEP_S = 60.0

#: What an answer means whose code we do not know, such as that of a proxy before the platform.
_BY_STATUS: Mapping[int, type[MosaicError]] = {
    HTTPStatus.BAD_REQUEST: BadInput,
    HTTPStatus.UNAUTHORIZED: Unauthenticated,
    HTTPStatus.FORBIDDEN: Refused,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Refused,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: BadInput,
    HTTPStatus.TOO_MANY_REQUESTS: Refused,
    HTTPStatus.BAD_GATEWAY: Unavailable,
    HTTPStatus.SERVICE_UNAVAILABLE: Unavailable,
    HTTPStatus.GATEWAY_TIMEOUT: Unavailable,
}


class Rest:
    """One address; may be used by several threads."""

    def __init__(self, login: Login, *, find: Callable[[], Login] | None = None) -> None:
        """Speak to *login*; *find* says where the platform is if it is not there any more."""
        self.login = login
        self._find = find
        self._is_closed = False
        self._open: set[Any] = set()
        self._lock = threading.Lock()
        self._http = httpx2.Client(
            timeout=_TIMEOUT_S,
            limits=httpx2.Limits(keepalive_expiry=_KEEP_S),
            verify=_trust(login.url),
            # A proxy of the environment is for other machines, and must not see what is said on this one.
            trust_env=not _is_loopback(login.url),
        )

    def close(self) -> None:
        """End every request, also those that other threads wait for."""
        self._is_closed = True
        with self._lock:
            waiting = list(self._open)
        for stream in waiting:
            with suppress(OSError, AttributeError):
                stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        self._http.close()

    def ask(self, method: str, *path: str, body: Any = None, key: str = "", **query: Any) -> Any:
        """Return the answer to one request; the parts of *path* may be any text, and what is empty is not asked.

        A name that Python keeps for itself, as ``from``, is followed by an underscore.
        """
        headers = {"Idempotency-Key": quote(key, safe=_PRINTABLE)} if key else {}
        with self._answer(method, path, query, body, headers) as response:
            content = response.read()
            if response.status_code == HTTPStatus.NO_CONTENT:
                return None
            try:
                return json.loads(content)
            except ValueError:
                raise MosaicError(f"what answers at {self.login.url} is no platform; is the address right?") from None

    def lines(
        self, method: str, *path: str, body: Any = None, timeout_s: float = _SILENT_S, **query: Any
    ) -> Iterator[Any]:
        """Yield the lines of a stream as JSON values.

        Raises:
            Unavailable: it broke off.
        """
        with self._answer(method, path, query, body, {}, timeout_s=timeout_s) as response:
            stream = response.extensions.get("network_stream")
            with self._lock:
                self._open.add(stream)
            try:
                yield from _values(response.iter_bytes())
            finally:
                with self._lock:
                    self._open.discard(stream)

    def look_again(self) -> bool:
        """Turn to where the platform is now; tell whether that is somewhere else than before.

        Raises:
            Refused: the connection was closed.
        """
        if self._is_closed:
            raise Refused("the connection to the platform was closed")
        try:
            found = self._find() if self._find else self.login
        except Unavailable:
            return False
        has_moved, self.login = found != self.login, found
        return has_moved

    def _is_elsewhere(self, login: Login) -> bool:
        """Look again; tell whether the platform is somewhere else than at *login*, whichever thread found that out."""
        self.look_again()
        return self.login != login

    @contextmanager
    def _answer(
        self,
        method: str,
        path: tuple[str, ...],
        query: Mapping[str, Any],
        body: Any,
        headers: Mapping[str, str],
        *,
        timeout_s: float = _TIMEOUT_S,
    ) -> Iterator[httpx2.Response]:
        """Yield what the platform answers; one that was not reached, or does not know us, may be elsewhere by now."""
        where = "/".join(quote(part, safe="", errors="replace") for part in path)
        params = {name.rstrip("_"): value for name, value in query.items() if value is not None and value != ""}
        content = None if body is None else json.dumps(body).encode()
        for is_last in (False, True):
            login = self.login
            request = self._http.build_request(
                method,
                f"{login.url}/api/v1/{where}",
                params=params,
                content=content,
                headers={**headers, **_credential(login), "Content-Type": "application/json"},
                timeout=httpx2.Timeout(_TIMEOUT_S, read=timeout_s),
            )
            try:
                response = self._http.send(request, stream=True)
            except httpx2.ConnectError as error:
                if is_last or not self._is_elsewhere(login):
                    raise _away(login, error) from error
                continue
            except (httpx2.TransportError, RuntimeError) as error:
                raise _away(login, error) from error
            if response.status_code == HTTPStatus.UNAUTHORIZED and not is_last and self._is_elsewhere(login):
                response.close()
                continue
            try:
                if response.is_error:
                    response.read()
                    raise error_of(response.status_code, response.content, login.url)
                yield response
            except httpx2.TransportError as error:
                raise _away(login, error) from error
            finally:
                response.close()
            return


def error_of(status: int, content: bytes, url: str) -> MosaicError:
    """Return the error that an answer tells."""
    try:
        told = json.loads(content)
        code, sentence = str(told["code"]), str(told["detail"])
    except (ValueError, LookupError, TypeError):
        told, code, sentence = {}, "", f"the platform at {url} answered {status} without a word of ours"
    error = revive(code, sentence) or revive(_BY_STATUS.get(status, MosaicError).code, sentence)
    if isinstance(error, BadInput):
        error.source, error.faults = sentence.partition(":")[0], tuple(told.get("faults", ()))
    return error or MosaicError(sentence)


def _values(chunks: Iterator[bytes]) -> Iterator[Any]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if not line:
                continue  # it only says that it is still there
            value = json.loads(line)
            if "problem" in value:
                raise error_of(value["problem"]["status"], json.dumps(value["problem"]).encode(), "")
            yield value


def _credential(login: Login) -> dict[str, str]:
    return {"Authorization": f"Bearer {login.token}"} if login.token else {}


def _away(login: Login, error: Exception) -> ServiceUnavailable:
    return ServiceUnavailable("the platform", login.url, str(error) or type(error).__name__)


def _trust(url: str) -> ssl.SSLContext | bool:
    # Reading every authority that the machine trusts takes longer than most requests.
    return True if url.startswith("https://") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


#: What a header can say as it is.
_PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")
