from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mosaic.cli.workers import app
from mosaic.testing import Check, Outcome, RecordingEmitter, Report, worker_conformance
from mosaic.testing.conformance import CHECKS


def a_report(outcome: Outcome) -> Report:
    return Report("corridor", "python", ("python", "-m", "corridor"), (), (Check("resume", outcome, "why", 0.1),))


def test_a_recording_emitter_gives_back_what_was_emitted() -> None:
    emitter = RecordingEmitter("r")

    emitter.run_started({"seed": 1})
    emitter.metric("loss", 0.5, 3)

    assert [event["event"] for event in emitter.events] == ["run_started", "metric"]
    assert emitter.of_kind("metric")[0]["value"] == 0.5


def test_the_pytest_helper_has_one_case_for_every_check_and_runs_nothing_yet() -> None:
    test = worker_conformance("nobody-has-this-name")

    (mark,) = test.pytestmark  # type: ignore[attr-defined]
    assert list(CHECKS) == mark.args[1]


def test_a_report_is_conformant_when_nothing_failed() -> None:
    assert a_report(Outcome.PASSED).is_conformant
    assert a_report(Outcome.NOT_APPLICABLE).is_conformant
    assert not a_report(Outcome.FAILED).is_conformant


def test_a_report_is_json_with_the_verdict_on_top() -> None:
    document = json.loads(json.dumps(a_report(Outcome.FAILED).to_dict()))

    assert document["conformant"] is False
    assert document["checks"][0] == {"name": "resume", "outcome": "failed", "sentence": "why", "seconds": 0.1}


def test_new_says_what_to_do_next(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["new", "my-lib", "--dir", str(tmp_path)])

    assert result.exit_code == 0
    assert "mosaic workers check my-lib" in result.output
    assert (tmp_path / "my-lib" / "pyproject.toml").is_file()


def test_removing_what_is_not_there_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path))

    result = CliRunner().invoke(app, ["remove", "corridor"])

    assert result.exception.code == "environment_not_found"  # type: ignore[union-attr]
