"""Ports that servers of a test are started on."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mosaic.testing import ports
from mosaic.testing.ports import free_port


@pytest.fixture
def three_ports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> range:
    """A machine on which three ports may be given away, and none was yet."""
    first = free_port()
    chosen = range(first, first + 3)
    monkeypatch.setattr(ports, "_PORTS", chosen)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return chosen


def test_a_port_is_given_once_and_none_is_made_up(three_ports: range) -> None:
    assert set(three_ports) == {free_port() for _ in three_ports}
    with pytest.raises(OSError, match="no TCP port from"):
        free_port()


def test_another_process_is_given_another_port(three_ports: range) -> None:
    here = {free_port(), free_port()}
    there = (
        "from mosaic.testing import ports; "
        f"ports._PORTS = range({three_ports.start}, {three_ports.stop}); print(ports.free_port())"
    )

    printed = subprocess.run([sys.executable, "-c", there], capture_output=True, text=True, check=True).stdout

    assert set(three_ports) - here == {int(printed)}


def test_a_port_on_which_somebody_listens_is_passed_over(three_ports: range) -> None:
    with socket.create_server(("127.0.0.1", three_ports[1])):
        assert {three_ports[0], three_ports[2]} == {free_port(), free_port()}
