"""Probes, signing in by a link, a password or an identity provider, signing out, and making links."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from mosaic.errors import MosaicError, TooManyRequests, Unauthenticated
from mosaic.hosting.access import needs
from mosaic.model.identity import Permission
from mosaic_console.bootstrap import Parts
from mosaic_console.domain.origin import is_from_own_page
from mosaic_console.domain.problem import problem_of
from mosaic_console.domain.provider import Flow
from mosaic_console.entrypoints.answers import answer
from mosaic_console.entrypoints.door import cookie_of, stranger_page
from mosaic_console.entrypoints.looks import html
from mosaic_console.entrypoints.parts import TheAddress, TheCaller, TheParts
from mosaic_console.ports import Provider

router = APIRouter()

#: As long as the registry lets a session live; the registry is asked, so this only tidies up browsers.
_SESSION_S = 7 * 86_400
#: Whoever is sent to the provider comes back soon.
_FLOW_S = 600
_MOST_FIELDS = 10


@router.get("/readyz", include_in_schema=False)
@router.get("/healthz", include_in_schema=False)
@needs(Permission.ANYONE)
def healthz() -> Response:
    """Say that it answers; what the services behind it say is none of a stranger's business."""
    return Response("ok\n", media_type="text/plain")


@router.get("/sign-in", include_in_schema=False)
@needs(Permission.ANYONE)
def sign_in(parts: TheParts, address: TheAddress, code: str = "") -> Response:
    """Turn the one-time code of a link into a session; without a valid one, say how to get in."""
    session = parts.identity.redeem(code, address) if code else None
    if session is None:
        return stranger_page(parts, told="That link was used already or is too old." if code else "")
    return _welcome(parts, session)


@router.post("/sign-in", include_in_schema=False)
@needs(Permission.ANYONE)
async def sign_in_by_password(request: Request, parts: TheParts, address: TheAddress) -> Response:
    """Open a session for who knows the password."""
    # Another site must not sign a browser in as somebody else.
    if not is_from_own_page(request.headers):
        return stranger_page(parts, told="This did not come from the page below.", status=HTTPStatus.FORBIDDEN)
    try:
        form = parse_qs((await request.body()).decode("utf-8"), max_num_fields=_MOST_FIELDS)
    except ValueError:
        form = {}
    user, password = (form.get(name, [""])[0] for name in ("user", "password"))
    try:
        session = await run_in_threadpool(parts.identity.sign_in, user, password, address)
    except (Unauthenticated, TooManyRequests) as error:
        return _refused(parts, error)
    return _welcome(parts, session)


@router.get("/sign-in/provider", include_in_schema=False)
@needs(Permission.ANYONE)
def go_to_provider(parts: TheParts) -> Response:
    """Send the browser to the identity provider."""
    flow = Flow.new()
    try:
        sent = RedirectResponse(_provider(parts).address(flow, parts.redirect_uri), HTTPStatus.SEE_OTHER)
    except MosaicError as error:
        return _refused(parts, error)
    # Not strict: the browser shows it when it comes back from the provider's site.
    sent.set_cookie(
        _flow_cookie(parts),
        flow.cookie,
        max_age=_FLOW_S,
        path="/",
        secure=parts.has_tls,
        httponly=True,
        samesite="lax",
    )
    return sent


@router.get("/sign-in/callback", include_in_schema=False)
@needs(Permission.ANYONE)
def come_from_provider(
    request: Request, parts: TheParts, address: TheAddress, code: str = "", state: str = "", error: str = ""
) -> Response:
    """Open a session for whom the identity provider vouches."""
    provider, flow = _provider(parts), Flow.read(cookie_of(request.headers, _flow_cookie(parts)))
    if flow is None or not flow.is_answered_by(state):
        return stranger_page(parts, told="This browser did not begin this, or too long ago. Try again.")
    if error or not code:
        return stranger_page(parts, told=f"The identity provider says: {error[:100] or 'nothing'}.")
    try:
        vouched = provider.redeem(code, flow, parts.redirect_uri)
        session = parts.identity.sign_in_by_provider(vouched, address)
    except MosaicError as told:
        return _refused(parts, told)
    welcome = _welcome(parts, session)
    welcome.delete_cookie(_flow_cookie(parts), path="/", secure=parts.has_tls, httponly=True, samesite="lax")
    return welcome


@router.post("/sign-out", include_in_schema=False)
@needs(Permission.SIGNED_IN)
def sign_out(request: Request, parts: TheParts) -> Response:
    """Close the session of this browser."""
    parts.identity.end_session(cookie_of(request.headers, parts.cookie))
    gone = stranger_page(parts, status=HTTPStatus.OK)
    gone.delete_cookie(parts.cookie, path="/", secure=parts.has_tls, httponly=True, samesite="lax")
    return gone


@router.post("/api/v1/sign-in-links", status_code=HTTPStatus.CREATED, response_model=dict[str, str], tags=["people"])
@needs(Permission.SIGNED_IN)
def new_link(parts: TheParts, caller: TheCaller) -> Response:
    """Return the path of a link that signs one browser in, once."""
    return answer({"path": link_path(parts.identity.new_code(caller))}, HTTPStatus.CREATED)


def link_path(code: str) -> str:
    """Return the path that redeems *code*."""
    return f"/sign-in?code={quote(code, safe='')}"


def _welcome(parts: Parts, session: str) -> Response:
    # No redirect: the code in the address must not stand in the history, nor in what the next page is told.
    welcome = html("signed_in.html")
    welcome.set_cookie(
        parts.cookie, session, max_age=_SESSION_S, path="/", secure=parts.has_tls, httponly=True, samesite="lax"
    )
    return welcome


def _refused(parts: Parts, error: MosaicError) -> Response:
    told = problem_of(error)
    refused = stranger_page(parts, told=told.detail, status=HTTPStatus(told.status))
    if isinstance(error, TooManyRequests):
        refused.headers["Retry-After"] = str(max(1, round(error.retry_after_s)))
    return refused


def _provider(parts: Parts) -> Provider:
    if parts.provider is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, "no identity provider is set")
    return parts.provider


def _flow_cookie(parts: Parts) -> str:
    return f"{parts.cookie}_flow"
