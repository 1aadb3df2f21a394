"""Templates and the files that pages need; everything a page shows is escaped."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import Response

from mosaic_console.domain import text
from mosaic_console.domain.form import FIELD

#: Of the session in which a page is shown.
the_form_token: ContextVar[str] = ContextVar("the_form_token", default="")

_STATIC = files("mosaic_console") / "static"
_SCRIPTS = ("live.js", "chart.js", "curve.js", "compare.js", "train.js", "keys.js", "vendor/uPlot.iife.min.js")
_SERVED = ("app.css", "icon.svg", "vendor/uPlot.min.css", *_SCRIPTS)


@dataclass(frozen=True)
class Asset:
    """A file of ours, read once."""

    content: bytes
    kind: str
    version: str


@cache
def assets() -> dict[str, Asset]:
    """Return every file that is served, by name: no name of a request ever becomes a path."""
    return {name: _read(name) for name in _SERVED}


@cache
def templates() -> Environment:
    """Return the templates; a name that is not given is an error, not an empty space."""
    made = Environment(
        loader=PackageLoader("mosaic_console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_finalize,
    )
    made.filters |= {"number": text.number, "span": text.span, "moment": text.moment}
    made.globals |= {"asset": _address, "form_token": _form_token, "form_token_text": the_form_token.get}
    return made


def page(name: str, **values: Any) -> str:
    """Return the page of template *name*."""
    return templates().get_template(name).render(**values)


def html(name: str, **values: Any) -> Response:
    """Return the page of template *name* as an answer that nobody keeps."""
    return Response(page(name, **values), headers={"Cache-Control": "no-store"}, media_type="text/html")


def sign_in_page(
    *, by_link: bool, by_provider: bool, told: str = "", status: HTTPStatus = HTTPStatus.UNAUTHORIZED
) -> Response:
    """Return what a stranger's browser shows: how to get in, why it did not work, and nothing else."""
    style = templates().get_template("sign_in.css").render()
    content = page("sign_in.html", style=style, by_link=by_link, by_provider=by_provider, told=told)
    style = content.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    # A stranger gets no file of ours, so this page brings its own style; its hash is all that the policy lets in.
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    headers = {"Cache-Control": "no-store", "Content-Security-Policy": policy}
    return Response(content, status, headers, "text/html")


def _form_token() -> Markup:
    """Return the hidden field that every form of a page has."""
    return Markup('<input type="hidden" name="{}" value="{}">').format(FIELD, the_form_token.get())


def _finalize(value: Any) -> Any:
    return text.harmless(value) if type(value) is str else value


def _address(name: str) -> str:
    return f"/static/{name}?v={assets()[name].version}"


def _read(name: str) -> Asset:
    content = _STATIC.joinpath(name).read_bytes()
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Asset(content, kind, hashlib.sha256(content).hexdigest()[:12])
