"""What arrives over the wire, from friends and from anybody."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from mosaic.errors import BadInput
from mosaic.ids import TeamName
from mosaic.model.team import Quota, Team
from mosaic.wire.v1 import scheduler_pb2 as wire
from mosaic_scheduler.entrypoints import messages


def faults_of(**spec: Any) -> tuple[str, ...]:
    """Return what cannot be read of a submit."""
    return messages.read_request(wire.SubmitRequest(spec=wire.RunSpec(worker="toy", **spec))).unreadable


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"name": "a\0b"}, "name holds a NUL character; leave it out"),
        ({"labels": {"sweep": "\0"}}, "labels.sweep holds a NUL character; leave it out"),
        ({"labels": {"\0": "7"}}, r"the name labels.\x00 holds a NUL character; leave it out"),
        ({"environment": {"A": "\0"}}, "environment.A holds a NUL character; leave it out"),
        ({"config_json": r'{"a": {"b": ["\u0000"]}}'}, "config.a.b[0] holds a NUL character; leave it out"),
        ({"config_json": r'{"a": "\ud800"}'}, "config.a holds half of a surrogate pair; leave it out"),
        ({"config_json": '{"lr": NaN}'}, "config.lr is nan, which JSON has no word for"),
        ({"config_json": '{"lr": 1e999}'}, "config.lr is inf, which JSON has no word for"),
        ({"config_json": "[" * 100_000}, "config is nested too deep"),
    ],
)
def test_what_no_database_can_keep_is_refused_at_submit(spec: dict[str, Any], fault: str) -> None:
    assert (fault,) == faults_of(**spec)


def test_a_report_is_heard_whatever_characters_are_in_it() -> None:
    told = wire.ReportRequest(fact="failed", reason="died\0here", checkpoint="a\0", versions={"lib\0": "1\0"})

    report = messages.read_report(told)

    assert ("died\ufffdhere", "a\ufffd", {"lib\ufffd": "1\ufffd"}) == (
        report.reason,
        report.checkpoint,
        report.versions,
    )


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        ({"fact": "crashed"}, r"fact 'crashed' is not one of checkpoint, started, .*lost"),
        ({"fact": "suceeded"}, "did you mean 'succeeded'"),
        ({"fact": "claimed"}, "fact 'claimed' is not one of"),
        ({"fact": "stop_requested"}, "fact 'stop_requested' is not one of"),
        ({"fact": "failed", "failure_kind": "out_of_memry"}, "failure_kind 'out_of_memry' .* 'out_of_memory'"),
        ({"fact": "failed", "checkpoint_at": {"seconds": 2**60}}, "checkpoint_at is no time"),
    ],
)
def test_a_report_in_words_of_another_version_is_refused_with_the_ones_known_here(
    told: dict[str, Any], fault: str
) -> None:
    with pytest.raises(BadInput, match=fault) as caught:
        messages.read_report(wire.ReportRequest(run_id="01A", attempt=2, **told))

    assert "report of attempt 2 of run '01A'" == caught.value.source


def test_a_list_of_runs_in_states_that_there_are_not_is_refused() -> None:
    with pytest.raises(BadInput) as caught:
        messages.read_filter(wire.ListRunsRequest(states=[1, 99], page_size=-1))  # type: ignore[list-item]

    unknown, page = caught.value.faults
    assert unknown.startswith("states: 99 is not one of 1 (queued), ")
    assert "page_size cannot be negative, but is -1" == page


@pytest.mark.parametrize("seconds", [-1.0, 1e12, math.inf, math.nan])
def test_a_time_that_no_clock_can_count_is_refused(seconds: float) -> None:
    (limit,) = faults_of(max_wall_s=seconds)
    (hang,) = faults_of(hang_limit_s=seconds)
    with pytest.raises(BadInput, match="max_wall_s must lie between 0 and"):
        messages.changed_team(VISION, terms(max_wall_s=seconds))

    assert limit.startswith("max_wall_s must lie between 0 and")
    assert hang.startswith("hang_limit_s must lie between 0 and")


def test_a_start_that_no_calendar_knows_is_refused() -> None:
    (unreadable,) = faults_of(not_before=Timestamp(seconds=2**60))
    (too_far,) = faults_of(not_before=Timestamp(seconds=253_402_300_799))

    assert unreadable.startswith("not_before is no time: ")
    assert "not_before must lie between the years 1970 and 9000, not in 9999" == too_far


VISION = Team(
    TeamName("vision"),
    weight=3.0,
    quota=Quota(gpus=8, cpus=64, memory_mb=1024),
    lending_limit_gpus=2,
    max_running=10,
    max_queued_per_user=5,
    max_wall=timedelta(hours=1),
)


def terms(*names: str, **team: Any) -> wire.SetTeamRequest:
    return wire.SetTeamRequest(team=wire.Team(name="vision", **team), terms=names)


def test_a_term_that_there_is_not_is_refused() -> None:
    with pytest.raises(BadInput, match="term 'quota' is not one of weight, "):
        messages.changed_team(VISION, terms("quota"))


def test_a_cap_of_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match="max_running cannot be 0; leave its value out to lift the limit"):
        messages.changed_team(VISION, terms("max_running", max_running=0))


def test_terms_that_are_not_given_stay_as_they_are() -> None:
    changed = messages.changed_team(VISION, terms("weight", "quota.gpus", weight=2, quota=wire.Quota(gpus=4)))

    assert (2.0, Quota(gpus=4, cpus=64, memory_mb=1024)) == (changed.weight, changed.quota)
    assert (2, 10, 5, timedelta(hours=1)) == (
        changed.lending_limit_gpus,
        changed.max_running,
        changed.max_queued_per_user,
        changed.max_wall,
    )


def test_a_limit_is_lifted_by_naming_it_without_a_value() -> None:
    changed = messages.changed_team(VISION, terms("quota.cpus", "lending_limit_gpus", "max_running", "max_wall"))

    assert (None, None, None, None) == (
        changed.quota.cpus,
        changed.lending_limit_gpus,
        changed.max_running,
        changed.max_wall,
    )


def test_terms_that_make_no_sense_are_all_named() -> None:
    with pytest.raises(BadInput) as caught:
        messages.changed_team(
            VISION,
            terms("weight", "max_queued", "quota.gpus", weight=-1, max_queued=-2, quota=wire.Quota(gpus=-1)),
        )

    assert {
        "weight must be more than 0, not -1",
        "max_queued cannot be negative",
        "quota.gpus cannot be negative",
    } == set(caught.value.faults)


def test_what_an_agent_says_of_an_attempt_has_bounds() -> None:
    told = wire.ReportRequest(run_id="01A", attempt=1, fact="failed", reason="x" * 3_000_000)
    told.versions.update({f"package-{number}": "1" * 10_000 for number in range(300)})

    report = messages.read_report(told)

    assert (4_000, 256, 256) == (len(report.reason), len(report.versions), max(map(len, report.versions.values())))
