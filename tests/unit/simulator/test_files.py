"""Traces, fleets and policy settings as files: what was written is read, and every fault has its line."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from mosaic.errors import BadInput
from mosaic_scheduler.domain.snapshot import PolicySettings
from mosaic_simulator.files.fleet import read_fleet, write_fleet
from mosaic_simulator.files.policy import read_policy
from mosaic_simulator.files.trace import read_trace, write_trace
from mosaic_simulator.generators import TraceKind, TraceSize, generate
from tests.unit.simulator.builders import a_small_fleet

RUN = '{"run": "a", "at": 1, "team": "vision", "worker": "cleanrl", "work_seconds": 60'


def faults_of(refusal: pytest.ExceptionInfo[BadInput]) -> list[str]:
    return list(refusal.value.faults)


@pytest.mark.parametrize("kind", list(TraceKind))
def test_a_written_trace_and_fleet_are_read_back_equal(kind: TraceKind, tmp_path: Path) -> None:
    trace, fleet = generate(kind, TraceSize(runs=50, nodes=3))

    write_trace(tmp_path / "trace.jsonl", trace)
    write_fleet(tmp_path / "fleet.yaml", fleet)

    assert fleet == read_fleet(tmp_path / "fleet.yaml")
    assert trace == read_trace(tmp_path / "trace.jsonl", fleet)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("nonsense", "line 2: not JSON: Expecting value"),
        ("[1]", "line 2: must be an object in braces, not '[1]'"),
        ('{"run": "b"}', "line 2: team is missing"),
        (RUN + "}", "line 2: run 'a' stands on line 1 already"),
        (RUN.replace('"a"', '"b"') + ', "gpsu": 1}', "line 2: there is no field 'gpsu', did you mean 'gpus'?"),
        (
            RUN.replace("vision", "visoin") + "}",
            "line 2: team 'visoin' is not in the fleet file, did you mean 'vision'?",
        ),
        (RUN.replace("60", "0") + "}", "line 2: work_seconds must be above 0, not 0"),
        (RUN.replace('"at": 1', '"at": NaN') + "}", "line 2: at must be a number, not nan"),
        (RUN + ', "priority": "hihg"}', "line 2: priority cannot be 'hihg', did you mean 'high'?"),
        (RUN + ', "gpus": 1, "gpu_fraction": 0.5}', "line 2: ask for whole gpus or for a gpu_fraction, not for both"),
        (RUN + ', "gpus": 1.5}', "line 2: gpus must be a whole number, not 1.5"),
        (RUN + ', "gpu_fraction": 2}', "line 2: gpu_fraction must lie between 0 and 1, not 2"),
        (
            '{"kind": "node", "at": 1, "node": "nood", "change": "fails"}',
            "line 2: node 'nood' is not in the fleet file",
        ),
        ('{"kind": "node", "at": 1, "node": "node", "change": "dies"}', "line 2: change cannot be 'dies'"),
    ],
)
def test_a_fault_in_a_trace_is_told_with_its_line(line: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(f"{RUN}}}\n{line}\n")

    with pytest.raises(BadInput) as refusal:
        read_trace(path, a_small_fleet())

    assert any(found.startswith(fault) for found in faults_of(refusal)), faults_of(refusal)


def test_all_faults_of_a_trace_are_told_at_once_in_order_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("nonsense\n\n{}\n" + RUN.replace("60", "-1") + "}\n")

    with pytest.raises(BadInput) as refusal:
        read_trace(path, a_small_fleet())

    lines = [fault.split(":")[0] for fault in faults_of(refusal)]
    assert ["line 1", *["line 3"] * 5, "line 4"] == lines


def test_an_empty_trace_says_how_to_make_one(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("\n")

    with pytest.raises(BadInput, match="`mosaic simulate generate` writes a trace"):
        read_trace(path, a_small_fleet())


def test_a_file_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_trace(tmp_path / "absent", a_small_fleet())
    with pytest.raises(BadInput, match="cannot be read"):
        read_fleet(tmp_path / "absent")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("nodes: 5\nteams: {}", "line 1: nodes must be a list with at least one group of nodes"),
        ("teams: {}", "line 1: nodes is missing"),
        ("nodes:\n  - {cpus: 1, memory_mb: 1}", "line 2: workers is missing"),
        ("nodes:\n  - cpus: 0", "line 2: cpus must be above 0, not 0"),
        ("nodes:\n  - cpus: 1\n    gpsu: 8", "line 3: there is no field 'gpsu', did you mean 'gpus'?"),
        ("nodes:\n  - just words", "line 1: nodes must hold mappings, but entry 1 is 'just words'"),
        ("teams:\n  vision: 3", "line 2: teams: vision must be a mapping, not 3"),
        (
            "teams:\n  vision:\n    weigth: 2",
            "line 3: teams.vision: there is no field 'weigth', did you mean 'weight'?",
        ),
        ("teams:\n  vision: {}\n  vision: {}", "line 3: 'vision' is given twice; the first is on line 2"),
        ("teams:\n  two words: {}", "line 2: teams: two words is not a name of letters, digits and . _ @ -"),
        ("teams:\n  vision:\n    max_wall: soon", "line 3: teams.vision: max_wall must be seconds or a span"),
    ],
)
def test_a_fault_in_a_fleet_is_told_with_its_line(text: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(text)

    with pytest.raises(BadInput) as refusal:
        read_fleet(path)

    assert any(found.startswith(fault) for found in faults_of(refusal)), faults_of(refusal)


@pytest.mark.parametrize(
    ("text", "words"),
    [("a: [1", "line 1: not YAML"), ("- 1", "must hold a mapping"), ("", "must hold a mapping")],
)
def test_a_file_that_is_not_a_yaml_mapping_is_bad_input(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(text)

    with pytest.raises(BadInput, match=words):
        read_fleet(path)


def test_settings_that_are_not_named_keep_their_default(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("half_life: 12h\npatience: 3\nmin_runtime: 90\n")

    expected = PolicySettings(half_life=timedelta(hours=12), patience=3, min_runtime=timedelta(seconds=90))
    assert expected == read_policy(path)


def test_all_faults_of_a_policy_are_told_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("half_lief: 3h\nmin_runtime: soon\npatience: -1\nlend_only_to_resumable: maybe\nhalf_life: 0\n")

    with pytest.raises(BadInput) as refusal:
        read_policy(path)

    assert [
        "line 1: there is no field 'half_lief', did you mean 'half_life'?",
        "line 2: min_runtime must be seconds or a span such as 90s, 15m, 6h, 7d, not 'soon'",
        "line 3: patience must be at least 0, not -1",
        "line 4: lend_only_to_resumable must be true or false, not 'maybe'",
        "line 5: half_life must be longer than nothing",
    ] == faults_of(refusal)
