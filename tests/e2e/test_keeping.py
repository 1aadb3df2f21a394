"""Secrets and the audit trail on one machine, as they are typed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.errors import BadInput
from tests.stack.embedded import Machine

SMALL = ("--cpus", "0.1", "--memory-mb", "16")
VALUE = "hunter2-hunter2-hunter2"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("machine"))
    machine.up()
    yield machine
    machine.platform.stop()


def test_a_secret_is_typed_used_and_forgotten(machine: Machine) -> None:
    assert 0 == machine.type("secrets", "set", "hub", stdin=f"{VALUE}\n").exit_code
    assert "hub" in machine.type("secrets", "list").output
    run = machine.type("submit", "drill", *SMALL, "--secret", "TOKEN=hub", "--follow", "--json")
    assert 0 == run.exit_code, run.errors
    assert 0 == machine.type("secrets", "rm", "hub").exit_code
    with machine.connect() as mosaic, pytest.raises(BadInput, match="'hub'"):
        mosaic.submit("drill", {}, secrets={"TOKEN": "hub"})
    kept = [path for path in machine.home.rglob("*") if path.is_file() and VALUE.encode() in path.read_bytes()]
    assert [] == kept


def test_what_was_done_is_in_the_trail_which_can_be_verified_and_exported(machine: Machine, tmp_path: Path) -> None:
    submitted = machine.type("submit", "drill", *SMALL, "--json").document[0]
    machine.type("cancel", submitted["run_id"])

    shown = machine.type("audit", "--json").document
    asked = {entry["action"] for entry in shown if entry["target"] == submitted["run_id"]}
    assert {"runs:submit"} <= asked
    assert {"agents:register"} <= {entry["action"] for entry in shown}
    assert {submitted["spec"]["user"]} == {
        entry["actor"].removeprefix("user:") for entry in shown if entry["action"] == "runs:submit"
    }
    verified = machine.type("audit", "verify", "--json")
    assert len(shown) <= sum(verified.document.values())
    machine.type("audit", "--export", str(tmp_path / "trail.jsonl"))
    lines = (tmp_path / "trail.jsonl").read_text().splitlines()
    assert len(shown) <= len(lines)
    assert {"time", "seq", "actor", "action", "allowed", "hash"} <= json.loads(lines[0]).keys()


def test_an_entry_that_was_changed_shows(machine: Machine) -> None:
    database = next(path for path in machine.home.rglob("scheduler.sqlite"))
    with sqlite3.connect(database) as connection:
        connection.execute("DROP TRIGGER scheduler_audit_no_update")
        connection.execute("UPDATE scheduler_audit SET actor = 'user:eve' WHERE seq = 1")
    connection.close()

    verified = machine.type("audit", "verify")

    assert 0 != verified.exit_code
    assert "entry 1 of the scheduler" in verified.errors
