"""Probes, signing in by a link, signing out, and making links."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from mosaic.errors import Unavailable
from mosaic_console.domain.access import Permission
from mosaic_console.domain.keys import SESSION_LIFE_S
from mosaic_console.entrypoints.answers import answer
from mosaic_console.entrypoints.door import cookie_name, session_of
from mosaic_console.entrypoints.looks import html, sign_in_page
from mosaic_console.entrypoints.needs import needs
from mosaic_console.entrypoints.parts import TheParts

router = APIRouter()


@router.get("/healthz", include_in_schema=False)
@needs(Permission.ANYONE)
def healthz() -> Response:
    """Say that the process lives."""
    return Response("ok\n", media_type="text/plain")


@router.get("/readyz", include_in_schema=False)
@needs(Permission.ANYONE)
def readyz(parts: TheParts) -> Response:
    """Say whether the services behind the door answer; not which, nor why not."""
    try:
        parts.platform.teams()
    except Unavailable:
        return Response("not ready\n", HTTPStatus.SERVICE_UNAVAILABLE, media_type="text/plain")
    return Response("ok\n", media_type="text/plain")


@router.get("/sign-in", include_in_schema=False)
@needs(Permission.ANYONE)
def sign_in(request: Request, parts: TheParts, code: str = "") -> Response:
    """Turn the one-time code of a link into a session; without a valid one, say how to get a link."""
    session_id = parts.keyring.redeem(code) if code else None
    if session_id is None:
        return sign_in_page()
    # No redirect: a browser that came from another site would not show a strict cookie on its way on.
    welcome = html("signed_in.html")
    welcome.set_cookie(
        cookie_name(parts, request.url.scheme),
        session_id,
        max_age=int(SESSION_LIFE_S),
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return welcome


@router.post("/sign-out", include_in_schema=False)
@needs(Permission.SIGNED_IN)
def sign_out(request: Request, parts: TheParts) -> Response:
    """Close the session of this browser."""
    cookie = cookie_name(parts, request.url.scheme)
    parts.keyring.end_session(session_of(request.headers, cookie))
    gone = sign_in_page()
    gone.status_code = HTTPStatus.OK
    gone.delete_cookie(cookie, path="/", httponly=True, samesite="strict")
    return gone


@router.post("/api/v1/sign-in-links", status_code=HTTPStatus.CREATED, response_model=dict[str, str], tags=["identity"])
@needs(Permission.SIGNED_IN)
def new_link(parts: TheParts) -> Response:
    """Return the path of a link that signs one browser in, once."""
    return answer({"path": link_path(parts.keyring.new_code())}, HTTPStatus.CREATED)


def link_path(code: str) -> str:
    """Return the path that redeems *code*."""
    return f"/sign-in?code={quote(code, safe='')}"
