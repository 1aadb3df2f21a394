"""Where the console listens, and what it leaves on the disk."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mosaic.errors import BadInput, Refused, ServiceUnavailable
from mosaic_console.adapters.token_file import TokenFile
from mosaic_console.entrypoints.server import _bind
from mosaic_console.settings import read_address


@pytest.mark.parametrize("address", ["0.0.0.0:7420", "192.168.1.2:7420", "[::]:7420", "example.com:80", "127.0.0.2:1"])
def test_anything_but_loopback_is_refused_with_a_way_to_do_it(address: str) -> None:
    with pytest.raises(Refused, match=r"listens on 127\.0\.0\.1 only.*ssh -L"):
        read_address(address)


@pytest.mark.parametrize("address", ["", "7420", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:99999"])
def test_what_is_no_address_is_said(address: str) -> None:
    with pytest.raises(BadInput, match="is not host:port"):
        read_address(address)


def test_a_port_that_is_taken_gives_the_next() -> None:
    with _bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with _bind("127.0.0.1", port) as second:
            assert ("127.0.0.1", port) != second.getsockname()


def test_the_token_is_the_owners_alone_whatever_lay_there_before(tmp_path: Path) -> None:
    files, elsewhere = TokenFile(tmp_path), tmp_path / "elsewhere"
    elsewhere.touch()
    files.path.symlink_to(elsewhere)
    before = os.umask(0)
    try:
        files.write("secret", "http://127.0.0.1:1")
    finally:
        os.umask(before)

    assert 0o600 == stat.S_IMODE(files.path.lstat().st_mode)
    assert "" == elsewhere.read_text()
    assert ("secret", "http://127.0.0.1:1") == files.read()
    files.remove()
    with pytest.raises(ServiceUnavailable):
        files.read()
