"""The function behind a gRPC method, and the same method with another function behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc

Behaviour = Callable[[Any, Any], Any]


def behaviour_of(handler: Any) -> Behaviour:
    """Return the function that answers calls of *handler*'s method."""
    kinds: tuple[Behaviour | None, ...] = (
        handler.unary_unary,
        handler.unary_stream,
        handler.stream_unary,
        handler.stream_stream,
    )
    return next(behaviour for behaviour in kinds if behaviour)


def with_behaviour(handler: Any, behaviour: Behaviour) -> Any:
    """Return *handler*, of whatever kind it is, with another function behind it."""
    wrap = {
        (False, False): grpc.unary_unary_rpc_method_handler,
        (False, True): grpc.unary_stream_rpc_method_handler,
        (True, False): grpc.stream_unary_rpc_method_handler,
        (True, True): grpc.stream_stream_rpc_method_handler,
    }[handler.request_streaming, handler.response_streaming]
    return wrap(behaviour, handler.request_deserializer, handler.response_serializer)
