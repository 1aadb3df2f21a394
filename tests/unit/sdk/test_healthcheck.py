from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry

from mosaic.hosting.health import HealthServer, Probe
from mosaic.hosting.healthcheck import readiness


def test_a_process_without_faults_is_ready():
    with _serving({"database": lambda: None}) as port:
        assert (True, '{"status": "ready", "faults": {}}') == readiness(port)


def test_a_fault_is_named_to_who_looks_at_the_container():
    with _serving({"database": lambda: "it does not answer"}) as port:
        is_ready, said = readiness(port)

    assert not is_ready
    assert "it does not answer" in said


def test_a_process_that_does_not_listen_yet_is_not_ready():
    with _serving({}) as port:
        pass
    is_ready, said = readiness(port)

    assert not is_ready
    assert f"nothing answers on port {port}" in said


@contextmanager
def _serving(probes: dict[str, Probe]) -> Iterator[int]:
    server = HealthServer("127.0.0.1:0", probes, CollectorRegistry())
    server.start()
    try:
        yield int(server.address.rpartition(":")[2])
    finally:
        server.stop()
