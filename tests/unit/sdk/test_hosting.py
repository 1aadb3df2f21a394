"""What every service process stands on: settings, probes."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter

from mosaic.errors import BadInput
from mosaic.hosting.health import HealthServer, Probe, check
from mosaic.hosting.settings import read_settings, variables


@dataclass(frozen=True)
class Example:
    """Settings with every type there is."""

    url: str
    count: int
    ratio: float = 0.5
    on: bool = False


def test_settings_are_read_by_their_types() -> None:
    env = {"X_URL": "a://b", "X_COUNT": "7", "X_ON": "yes", "OTHER": "ignored"}

    assert Example("a://b", 7, 0.5, True) == read_settings(Example, "X", env)


def test_every_fault_of_the_environment_is_said_at_once() -> None:
    env = {"X_COUNT": "many", "X_ON": "perhaps", "X_RATOI": "1"}

    with pytest.raises(BadInput) as caught:
        read_settings(Example, "X", env)

    assert {
        "X_URL is not set",
        "X_COUNT='many' is not a whole number",
        "X_ON='perhaps' is not true or false",
        "X_RATOI is not a setting, did you mean 'X_RATIO'?",
    } == set(caught.value.faults)


def test_a_secret_can_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("amqp://secret\n")

    read = read_settings(Example, "X", {"X_URL_FILE": str(tmp_path / "url"), "X_COUNT": "1"})

    assert "amqp://secret" == read.url
    with pytest.raises(BadInput, match="X_URL_FILE: cannot read"):
        read_settings(Example, "X", {"X_URL_FILE": str(tmp_path / "none"), "X_COUNT": "1"})


def test_deployments_can_ask_which_variables_there_are() -> None:
    assert {"X_URL": True, "X_COUNT": True, "X_RATIO": False, "X_ON": False} == variables(Example, "X")


def test_probes_answer_over_http() -> None:
    faults: dict[str, str | None] = {"database": None}
    metrics = CollectorRegistry()
    Counter("things_total", "Things", registry=metrics).inc(3)
    server = HealthServer("127.0.0.1:0", {"database": lambda: faults["database"]}, metrics)
    server.start()
    try:
        assert {"status": "alive"} == json.loads(_get(server, "/healthz"))
        assert {"status": "ready", "faults": {}} == json.loads(_get(server, "/readyz"))
        assert b"things_total 3.0" in _get(server, "/metrics")

        faults["database"] = "it sleeps"
        with pytest.raises(urllib.error.HTTPError) as caught:
            _get(server, "/readyz")
        with caught.value as answer:
            assert (503, {"database": "it sleeps"}) == (answer.code, json.loads(answer.read())["faults"])
    finally:
        server.stop()


def _get(server: HealthServer, path: str) -> bytes:
    with urllib.request.urlopen(f"http://{server.address}{path}", timeout=5) as answer:
        content: bytes = answer.read()
        return content


def test_a_part_may_be_added_while_the_others_are_asked() -> None:
    probes: dict[str, Probe] = {}

    def add() -> None:
        probes["console"] = lambda: "it is being started"

    probes["agents"] = add

    assert {} == check(probes)
    assert {"console": "it is being started"} == check(probes)
