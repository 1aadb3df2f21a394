"""All routes in one application behind the door."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response

from mosaic.hosting.access import needs
from mosaic.model.identity import Permission
from mosaic_console.bootstrap import Parts, build
from mosaic_console.domain.problem import Problem
from mosaic_console.entrypoints import (
    api_agents,
    api_artifacts,
    api_audit,
    api_exports,
    api_fleet,
    api_live,
    api_people,
    api_results,
    api_runs,
    api_secrets,
    pages,
    pages_catalog,
    pages_compare,
    pages_queue,
    pages_train,
    sign_in,
)
from mosaic_console.entrypoints.answers import answer, tell_problems
from mosaic_console.entrypoints.door import Door
from mosaic_console.entrypoints.feed import Feeds
from mosaic_console.entrypoints.streams import Streams
from mosaic_console.settings import Settings

_about = APIRouter(prefix="/api/v1", tags=["about"])
_APIS = (
    api_runs,
    api_results,
    api_artifacts,
    api_exports,
    api_fleet,
    api_agents,
    api_secrets,
    api_audit,
    api_live,
    api_people,
)
_MODULES = (sign_in, *_APIS, pages, pages_queue, pages_catalog, pages_compare, pages_train)
#: Everything that is served; the door looks here for what a route needs.
ROUTERS = (*(module.router for module in _MODULES), _about)


def build_app(parts: Parts) -> FastAPI:
    """Return the application without its door; only tests and the OpenAPI document want it so."""
    app = FastAPI(
        title="MOSAIC Fleet",
        version="1",
        description="Everything the pages and the `mosaic` command can do. Send `Authorization: Bearer TOKEN`.",
        # The framework's own pages load scripts from elsewhere, and none of its routes declares a permission.
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        responses={"default": {"model": Problem, "description": "What went wrong (application/problem+json)."}},
    )
    app.state.parts = parts
    app.state.feeds = Feeds(parts.services)
    app.state.streams = Streams()
    for router in ROUTERS:
        app.include_router(router)
    tell_problems(app)
    return app


def build_door(parts: Parts) -> Door:
    """Return what is served."""
    return door_of(build_app(parts), parts)


def door_of(app: FastAPI, parts: Parts) -> Door:
    """Return the door of *app*."""
    return Door(app, parts, [route for router in ROUTERS for route in router.routes])


def documented() -> dict[str, Any]:
    """Return the OpenAPI document of a console that is connected to nothing."""
    nowhere = "127.0.0.1:1"
    settings = Settings(registry_address=nowhere, scheduler_address=nowhere, telemetry_address=nowhere)
    return document(build_app(build(settings, port=0)))


def document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document; the framework's own form of a problem, which is never sent, is left out."""
    made = app.openapi()
    for path in made["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
    for name in ("HTTPValidationError", "ValidationError"):
        made["components"]["schemas"].pop(name, None)
    return made


@_about.get("/openapi.json", response_model=dict[str, Any])
@needs(Permission.SIGNED_IN)
def openapi(request: Request) -> Response:
    """Return this document."""
    return answer(document(request.app))
