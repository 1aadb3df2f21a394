"""The door: every request passes it, and nothing behind it is reached by a stranger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from urllib.parse import unquote

from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mosaic.hosting.rights import may_somewhere
from mosaic.model.identity import Permission
from mosaic_console.bootstrap import Parts
from mosaic_console.domain.origin import is_from_own_page, is_own_host, is_safe
from mosaic_console.domain.problem import problem
from mosaic_console.entrypoints.answers import API, problem_answer
from mosaic_console.entrypoints.limits import BodyTooLarge, read_whole
from mosaic_console.entrypoints.looks import sign_in_page
from mosaic_console.entrypoints.needs import permission_of, route_for
from mosaic_console.ports import Credential

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
    """Asks in this order: is the host ours, who is it, may they, does the request come from where it says."""

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
        send = _with_security_headers(send)
        scope["path"] = _path(scope)
        refused = await self._refuse(scope)
        if refused is None:
            try:
                receive = receive if is_safe(scope["method"]) else await read_whole(scope, receive)
            except BodyTooLarge as error:
                refused = problem_answer(
                    problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", str(error)), scope["path"]
                )
        await (refused or self._app)(scope, receive, send)

    async def _refuse(self, scope: Scope) -> Response | None:
        """Return the answer to who may not enter; note who enters."""
        headers, path = Headers(scope=scope), scope["path"]
        if not is_own_host(headers.get("host", ""), self._parts.hosts):
            told = "this console does not answer to that name; MOSAIC_CONSOLE_URLS lists those it answers to"
            return problem_answer(problem(HTTPStatus.MISDIRECTED_REQUEST, "wrong_host", told), API)
        route = route_for(self._routes, scope)
        permission = permission_of(route) if route else Permission.SIGNED_IN
        if permission is Permission.ANYONE:
            return None
        credential = _credential(headers, self._parts.cookie)
        if credential is None:
            return _stranger(path)
        caller = await run_in_threadpool(self._parts.identity.authenticate, credential)
        if caller is None:
            return _stranger(path)
        if permission is None or not may_somewhere(caller, permission):
            told = f"you may not {scope['method']} {path}"
            return problem_answer(problem(HTTPStatus.FORBIDDEN, "forbidden", told), path)
        if credential.kind == "session" and not is_safe(scope["method"]) and not is_from_own_page(headers):
            told = "this does not come from a page of the console; scripts send the token instead of a cookie"
            return problem_answer(problem(HTTPStatus.FORBIDDEN, "cross_origin", told), path)
        scope.setdefault("state", {}).update(caller=caller, credential=credential)
        return None


def _path(scope: Scope) -> str:
    """Return the path in which an encoded slash is still encoded: it belongs to a name."""
    raw = scope.get("raw_path", b"").partition(b"?")[0].decode("ascii", "replace")
    if "%2f" not in raw.lower():
        return str(scope["path"])
    return unquote(raw.replace("%2f", "%252F").replace("%2F", "%252F"))


def _credential(headers: Headers, cookie: str) -> Credential | None:
    """Return what is shown; a token goes before a cookie, and a wrong one is not made up for."""
    scheme, _, shown = headers.get("authorization", "").partition(" ")
    if scheme:
        return Credential("token", shown.strip()) if scheme.lower() == "bearer" else None
    session_id = session_of(headers, cookie)
    return Credential("session", session_id) if session_id else None


def session_of(headers: Headers, cookie: str) -> str:
    """Return the session that the browser shows, or nothing."""
    try:
        jar = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return ""
    return jar[cookie].value if cookie in jar else ""


def _stranger(path: str) -> Response:
    if not path.startswith(API):
        return sign_in_page()
    told = "who are you? Send a valid token: MOSAIC_TOKEN, or `Authorization: Bearer TOKEN`"
    return problem_answer(problem(HTTPStatus.UNAUTHORIZED, "unauthenticated", told), path)


def _with_security_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
