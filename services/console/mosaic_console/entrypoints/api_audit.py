"""What was asked of the platform and decided."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime

from mosaic.hosting.access import needs
from mosaic.model.audit import AuditEntry, AuditFilter
from mosaic.model.identity import Permission
from mosaic_console.adapters.as_json import dumps
from mosaic_console.entrypoints.parts import TheCaller, TheCredential, TheParts, ThePlatform
from mosaic_console.entrypoints.streams import Streams, Welcome

router = APIRouter(prefix="/api/v1", tags=["audit"])

_INT64 = 2**63 - 1


@router.get("/audit/{service}", response_class=StreamingResponse)
@needs(Permission.AUDIT_READ)
async def read_audit(
    request: Request,
    parts: TheParts,
    platform: ThePlatform,
    caller: TheCaller,
    credential: TheCredential,
    service: Literal["registry", "scheduler"],
    team: str = "",
    actor: Annotated[str, Query(description="A name, or with its kind: `user:NAME`, `agent:ID`.")] = "",
    since: AwareDatetime | None = None,
    after: Annotated[int, Query(ge=0, le=_INT64, description="Only entries after this `seq`.")] = 0,
    limit: Annotated[int, Query(ge=0, le=_INT64, description="0 = all.")] = 0,
) -> Response:
    """Stream the audit trail of a service, oldest first, one JSON object a line; empty lines are none.

    Who administers a team gets what concerns that team. `problem` in a last line says why it ended early.
    """
    wanted = AuditFilter(team, actor, since, after)
    streams: Streams = request.app.state.streams
    stream = platform.audit(service, wanted, limit)
    return await streams.answer(stream, _line, Welcome(parts.identity, credential, caller))


def _line(entry: AuditEntry) -> str:
    return dumps(entry) + "\n"
