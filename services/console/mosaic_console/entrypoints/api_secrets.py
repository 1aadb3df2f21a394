"""Secrets of people and teams: set, listed by name, forgotten."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, SecretStr

from mosaic.hosting.access import needs
from mosaic.model.identity import Permission
from mosaic_console.entrypoints.answers import answer
from mosaic_console.entrypoints.parts import Name, ThePlatform

router = APIRouter(prefix="/api/v1", tags=["secrets"])

Team = Annotated[str, Query(description="Whose it is; without it, yours.")]


class Value(BaseModel):
    """What only runs of its owner are handed, and no call returns."""

    value: SecretStr


@router.get("/secrets", response_model=list[dict[str, Any]])
@needs(Permission.SECRETS_READ)
def list_secrets(platform: ThePlatform) -> Response:
    """Return the names of the secrets that your runs may name: your own, and those of your teams."""
    return answer(platform.secrets())


@router.put("/secrets/{name}", response_model=dict[str, Any])
@needs(Permission.SECRETS_CHANGE)
def set_secret(platform: ThePlatform, name: Name, body: Value, team: Team = "") -> Response:
    """Keep a secret, in place of the one of that name."""
    return answer(platform.set_secret(name, body.value.get_secret_value(), team))


@router.delete("/secrets/{name}", response_model=dict[str, Any])
@needs(Permission.SECRETS_CHANGE)
def delete_secret(platform: ThePlatform, name: Name, team: Team = "") -> Response:
    """Forget a secret; runs that wait and name it will not start without it."""
    platform.delete_secret(name, team)
    return answer({"name": name, "team": team})
