"""How both ends of a gRPC connection are set up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import grpc

from mosaic.errors import BadInput
from mosaic.wire.tls import Stamp, TlsFiles, server_name

Metadata = Sequence[tuple[str, "str | bytes"]]

#: An answer may hold a page of runs with all their settings.
_ANSWER_BYTES = 64 * 1024 * 1024
#: A request holds one run, or one worker with its schema; whoever sends more would fill the memory of a service.
_REQUEST_BYTES = 4 * 1024 * 1024

#: Common to servers and clients. Each pings the other, so that a peer which vanished without a word is noticed
#: within half a minute: a client finds another server, a server frees what it held for the client.
OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # Without this one the answer to a ping is waited for a whole minute.
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
)

#: A restarted server is found again within two seconds.
CLIENT_OPTIONS: tuple[tuple[str, int], ...] = (
    *OPTIONS,
    ("grpc.max_receive_message_length", _ANSWER_BYTES),
    ("grpc.max_send_message_length", _ANSWER_BYTES),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
)

#: Servers must allow the pings that clients send.
SERVER_OPTIONS: tuple[tuple[str, int], ...] = (
    *OPTIONS,
    ("grpc.max_receive_message_length", _REQUEST_BYTES),
    ("grpc.max_send_message_length", _ANSWER_BYTES),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.so_reuseport", 0),
)


def _nothing() -> Metadata:
    return ()


def open_channel(
    address: str, service: str, tls: TlsFiles, *, metadata: Callable[[], Metadata] = _nothing
) -> grpc.Channel:
    """Return a channel to the service of that name at *address* (``host:port``).

    It connects on first use and reconnects by itself. Both ends show a certificate: nobody is spoken to whose
    certificate does not name *service*. A certificate that was renewed is shown by the calls after that. Every call
    carries what *metadata* returns when it is made; the first raises `BadInput` when the files of *tls* are no good.
    """
    return _RenewedChannel(address, service, tls, metadata)


class _RenewedChannel(grpc.Channel):
    """A channel that is opened anew when its certificate is.

    gRPC reads a client's certificate once. Calls under way stay on the channel before, which is closed only when the
    certificate is renewed once more.
    """

    def __init__(self, address: str, service: str, tls: TlsFiles, metadata: Callable[[], Metadata]) -> None:
        self.metadata = metadata
        self._address = address
        self._options = (*CLIENT_OPTIONS, ("grpc.ssl_target_name_override", server_name(service)))
        self._tls = tls
        self._lock = threading.Lock()
        self._stamp: Stamp | None = None
        #: The one before and the newest; none before the first call.
        self._open: list[grpc.Channel] = []

    def current(self) -> grpc.Channel:
        """Return the channel of the newest certificate."""
        with self._lock:
            stamp = self._tls.stamp()
            if not self._open or stamp not in (None, self._stamp):
                self._renew(stamp)
            return self._open[-1]

    def _renew(self, stamp: Stamp | None) -> None:
        try:
            newest = self._connect()
        except BadInput:
            # Half replaced: the next call looks again, and until then the one before serves.
            if not self._open:
                raise
            return
        self._stamp = stamp
        for channel in self._open[:-1]:
            channel.close()
        self._open = [*self._open[-1:], newest]

    def _connect(self) -> grpc.Channel:
        pem = self._tls.read()
        credentials = grpc.ssl_channel_credentials(pem.ca, pem.key, pem.certificate)
        return grpc.secure_channel(self._address, credentials, options=self._options)

    def unary_unary(self, *method: Any, **how: Any) -> Any:
        return _Call(self, "unary_unary", method, how)

    def unary_stream(self, *method: Any, **how: Any) -> Any:
        return _Call(self, "unary_stream", method, how)

    def stream_unary(self, *method: Any, **how: Any) -> Any:
        return _Call(self, "stream_unary", method, how)

    def stream_stream(self, *method: Any, **how: Any) -> Any:
        return _Call(self, "stream_stream", method, how)

    def subscribe(self, callback: Any, try_to_connect: bool = False) -> None:
        self.current().subscribe(callback, try_to_connect)

    def unsubscribe(self, callback: Any) -> None:
        self.current().unsubscribe(callback)

    def close(self) -> None:
        with self._lock:
            for channel in self._open:
                channel.close()

    def __enter__(self) -> grpc.Channel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Call:
    """One method, called on whichever channel is current."""

    def __init__(self, channel: _RenewedChannel, kind: str, method: tuple[Any, ...], how: dict[str, Any]) -> None:
        self._channel = channel
        self._kind, self._named, self._how = kind, method, how
        self._bound: tuple[grpc.Channel, Any] | None = None

    def _method(self) -> Any:
        current = self._channel.current()
        bound = self._bound
        if bound is None or bound[0] is not current:
            self._bound = bound = (current, getattr(current, self._kind)(*self._named, **self._how))
        return bound[1]

    def __call__(self, *call: Any, **how: Any) -> Any:
        return self._method()(*call, **self._told(how))

    def with_call(self, *call: Any, **how: Any) -> Any:
        return self._method().with_call(*call, **self._told(how))

    def future(self, *call: Any, **how: Any) -> Any:
        return self._method().future(*call, **self._told(how))

    def _told(self, how: dict[str, Any]) -> dict[str, Any]:
        return {**how, "metadata": (*self._channel.metadata(), *(how.get("metadata") or ()))}
