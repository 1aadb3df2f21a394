"""What routes get: the parts of the console, who asks, and the platform in their name."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request
from pydantic import AfterValidator

from mosaic.model.identity import Caller
from mosaic_console.bootstrap import Parts
from mosaic_console.ports import Credential, People, Platform


def _parts(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts


def _caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


def _credential(request: Request) -> Credential:
    credential: Credential = request.state.credential
    return credential


def _platform(request: Request) -> Platform:
    return _parts(request).services.of(_caller(request))


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _people(request: Request) -> People:
    return _parts(request).identity.people(_caller(request))


def _slashes(text: str) -> str:
    return text.replace("%2F", "/")


TheParts = Annotated[Parts, Depends(_parts)]
ThePlatform = Annotated[Platform, Depends(_platform)]
TheCaller = Annotated[Caller, Depends(_caller)]
ThePeople = Annotated[People, Depends(_people)]
#: Of whoever asks.
TheAddress = Annotated[str, Depends(_address)]
TheCredential = Annotated[Credential, Depends(_credential)]

#: A name in an address. The door leaves its encoded slashes as they are, or it would be two parts of the address.
Name = Annotated[str, Path(), AfterValidator(_slashes)]
#: An id, the first or last characters of one, or a name.
RunName = Annotated[str, Path(description="Run id, the start or end of one, or a name."), AfterValidator(_slashes)]
