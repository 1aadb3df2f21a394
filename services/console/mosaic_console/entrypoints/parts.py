"""What routes get: the parts of the console, and who asks."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from mosaic_console.bootstrap import Parts
from mosaic_console.domain.access import Caller
from mosaic_console.ports import Platform


def _parts(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts


def _platform(request: Request) -> Platform:
    return _parts(request).platform


def _caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


TheParts = Annotated[Parts, Depends(_parts)]
ThePlatform = Annotated[Platform, Depends(_platform)]
TheCaller = Annotated[Caller, Depends(_caller)]
