"""The trainer service of upstream: its stub, its servicer, and how to add one to a server. Needs grpcio."""

from __future__ import annotations

from typing import Any

import grpc

from gym_gui.services.trainer.proto import trainer_pb2

_SERVICE = "gymgui.trainer.TrainerService"

#: method -> (shape, request, response); the shape names a method of a channel.
_METHODS = {
    "SubmitRun": ("unary_unary", "SubmitRunRequest", "SubmitRunResponse"),
    "CancelRun": ("unary_unary", "CancelRunRequest", "CancelRunResponse"),
    "ListRuns": ("unary_unary", "ListRunsRequest", "ListRunsResponse"),
    "WatchRuns": ("unary_stream", "WatchRunsRequest", "RunRecord"),
    "Heartbeat": ("unary_unary", "HeartbeatRequest", "HeartbeatResponse"),
    "RegisterWorker": ("unary_unary", "RegisterWorkerRequest", "RegisterWorkerResponse"),
    "ControlStream": ("stream_stream", "ControlEvent", "ControlEvent"),
    "GetHealth": ("unary_unary", "HealthCheckRequest", "HealthCheckResponse"),
    "StreamRunSteps": ("unary_stream", "StreamStepsRequest", "RunStep"),
    "StreamRunEpisodes": ("unary_stream", "StreamEpisodesRequest", "RunEpisode"),
    "PublishRunSteps": ("stream_unary", "RunStep", "PublishTelemetryResponse"),
    "PublishRunEpisodes": ("stream_unary", "RunEpisode", "PublishTelemetryResponse"),
}


class TrainerServiceStub:
    """Calls the service; it has one attribute per method."""

    def __init__(self, channel: grpc.Channel) -> None:
        for method, (shape, request, response) in _METHODS.items():
            call = getattr(channel, shape)(
                f"/{_SERVICE}/{method}",
                request_serializer=getattr(trainer_pb2, request).SerializeToString,
                response_deserializer=getattr(trainer_pb2, response).FromString,
            )
            setattr(self, method, call)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the trainer service has no method {name!r}")


class TrainerServiceServicer:
    """Answers every method with UNIMPLEMENTED; a server overrides what it offers."""

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(f"the trainer service has no method {name!r}")
        return _unimplemented


def _unimplemented(request: Any, context: Any) -> Any:
    context.set_code(grpc.StatusCode.UNIMPLEMENTED)
    context.set_details("Method not implemented!")
    raise NotImplementedError("Method not implemented!")


def add_TrainerServiceServicer_to_server(servicer: Any, server: Any) -> None:
    """Have *server* answer the methods of the service by *servicer*."""
    handlers = {}
    for method, (shape, request, response) in _METHODS.items():
        handlers[method] = getattr(grpc, f"{shape}_rpc_method_handler")(
            getattr(servicer, method),
            request_deserializer=getattr(trainer_pb2, request).FromString,
            response_serializer=getattr(trainer_pb2, response).SerializeToString,
        )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, handlers),))
