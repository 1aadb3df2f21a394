"""How agents come into the fleet, and how they are put out of it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from mosaic.hosting.access import needs
from mosaic.model.identity import Permission
from mosaic_console.entrypoints.answers import answer
from mosaic_console.entrypoints.parts import Name, ThePlatform

router = APIRouter(prefix="/api/v1", tags=["agents"])


class Invitation(BaseModel):
    """Whom an invitation lets in, and for how long."""

    uses: int = Field(1, description="How many agents may join with it.")
    ttl_s: float = Field(3600.0, description="For how many seconds.")
    worker: str = Field("", max_length=128, description="Agents of this worker only; empty = of any.")


@router.get("/agents", response_model=dict[str, Any])
@needs(Permission.AGENTS_ADMIT)
def list_admitted(platform: ThePlatform) -> Response:
    """Return the invitations that are open and the certificates of agents that have not expired."""
    invites, certificates = platform.admitted()
    return answer({"invites": invites, "certificates": certificates})


@router.post("/agents/invites", response_model=dict[str, Any])
@needs(Permission.AGENTS_ADMIT)
def invite(platform: ThePlatform, body: Invitation) -> Response:
    """Return a new invitation; its token is shown this once."""
    token, known = platform.invite(uses=body.uses, ttl_s=body.ttl_s, worker=body.worker)
    return answer({"token": token, "invite": known})


@router.delete("/agents/invites/{invite_id}", response_model=dict[str, Any])
@needs(Permission.AGENTS_ADMIT)
def withdraw_invite(platform: ThePlatform, invite_id: Name) -> Response:
    """Let nobody join with that invitation any more."""
    platform.revoke_agent(invite_id=invite_id)
    return answer({"invite_id": invite_id})


@router.delete("/agents/{agent_id}", response_model=dict[str, Any])
@needs(Permission.AGENTS_ADMIT)
def revoke_agent(platform: ThePlatform, agent_id: Name) -> Response:
    """Deny the certificates of an agent in every service at once; it comes back with a new invitation only."""
    platform.revoke_agent(agent_id=agent_id)
    return answer({"agent_id": agent_id})
