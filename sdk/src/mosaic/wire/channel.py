"""How both ends of a gRPC connection are set up."""

from __future__ import annotations

import grpc

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


def open_channel(address: str) -> grpc.Channel:
    """Return a channel to *address* (``host:port``); it connects on first use and reconnects by itself."""
    return grpc.insecure_channel(address, options=CLIENT_OPTIONS)
