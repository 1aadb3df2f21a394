"""Probes, signing in by a link, signing out, and making links."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from mosaic.hosting.access import needs
from mosaic.model.identity import Permission
from mosaic_console.domain.keys import SESSION_LIFE_S
from mosaic_console.entrypoints.answers import answer
from mosaic_console.entrypoints.door import session_of
from mosaic_console.entrypoints.looks import html, sign_in_page
from mosaic_console.entrypoints.parts import TheCaller, TheParts

router = APIRouter()


@router.get("/readyz", include_in_schema=False)
@router.get("/healthz", include_in_schema=False)
@needs(Permission.ANYONE)
def healthz() -> Response:
    """Say that it answers; what the services behind it say is none of a stranger's business."""
    return Response("ok\n", media_type="text/plain")


@router.get("/sign-in", include_in_schema=False)
@needs(Permission.ANYONE)
def sign_in(parts: TheParts, code: str = "") -> Response:
    """Turn the one-time code of a link into a session; without a valid one, say how to get a link."""
    session_id = parts.identity.redeem(code) if code else None
    if session_id is None:
        return sign_in_page()
    # No redirect: a browser that came from another site would not show a strict cookie on its way on.
    welcome = html("signed_in.html")
    welcome.set_cookie(
        parts.cookie,
        session_id,
        max_age=int(SESSION_LIFE_S),
        path="/",
        secure=parts.has_tls,
        httponly=True,
        samesite="strict",
    )
    return welcome


@router.post("/sign-out", include_in_schema=False)
@needs(Permission.SIGNED_IN)
def sign_out(request: Request, parts: TheParts) -> Response:
    """Close the session of this browser."""
    parts.identity.end_session(session_of(request.headers, parts.cookie))
    gone = sign_in_page()
    gone.status_code = HTTPStatus.OK
    gone.delete_cookie(parts.cookie, path="/", secure=parts.has_tls, httponly=True, samesite="strict")
    return gone


@router.post("/api/v1/sign-in-links", status_code=HTTPStatus.CREATED, response_model=dict[str, str], tags=["identity"])
@needs(Permission.SIGNED_IN)
def new_link(parts: TheParts, caller: TheCaller) -> Response:
    """Return the path of a link that signs one browser in, once."""
    return answer({"path": link_path(parts.identity.new_code(caller))}, HTTPStatus.CREATED)


def link_path(code: str) -> str:
    """Return the path that redeems *code*."""
    return f"/sign-in?code={quote(code, safe='')}"
