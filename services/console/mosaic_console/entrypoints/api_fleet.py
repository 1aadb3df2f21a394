"""Machines, workers, environments and teams."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Response
from pydantic import BaseModel

from mosaic.hosting.access import needs
from mosaic.model.identity import Permission
from mosaic_console.entrypoints.answers import answer
from mosaic_console.entrypoints.parts import Name, ThePlatform
from mosaic_console.handlers.environments import environment, environments
from mosaic_console.handlers.fleet import drain
from mosaic_console.handlers.teams import TERMS, set_team

router = APIRouter(prefix="/api/v1", tags=["fleet"])


class Drain(BaseModel):
    """Which node or agent, by `name` if nobody else bears it, and whether it is taken out or back in."""

    name: str = ""
    node_id: str = ""
    agent_id: str = ""
    draining: bool = True


def _terms_schema() -> dict[str, Any]:
    terms = {term: {"type": ["integer" if is_whole else "number", "null"]} for term, is_whole in TERMS.items()}
    body = {"type": "object", "properties": terms, "additionalProperties": False}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": body}}}}


@router.get("/fleet", response_model=dict[str, Any])
@needs(Permission.FLEET_READ)
def show_fleet(platform: ThePlatform) -> Response:
    """Return machines, agents and workers as they stand."""
    return answer(platform.fleet())


@router.post("/fleet/drain", response_model=Drain)
@needs(Permission.FLEET_CHANGE)
def drain_part(platform: ThePlatform, body: Drain) -> Response:
    """Start nothing new on a node or an agent; what runs there goes on."""
    if body.node_id or body.agent_id:
        platform.drain(node_id=body.node_id, agent_id=body.agent_id, draining=body.draining)
    else:
        drain(platform, body.name, draining=body.draining)
    return answer(body.model_dump())


@router.get("/workers", response_model=list[dict[str, Any]])
@needs(Permission.FLEET_READ)
def list_workers(platform: ThePlatform) -> Response:
    """Return every worker with the JSON Schema of its config."""
    return answer(list(platform.fleet().workers))


@router.get("/workers/{name}", response_model=dict[str, Any])
@needs(Permission.FLEET_READ)
def show_worker(platform: ThePlatform, name: Name) -> Response:
    """Return one worker with the JSON Schema of its config."""
    return answer(platform.worker(name))


@router.get("/environments", response_model=list[dict[str, Any]])
@needs(Permission.FLEET_READ)
def list_environments(platform: ThePlatform, family: str = "", worker: str = "") -> Response:
    """Return the catalog, with who can train on what and why the others cannot."""
    return answer(environments(platform, family=family, worker=worker))


@router.get("/environments/{env_id:path}", response_model=dict[str, Any])
@needs(Permission.FLEET_READ)
def show_environment(platform: ThePlatform, env_id: Name) -> Response:
    """Return one environment of the catalog."""
    return answer(environment(platform, env_id))


@router.get("/teams", response_model=list[dict[str, Any]])
@needs(Permission.TEAMS_READ)
def list_teams(platform: ThePlatform) -> Response:
    """Return every team that was set up."""
    return answer(platform.teams())


@router.patch("/teams/{name}", response_model=dict[str, Any], openapi_extra=_terms_schema())
@needs(Permission.TEAMS_LIMIT)
def change_team(platform: ThePlatform, name: Name, body: Annotated[dict[str, Any], Body()]) -> Response:
    """Set up a team, or change those of its terms that are given; null lifts a limit."""
    return answer(set_team(platform, name, body))
