"""Tables of everything that runs said, for other tools."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from mosaic.hosting.access import needs
from mosaic.model.identity import Permission
from mosaic_console.entrypoints.parts import TheCaller, TheCredential, TheParts, ThePlatform
from mosaic_console.entrypoints.streams import HEADERS, NDJSON, Streams, Welcome
from mosaic_console.handlers.exports import Export, Format, TableName
from mosaic_console.ports import Platform

router = APIRouter(prefix="/api/v1", tags=["exports"])

_MOST_RUNS = 200
_TYPES = {Format.NDJSON: NDJSON, Format.CSV: "text/csv", Format.PARQUET: "application/vnd.apache.parquet"}


@router.get("/exports/{table}", response_class=StreamingResponse)
@needs(Permission.RUNS_READ)
async def export(
    request: Request,
    parts: TheParts,
    platform: ThePlatform,
    caller: TheCaller,
    credential: TheCredential,
    table: TableName,
    run: Annotated[list[str], Query(min_length=1, max_length=_MOST_RUNS, description="Of which runs; repeatable.")],
    form: Annotated[Format, Query(alias="format")] = Format.NDJSON,
    all_attempts: Annotated[bool, Query(description="Also what a later attempt trained again.")] = False,
) -> Response:
    """Stream one table of these runs. A stream that breaks off is not whole; NDJSON says why in a last line."""
    run_ids = await run_in_threadpool(_whole, platform, run)
    stream = Export(platform, run_ids, table, form, all_attempts=all_attempts)
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{table.value}.{form.value}"'}
    streams: Streams = request.app.state.streams
    welcome = Welcome(parts.identity, credential, caller)
    return await streams.answer(stream, bytes, welcome, media_type=_TYPES[form], headers=headers)


def _whole(platform: Platform, names: list[str]) -> list[str]:
    return list(dict.fromkeys(platform.run(name).run.run_id for name in names))
