"""What went wrong, as ``application/problem+json`` (RFC 9457) with our code and every fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from mosaic.errors import (
    BadInput,
    Forbidden,
    MosaicError,
    NotFound,
    Refused,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
    WorkerBroken,
)

#: Error class -> HTTP status; the nearest class of an error's ancestry decides.
STATUS: dict[type[MosaicError], HTTPStatus] = {
    BadInput: HTTPStatus.BAD_REQUEST,
    NotFound: HTTPStatus.NOT_FOUND,
    Refused: HTTPStatus.CONFLICT,
    Unauthenticated: HTTPStatus.UNAUTHORIZED,
    Forbidden: HTTPStatus.FORBIDDEN,
    TooManyRequests: HTTPStatus.TOO_MANY_REQUESTS,
    WorkerBroken: HTTPStatus.CONFLICT,
    Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    MosaicError: HTTPStatus.INTERNAL_SERVER_ERROR,
}

_FAULT = "  - "


@dataclass(frozen=True, slots=True)
class Problem:
    """One answer that is none."""

    status: int
    #: The phrase of the status.
    title: str
    #: The sentence: what failed, which one, what to do.
    detail: str
    #: Stable name for machines, as in `docs/reference/errors.md`.
    code: str
    #: Everything that is wrong with what was given; empty for other problems.
    faults: tuple[str, ...] = ()
    type: str = "about:blank"


def problem(status: HTTPStatus, code: str, detail: str, faults: Sequence[str] = ()) -> Problem:
    """Return the problem with that status."""
    return Problem(status.value, status.phrase, detail, code, tuple(faults))


def problem_of(error: MosaicError) -> Problem:
    """Return what *error* says."""
    status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    return problem(status, error.code, str(error), faults_of(error))


def faults_of(error: MosaicError) -> tuple[str, ...]:
    """Return every fault that a `BadInput` lists; one that crossed gRPC has kept its sentence alone."""
    if not isinstance(error, BadInput):
        return ()
    listed = getattr(error, "faults", None)
    if listed is not None:
        return tuple(listed)
    first, *lines = str(error).splitlines()
    if not lines:
        return (first.partition(": ")[2] or first,)
    faults: list[str] = []
    for line in lines:
        if line.startswith(_FAULT):
            faults.append(line.removeprefix(_FAULT))
        elif faults:
            faults[-1] += f"\n{line}"
    return tuple(faults)
