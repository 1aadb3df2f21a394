"""Which route answers a request; each declares its permission with `mosaic.hosting.access.needs`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from mosaic.hosting.access import declared
from mosaic.model.identity import Permission

EndpointT = TypeVar("EndpointT", bound=Callable[..., Any])


def large(endpoint: EndpointT) -> EndpointT:
    """Declare that the decorated route reads much: how often anybody may ask for it is limited."""
    endpoint.is_large = True  # type: ignore[attr-defined]
    return endpoint


def is_large(route: BaseRoute | None) -> bool:
    """Tell whether *route* declares that it reads much."""
    return getattr(getattr(route, "endpoint", None), "is_large", False)


def permission_of(route: BaseRoute) -> Permission | None:
    """Return what *route* declares; one that declares nothing is closed to everybody."""
    return declared(getattr(route, "endpoint", None))


def route_for(routes: Iterable[BaseRoute], scope: Scope) -> BaseRoute | None:
    """Return the route that will answer, or None where there is none for this path and method."""
    return next((route for route in routes if route.matches(scope)[0] is Match.FULL), None)
