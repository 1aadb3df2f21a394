"""Every route says which permission it needs; one that says nothing is closed to everybody."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from mosaic_console.domain.access import Permission

EndpointT = TypeVar("EndpointT", bound=Callable[..., Any])


def needs(permission: Permission) -> Callable[[EndpointT], EndpointT]:
    """Declare what the decorated route needs."""

    def declare(endpoint: EndpointT) -> EndpointT:
        endpoint.permission = permission  # type: ignore[attr-defined]
        return endpoint

    return declare


def permission_of(route: BaseRoute) -> Permission | None:
    """Return what *route* declares, or None when it declares nothing."""
    found = getattr(getattr(route, "endpoint", None), "permission", None)
    return found if isinstance(found, Permission) else None


def route_for(routes: Iterable[BaseRoute], scope: Scope) -> BaseRoute | None:
    """Return the route that will answer, or None where there is none for this path and method."""
    return next((route for route in routes if route.matches(scope)[0] is Match.FULL), None)
