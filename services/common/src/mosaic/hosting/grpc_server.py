"""A gRPC server that knows who calls, with health and our errors on the wire."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import grpc
import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from mosaic.errors import BadInput, Forbidden, MosaicError, Refused
from mosaic.hosting.access import AccessControl, Peer, declared_methods, nobody, person_of
from mosaic.hosting.audit import refused_at_the_door
from mosaic.hosting.rpc_handlers import behaviour_of, with_behaviour
from mosaic.hosting.streams import OpenStreams, StreamLimit
from mosaic.model.audit import AuditEntry
from mosaic.model.identity import Permission
from mosaic.wire.channel import SERVER_OPTIONS
from mosaic.wire.status import CODE_KEY, status_of
from mosaic.wire.tls import TlsFiles, TlsPem

log = structlog.get_logger(__name__)

#: gRPC drops an answer whose headers take more than 8 KiB.
_SENTENCE_BYTES = 6000


@dataclass(frozen=True)
class Registration:
    """One service for the server: its full name, who answers for it, and how that is added."""

    full_name: str
    servicer: Any
    #: The generated ``add_..._to_server``.
    add: Callable[[Any, grpc.Server], None]
    #: Whose certificates are revoked.
    is_denied: Callable[[Peer], bool] = nobody
    #: Writes down who was refused; None where no trail is kept.
    note: Callable[[AuditEntry], None] | None = None


class GrpcServer:
    """Serves the registered services until stopped."""

    def __init__(
        self,
        registrations: Sequence[Registration],
        address: str,
        tls: TlsFiles,
        *,
        threads: int = 32,
        streams: int = 256,
        streams_each: int = 128,
    ) -> None:
        """Bind *address* (``host:port``; port 0 takes a free one), for peers with a certificate of the fleet.

        What a method needs is what it declares; a peer whose certificate is not of the CA in *tls* gets no answer at
        all. Files of *tls* that are replaced are used for the connections after that.

        *threads* serve calls that are answered at once. A stream (follow, watch) holds a thread of its own for as
        long as it lasts, so at most *streams* are open at a time, *streams_each* of one person, and more are refused
        as unavailable: however many people watch, agents are heard, and nobody watches alone.

        Raises:
            BadInput: lists what is wrong with the files of *tls*.
            Refused: the address cannot be bound.

        """
        limit = StreamLimit(OpenStreams(streams, streams_each), person_of)
        self._server = grpc.server(
            ThreadPoolExecutor(max_workers=threads + streams, thread_name_prefix="grpc"),
            interceptors=[_ErrorTranslator(), _access(registrations), limit],
            options=SERVER_OPTIONS,
        )
        self._health = health.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        for registration in registrations:
            registration.add(registration.servicer, self._server)
        self._names = [registration.full_name for registration in registrations]
        host = address.rpartition(":")[0]
        try:
            port = self._server.add_secure_port(address, _credentials(tls))
        except RuntimeError as error:
            raise Refused(f"cannot listen on {address}: {error}; is another service using the port?") from error
        #: Where clients reach it, with the port that was really taken.
        self.address = f"{host}:{port}"

    def start(self) -> None:
        """Accept calls and report healthy."""
        self._server.start()
        for name in ("", *self._names):
            self._health.set(name, health_pb2.HealthCheckResponse.SERVING)

    def refuse_calls(self, grace_s: float = 5.0) -> threading.Event:
        """Refuse new calls; the event returned is set when running ones have ended, or were cut after *grace_s*."""
        self._health.enter_graceful_shutdown()
        ended: threading.Event = self._server.stop(grace_s)
        return ended

    def stop(self, grace_s: float = 5.0) -> None:
        """Refuse new calls, let running ones end within *grace_s*, then cut them."""
        self.refuse_calls(grace_s).wait()


def _access(registrations: Sequence[Registration]) -> AccessControl:
    permissions: dict[str, Permission | None] = {
        f"/{health.SERVICE_NAME}/{method}": Permission.ANYONE for method in ("Check", "List", "Watch")
    }
    for one in registrations:
        permissions |= declared_methods(one.servicer, one.full_name)
    note = next((one.note for one in registrations if one.note), None)

    def refused(peer: Peer, context: Any, method: str, error: Forbidden) -> None:
        if note is not None:
            note(refused_at_the_door(peer, context, method, error))

    return AccessControl(permissions, lambda peer: any(one.is_denied(peer) for one in registrations), refused)


def _credentials(tls: TlsFiles) -> grpc.ServerCredentials:
    """Return credentials that follow the files of *tls* and want a certificate from every peer."""
    stamp = tls.stamp()

    def newer() -> Any:
        nonlocal stamp
        found = tls.stamp()
        if found is None or found == stamp:
            return None
        try:
            configuration = _configuration(tls.read())
        except BadInput as error:
            log.warning("the new certificate cannot be used; the one before still is", reason=str(error))
            return None
        stamp = found
        return configuration

    return grpc.dynamic_ssl_server_credentials(_configuration(tls.read()), newer, require_client_authentication=True)


def _configuration(pem: TlsPem) -> Any:
    return grpc.ssl_server_certificate_configuration([(pem.key, pem.certificate)], root_certificates=pem.ca)


class _ErrorTranslator(grpc.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Turns `MosaicError` into a status with our code; anything else is logged and called internal."""

    def intercept_service(self, continuation: Any, call_details: Any) -> Any:
        handler = continuation(call_details)
        if handler is None:
            return handler
        method = call_details.method
        if handler.response_streaming:
            return with_behaviour(handler, _translated_stream(behaviour_of(handler), method))
        return with_behaviour(handler, _translated(behaviour_of(handler), method))


def _translated(behaviour: Callable[[Any, Any], Any], method: str) -> Callable[[Any, Any], Any]:
    def call(request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return behaviour(request, context)
        except MosaicError as error:
            _abort(context, error)
        except Exception as error:
            log.exception("call failed; the caller was told 'internal'", method=method)
            context.abort(grpc.StatusCode.INTERNAL, _told(f"{type(error).__name__}: {error}"))

    return call


def _translated_stream(behaviour: Callable[[Any, Any], Iterator[Any]], method: str) -> Callable[[Any, Any], Any]:
    def call(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        try:
            yield from behaviour(request, context)
        except MosaicError as error:
            _abort(context, error)
        except Exception as error:
            log.exception("stream failed; the caller was told 'internal'", method=method)
            context.abort(grpc.StatusCode.INTERNAL, _told(f"{type(error).__name__}: {error}"))

    return call


def _abort(context: grpc.ServicerContext, error: MosaicError) -> None:
    context.set_trailing_metadata(((CODE_KEY, error.code),))
    context.abort(status_of(error), _told(str(error)))


def _told(sentence: str) -> str:
    """Return as much of *sentence* as reaches the caller: it travels as a header, and one too long is dropped whole."""
    room = _SENTENCE_BYTES
    for index, letter in enumerate(sentence):
        room -= 1 if " " <= letter <= "~" else 3 * len(letter.encode(errors="replace"))
        if room < 0:
            return f"{sentence[:index]} ..."
    return sentence
