"""Errors across gRPC: ours become a status on the server and ours again at the client."""

from __future__ import annotations

from typing import Any, cast

import grpc

from mosaic.errors import (
    BadInput,
    Forbidden,
    MosaicError,
    NotFound,
    Refused,
    ServiceUnavailable,
    SessionRejected,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
    WorkerBroken,
    revive,
)

#: Trailing metadata that carries our stable error code beside the gRPC status.
CODE_KEY = "mosaic-code"

#: Error class -> gRPC status; the nearest class of an error's ancestry decides.
STATUS: dict[type[MosaicError], grpc.StatusCode] = {
    BadInput: grpc.StatusCode.INVALID_ARGUMENT,
    NotFound: grpc.StatusCode.NOT_FOUND,
    Refused: grpc.StatusCode.FAILED_PRECONDITION,
    Forbidden: grpc.StatusCode.PERMISSION_DENIED,
    TooManyRequests: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Unauthenticated: grpc.StatusCode.UNAUTHENTICATED,
    SessionRejected: grpc.StatusCode.UNAUTHENTICATED,
    Unavailable: grpc.StatusCode.UNAVAILABLE,
    WorkerBroken: grpc.StatusCode.FAILED_PRECONDITION,
    MosaicError: grpc.StatusCode.INTERNAL,
}

#: What a call ends with when its server is away, too slow, or ends before it has answered.
_GONE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)


def status_of(error: MosaicError) -> grpc.StatusCode:
    """Return the gRPC status that stands for *error*."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def error_from(rpc_error: grpc.RpcError, *, service: str, address: str) -> MosaicError:
    """Rebuild our error from what a call raised; the sentence of the server is kept.

    A call that never reached the server becomes `ServiceUnavailable` with *service* and *address*.
    """
    call = cast("Any", rpc_error)  # what a stub raises is an RpcError and a Call at once
    code = next((value for key, value in call.trailing_metadata() or () if key == CODE_KEY), "")
    details = call.details() or str(rpc_error)
    ours = revive(str(code), details) if code else None
    if ours is not None:
        return ours
    if call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return BadInput(f"a request to {service}", [f"is too large: {details}"])
    if call.code() in _GONE:
        return ServiceUnavailable(service, address, details.splitlines()[0][:200])
    return MosaicError(f"{service} at {address} failed: {details}")
