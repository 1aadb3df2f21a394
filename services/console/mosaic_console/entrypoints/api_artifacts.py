"""The files that runs made."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse
from starlette.types import Receive, Scope, Send

from mosaic.hosting.access import needs
from mosaic.model.identity import Permission
from mosaic_console.domain.paths import parts_of
from mosaic_console.entrypoints.answers import answer
from mosaic_console.entrypoints.parts import RunName, TheParts, ThePlatform

router = APIRouter(prefix="/api/v1", tags=["artifacts"])

#: Nothing that a worker wrote is ever shown as a page of ours.
_HEADERS = {"Cache-Control": "private, no-cache", "Content-Security-Policy": "default-src 'none'; sandbox"}


class _OpenedFile(FileResponse):
    """A file that is open already: what its path leads to by now does not matter."""

    def __init__(self, file: int, name: str) -> None:
        headers = {**_HEADERS, "Content-Disposition": f"attachment; filename*=utf-8''{quote(name)}"}
        super().__init__(f"/proc/self/fd/{file}", headers=headers, media_type="application/octet-stream")
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, or the ranges that are asked for, and close it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            os.close(self._file)


@router.get("/runs/{run_id}/artifacts", response_model=list[dict[str, Any]])
@needs(Permission.RUNS_READ)
def list_artifacts(parts: TheParts, platform: ThePlatform, run_id: RunName) -> Response:
    """List the files in the directory of a run; 409 where this console does not see run directories."""
    return answer(parts.artifacts.list(platform.run(run_id).run.run_id))


@router.get("/runs/{run_id}/artifacts/{path:path}", response_class=FileResponse)
@needs(Permission.RUNS_READ)
def read_artifact(parts: TheParts, platform: ThePlatform, run_id: RunName, path: str) -> Response:
    """Return a file of a run, or the ranges of it that are asked for."""
    names = parts_of(path)
    file = parts.artifacts.open(platform.run(run_id).run.run_id, names)
    return _OpenedFile(file, names[-1])
