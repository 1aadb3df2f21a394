"""Where the console listens, and what it leaves on the disk."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.errors import BadInput, Refused
from mosaic_console.entrypoints.server import _bind
from mosaic_console.settings import Settings, loopback_address, read_address


def settings(**more: Any) -> Settings:
    """Return settings of a console that is connected to nothing."""
    return Settings(registry_address="r:1", scheduler_address="s:1", telemetry_address="t:1", **more)


@pytest.mark.parametrize("address", ["0.0.0.0:7420", "192.168.1.2:7420", "[::]:7420", "example.com:80", "127.0.0.2:1"])
def test_one_machine_listens_on_loopback_only_and_says_how_to_look_from_elsewhere(address: str) -> None:
    with pytest.raises(Refused, match=r"listens on 127\.0\.0\.1 only.*ssh -L"):
        loopback_address(address)


@pytest.mark.parametrize("address", ["", "7420", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:99999"])
def test_what_is_no_address_is_said(address: str) -> None:
    with pytest.raises(BadInput, match="is not host:port"):
        read_address(address)


def test_a_port_that_is_taken_gives_the_next() -> None:
    with _bind("127.0.0.1", 0, moves=True) as first:
        port = first.getsockname()[1]
        with _bind("127.0.0.1", port, moves=True) as second:
            assert ("127.0.0.1", port) != second.getsockname()


def test_a_port_that_is_taken_is_refused_where_others_know_the_address() -> None:
    with _bind("127.0.0.1", 0, moves=True) as first, pytest.raises(Refused, match="somebody else does"):
        _bind("127.0.0.1", first.getsockname()[1], moves=False)


def test_listening_beyond_loopback_takes_tls_or_somebody_who_insists() -> None:
    with pytest.raises(Refused, match="MOSAIC_CONSOLE_INSECURE_LISTEN"):
        settings(http_address="0.0.0.0:7420").listen_address()
    assert ("0.0.0.0", 7420) == settings(http_address="0.0.0.0:7420", insecure_listen=True).listen_address()
    assert ("0.0.0.0", 1) == settings(
        http_address="0.0.0.0:1", https_cert_file="c", https_key_file="k"
    ).listen_address()
    with pytest.raises(BadInput, match="go together"):
        settings(https_cert_file="c").listen_address()


def test_it_answers_to_the_names_that_people_write() -> None:
    chosen = settings(urls="https://Fleet.example.org, http://console:7420")

    assert {"127.0.0.1", "localhost", "fleet.example.org", "console"} == chosen.hosts
    assert chosen.has_tls
