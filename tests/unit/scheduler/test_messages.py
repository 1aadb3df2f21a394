"""What arrives over the wire, from friends and from anybody."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from mosaic.errors import BadInput
from mosaic.ids import TeamName
from mosaic.wire.v1 import scheduler_pb2 as wire
from mosaic_scheduler.domain.snapshot import Quota, Team
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


VISION = Team(
    TeamName("vision"),
    weight=3.0,
    quota=Quota(gpus=8, cpus=64, memory_mb=1024),
    lending_limit_gpus=2,
    max_running=10,
    max_queued_per_user=5,
    max_wall=timedelta(hours=1),
)


def test_terms_that_are_not_given_stay_as_they_are() -> None:
    changed = messages.changed_team(VISION, wire.Team(name="vision", weight=2, quota=wire.Quota(gpus=4)))

    assert (2.0, Quota(gpus=4, cpus=64, memory_mb=1024)) == (changed.weight, changed.quota)
    assert (2, 10, 5, timedelta(hours=1)) == (
        changed.lending_limit_gpus,
        changed.max_running,
        changed.max_queued_per_user,
        changed.max_wall,
    )


def test_a_limit_is_lifted_by_the_number_that_means_none() -> None:
    terms = wire.Team(name="vision", quota=wire.Quota(cpus=0), lending_limit_gpus=-1, max_running=0, max_wall_s=0)

    changed = messages.changed_team(VISION, terms)

    assert (None, None, None, None) == (
        changed.quota.cpus,
        changed.lending_limit_gpus,
        changed.max_running,
        changed.max_wall,
    )


def test_a_team_crosses_the_wire_whole() -> None:
    assert VISION == messages.changed_team(Team(VISION.name), messages.team_message(VISION))


def test_terms_that_make_no_sense_are_all_named() -> None:
    with pytest.raises(BadInput) as caught:
        messages.changed_team(VISION, wire.Team(weight=-1, max_queued=-2, quota=wire.Quota(gpus=-1)))

    assert {
        "weight must be more than 0, not -1",
        "max_queued cannot be negative",
        "quota.gpus cannot be negative",
    } == set(caught.value.faults)
