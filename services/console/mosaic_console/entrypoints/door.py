"""The door: every request passes it, and nothing behind it is reached by a stranger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mosaic_console.bootstrap import Parts
from mosaic_console.domain.access import Caller, Permission, owner
from mosaic_console.domain.origin import is_from_own_page, is_own_host, is_safe
from mosaic_console.domain.problem import problem
from mosaic_console.entrypoints.answers import API, problem_answer
from mosaic_console.entrypoints.limits import BodyTooLarge, read_whole
from mosaic_console.entrypoints.looks import sign_in_page
from mosaic_console.entrypoints.needs import permission_of, route_for

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
        refused = self._refuse(scope)
        if refused is None:
            try:
                receive = receive if is_safe(scope["method"]) else await read_whole(scope, receive)
            except BodyTooLarge as error:
                refused = problem_answer(
                    problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", str(error)), scope["path"]
                )
        await (refused or self._app)(scope, receive, send)

    def _refuse(self, scope: Scope) -> Response | None:
        """Return the answer to who may not enter; note who enters."""
        headers, path = Headers(scope=scope), scope["path"]
        if not is_own_host(headers.get("host", "")):
            told = "this console answers to 127.0.0.1 and localhost only"
            return problem_answer(problem(HTTPStatus.MISDIRECTED_REQUEST, "wrong_host", told), API)
        route = route_for(self._routes, scope)
        permission = permission_of(route) if route else Permission.SIGNED_IN
        if permission is Permission.ANYONE:
            return None
        caller = self._caller(headers, cookie_name(self._parts, scope["scheme"]))
        if caller is None:
            return _stranger(path)
        if permission is None or not caller.may(permission):
            told = f"you may not {scope['method']} {path}"
            return problem_answer(problem(HTTPStatus.FORBIDDEN, "forbidden", told), path)
        if caller.via == "session" and not is_safe(scope["method"]) and not is_from_own_page(headers):
            told = "this does not come from a page of the console; scripts send the token instead of a cookie"
            return problem_answer(problem(HTTPStatus.FORBIDDEN, "cross_origin", told), path)
        scope.setdefault("state", {})["caller"] = caller
        return None

    def _caller(self, headers: Headers, cookie: str) -> Caller | None:
        """Return whom the credential stands for; a token goes before a cookie, and a wrong one is not made up for."""
        scheme, _, shown = headers.get("authorization", "").partition(" ")
        if scheme:
            is_ours = scheme.lower() == "bearer" and self._parts.keyring.is_token(shown.strip())
            return owner(self._parts.user, "token") if is_ours else None
        session_id = session_of(headers, cookie)
        if session_id and self._parts.keyring.is_session(session_id):
            return owner(self._parts.user, "session")
        return None


def cookie_name(parts: Parts, scheme: str) -> str:
    """Return the name of the session's cookie; the prefix that ties it to one host is only taken where TLS is."""
    return f"__Host-{parts.cookie}" if scheme == "https" else parts.cookie


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
    told = "who are you? Send `Authorization: Bearer TOKEN` with the token in the state directory's console.token"
    return problem_answer(problem(HTTPStatus.UNAUTHORIZED, "unauthenticated", told), path)


def _with_security_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
