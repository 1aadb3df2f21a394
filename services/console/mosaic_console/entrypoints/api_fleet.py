"""Machines, workers, environments and teams."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel

from mosaic_console.domain.access import Permission
from mosaic_console.entrypoints.answers import answer
from mosaic_console.entrypoints.needs import needs
from mosaic_console.entrypoints.parts import ThePlatform
from mosaic_console.handlers.environments import environment, environments
from mosaic_console.handlers.fleet import drain

router = APIRouter(prefix="/api/v1", tags=["fleet"])


class Drain(BaseModel):
    """Which node or agent, and whether it is taken out or back in."""

    name: str
    draining: bool = True


@router.get("/fleet", response_model=dict[str, Any])
@needs(Permission.FLEET_READ)
def show_fleet(platform: ThePlatform) -> Response:
    """Return machines, agents and workers as they stand."""
    return answer(platform.fleet())


@router.post("/fleet/drain", response_model=Drain)
@needs(Permission.FLEET_CHANGE)
def drain_part(platform: ThePlatform, body: Drain) -> Response:
    """Start nothing new on a node or an agent; what runs there goes on."""
    drain(platform, body.name, draining=body.draining)
    return answer(body.model_dump())


@router.get("/workers", response_model=list[dict[str, Any]])
@needs(Permission.FLEET_READ)
def list_workers(platform: ThePlatform) -> Response:
    """Return every worker with the JSON Schema of its config."""
    return answer(list(platform.fleet().workers))


@router.get("/workers/{name}", response_model=dict[str, Any])
@needs(Permission.FLEET_READ)
def show_worker(platform: ThePlatform, name: str) -> Response:
    """Return one worker with the JSON Schema of its config."""
    return answer(platform.worker(name))


@router.get("/environments", response_model=list[dict[str, Any]])
@needs(Permission.FLEET_READ)
def list_environments(platform: ThePlatform, family: str = "", worker: str = "") -> Response:
    """Return the catalog, with who can train on what and why the others cannot."""
    return answer(environments(platform, family=family, worker=worker))


@router.get("/environments/{env_id:path}", response_model=dict[str, Any])
@needs(Permission.FLEET_READ)
def show_environment(platform: ThePlatform, env_id: str) -> Response:
    """Return one environment of the catalog."""
    return answer(environment(platform, env_id))


@router.get("/teams", response_model=list[dict[str, Any]])
@needs(Permission.TEAMS_READ)
def list_teams(platform: ThePlatform) -> Response:
    """Return every team that was set up."""
    return answer(platform.teams())
