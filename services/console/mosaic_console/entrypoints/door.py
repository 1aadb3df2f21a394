"""The door: every request passes it, and nothing behind it is reached by a stranger."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from urllib.parse import unquote

import structlog
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mosaic.errors import MosaicError, TooManyRequests
from mosaic.hosting.rights import may_somewhere
from mosaic.ids import is_id
from mosaic.model.identity import Caller, Permission
from mosaic_console.bootstrap import Parts
from mosaic_console.domain.form import is_ours, token_of
from mosaic_console.domain.origin import is_from_own_page, is_own_host, is_safe
from mosaic_console.domain.problem import problem
from mosaic_console.entrypoints.answers import API, error_answer, problem_answer
from mosaic_console.entrypoints.limits import BodyTooLarge, BodyTooLate, read_whole
from mosaic_console.entrypoints.looks import sign_in_page, the_form_token
from mosaic_console.entrypoints.needs import is_large, permission_of, route_for
from mosaic_console.entrypoints.slow_clients import impatient
from mosaic_console.ports import Credential

log = structlog.get_logger(__name__)

SECURITY_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Door:
    """Asks in this order: is the host ours, who is it, may they, how often, does it come from where it says."""

    def __init__(self, app: ASGIApp, parts: Parts, routes: Sequence[BaseRoute]) -> None:
        """Stand before *app*, whose *routes* say what they need."""
        self._app = app
        self._routes = routes
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer why not. What is no HTTP is not let in at all."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        if scope["type"] != "http":
            return
        send = impatient(_with_security_headers(send))
        scope["path"] = _path(scope)
        try:
            refused = await self._refuse(scope)
            if refused is None and not is_safe(scope["method"]):
                body, receive = await read_whole(scope, receive)
                refused = _refuse_form(scope, body)
        except MosaicError as error:
            refused = error_answer(error, scope["path"])
        except BodyTooLarge as error:
            refused = _problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", str(error), scope["path"])
        except BodyTooLate as error:
            refused = _problem(HTTPStatus.REQUEST_TIMEOUT, "too_late", str(error), scope["path"])
        try:
            await (refused or self._app)(scope, receive, send)
        except (ConnectionAbortedError, ClientDisconnect):
            log.info("a reader took nothing and was left", path=scope["path"])

    async def _refuse(self, scope: Scope) -> Response | None:
        """Return the answer to who may not enter; note who enters."""
        headers, path = Headers(scope=scope), scope["path"]
        if not is_own_host(headers.get("host", ""), self._parts.hosts):
            told = "this console does not answer to that name; MOSAIC_CONSOLE_URLS lists those it answers to"
            return _problem(HTTPStatus.MISDIRECTED_REQUEST, "wrong_host", told, API)
        route = route_for(self._routes, scope)
        permission = permission_of(route) if route else Permission.SIGNED_IN
        if permission is Permission.ANYONE:
            return None
        credential = _credential(headers, self._parts.cookie, _address(scope))
        caller = await run_in_threadpool(self._parts.identity.authenticate, credential) if credential else None
        if credential is None or caller is None:
            return self._stranger(path)
        self._check_rate(caller, scope, is_large(route))
        if permission is None or not may_somewhere(caller, permission):
            asked = f"{scope['method']} {path}"
            if not is_safe(scope["method"]):
                lacking = permission.value if permission else "a declaration"
                await run_in_threadpool(self._parts.identity.note_refusal, caller, lacking, asked)
            return _problem(HTTPStatus.FORBIDDEN, "forbidden", f"you may not {asked}", path)
        if credential.kind == "session":
            if not is_safe(scope["method"]) and not is_from_own_page(headers):
                told = "this does not come from a page of the console; scripts send the token instead of a cookie"
                return _problem(HTTPStatus.FORBIDDEN, "cross_origin", told, path)
            the_form_token.set(token_of(credential.secret))
        named = replace(caller, request_id=_request_id(headers))
        scope.setdefault("state", {}).update(caller=named, credential=credential)
        return None

    def _check_rate(self, caller: Caller, scope: Scope, reads_much: bool) -> None:
        if is_safe(scope["method"]) and not reads_much:
            return
        buckets = self._parts.large_reads if is_safe(scope["method"]) else self._parts.changes
        wait_s = buckets.take({f"user:{caller.user}", caller.via})
        if wait_s:
            raise TooManyRequests("requests", wait_s)

    def _stranger(self, path: str) -> Response:
        if not path.startswith(API):
            return stranger_page(self._parts)
        told = "who are you? Send a valid token: MOSAIC_TOKEN, or `Authorization: Bearer TOKEN`"
        return _problem(HTTPStatus.UNAUTHORIZED, "unauthenticated", told, path)


def stranger_page(parts: Parts, *, told: str = "", status: HTTPStatus = HTTPStatus.UNAUTHORIZED) -> Response:
    """Return what a stranger's browser shows."""
    # Links come from `mosaic console`, which runs where the platform of one machine does.
    by_link = not parts.has_tls and parts.provider is None
    return sign_in_page(by_link=by_link, by_provider=parts.provider is not None, told=told, status=status)


def _refuse_form(scope: Scope, body: bytes) -> Response | None:
    """Return the answer to a form that no page of this session has shown: a cookie alone changes nothing."""
    credential: Credential | None = scope.get("state", {}).get("credential")
    if credential is None or credential.kind != "session" or scope["path"].startswith(API):
        return None
    if is_ours(body, credential.secret):
        return None
    told = "this form is not of this session; load the page again"
    return _problem(HTTPStatus.FORBIDDEN, "cross_origin", told, scope["path"])


def _problem(status: HTTPStatus, code: str, told: str, path: str) -> Response:
    return problem_answer(problem(status, code, told), path)


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _request_id(headers: Headers) -> str:
    """Return the name of this request in the audit trail: what a proxy before us calls it, or a new one."""
    told = headers.get("x-request-id", "")
    return told if is_id(told) else secrets.token_hex(8)


def _path(scope: Scope) -> str:
    """Return the path in which an encoded slash is still encoded: it belongs to a name."""
    raw = scope.get("raw_path", b"").partition(b"?")[0].decode("ascii", "replace")
    if "%2f" not in raw.lower():
        return str(scope["path"])
    return unquote(raw.replace("%2f", "%252F").replace("%2F", "%252F"))


def _credential(headers: Headers, cookie: str, address: str) -> Credential | None:
    """Return what is shown; a token goes before a cookie, and a wrong one is not made up for."""
    scheme, _, shown = headers.get("authorization", "").partition(" ")
    if scheme:
        return Credential("token", shown.strip(), address) if scheme.lower() == "bearer" else None
    session = cookie_of(headers, cookie)
    return Credential("session", session, address) if session else None


def cookie_of(headers: Headers, name: str) -> str:
    """Return the cookie of that name, or nothing."""
    try:
        jar = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return ""
    return jar[name].value if name in jar else ""


def _with_security_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
