"""Which route answers a request; each declares its permission with `mosaic.hosting.access.needs`."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from mosaic.hosting.access import declared
from mosaic.model.identity import Permission


def permission_of(route: BaseRoute) -> Permission | None:
    """Return what *route* declares; one that declares nothing is closed to everybody."""
    return declared(getattr(route, "endpoint", None))


def route_for(routes: Iterable[BaseRoute], scope: Scope) -> BaseRoute | None:
    """Return the route that will answer, or None where there is none for this path and method."""
    return next((route for route in routes if route.matches(scope)[0] is Match.FULL), None)
