"""Telemetry shows a run to who may see it, and to nobody else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import RunNotFound
from mosaic.ids import RunId, TeamName, UserName
from mosaic.messaging.consumer import DONE, Delivery, Verdict
from mosaic.messaging.event_messages import PROOF, run_accepted_message
from mosaic.model.identity import Caller, Role
from mosaic.model.run import RunAccepted
from mosaic.wire.v1 import telemetry_pb2 as pb
from mosaic_telemetry.entrypoints.service import TelemetryService, build
from mosaic_telemetry.settings import Settings
from tests.fakes.agent import eventually
from tests.fakes.calls import Call, admin, member
from tests.fakes.telemetry import EVENT_KEY, KEY, RUN, a_finished_run, encoded, metrics

MINE = RunAccepted(RunId(RUN), TeamName("vision"), UserName("ann"))
BOB, EVE = member("bob", vision=Role.VIEWER), member("eve", visio=Role.TEAM_ADMIN)
OPERATOR = Caller(UserName("olga"), roles=frozenset({Role.OPERATOR}))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[TelemetryService]:
    service = build(Settings(f"sqlite:///{tmp_path}/e.db", str(tmp_path / "manifests"), EVENT_KEY))
    service.ingest.send([encoded(metrics(5))])
    service.run_finished(a_finished_run(4))
    service.start()
    store = service.parts.store
    eventually(lambda: (ended := store.finished_run(RUN)) is not None and ended.written_revision >= 0)
    yield service
    service.stop()


#: Every read of one run, as a list of what it answers with.
READS: dict[str, Callable[[Any, Any], list[Any]]] = {
    "ReadEvents": lambda api, call: list(api.ReadEvents(pb.ReadEventsRequest(run_id=RUN), call)),
    "ReadEvents follow": lambda api, call: list(api.ReadEvents(pb.ReadEventsRequest(run_id=RUN, follow=True), call)),
    "ReadLogs": lambda api, call: list(api.ReadLogs(pb.ReadLogsRequest(run_id=RUN), call)) or ["no logs"],
    "ReadLogs follow": lambda api, call: list(api.ReadLogs(pb.ReadLogsRequest(run_id=RUN, follow=True), call)),
    "ListSeries": lambda api, call: list(api.ListSeries(pb.ListSeriesRequest(run_id=RUN), call).series),
    "ReadSeries": lambda api, call: list(
        api.ReadSeries(pb.ReadSeriesRequest(run_id=RUN, key=pb.SeriesKey(name="loss")), call).steps
    ),
    "ReadEpisodes": lambda api, call: [api.ReadEpisodes(pb.ReadEpisodesRequest(run_id=RUN), call)],
    "GetManifest": lambda api, call: [api.GetManifest(pb.GetManifestRequest(run_id=RUN), call)],
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("caller", [BOB, admin()])
def test_a_run_is_shown_to_its_team(service: TelemetryService, read: str, caller: Caller) -> None:
    service.runs_accepted([MINE])

    assert READS[read](service.servicer(), Call(caller))


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("caller", [EVE, OPERATOR, Caller(UserName("ann"))])
def test_to_others_it_does_not_exist(service: TelemetryService, read: str, caller: Caller) -> None:
    service.runs_accepted([MINE])

    with pytest.raises(RunNotFound):
        READS[read](service.servicer(), Call(caller))


@pytest.mark.parametrize("read", [name for name in READS if "follow" not in name])
def test_of_a_run_whose_owner_nobody_told_nothing_is_shown(service: TelemetryService, read: str) -> None:
    empty = {"ReadLogs": ["no logs"], "ReadEpisodes": [pb.ReadEpisodesResponse()]}

    try:
        assert empty.get(read, []) == READS[read](service.servicer(), Call(BOB))
    except RunNotFound:
        assert "GetManifest" == read


def test_who_follows_a_run_just_submitted_waits_until_it_is_known(service: TelemetryService) -> None:
    heard: list[Any] = []
    looked = threading.Event()
    call = Call(BOB, on_look=looked.set)
    follower = threading.Thread(target=lambda: heard.extend(READS["ReadEvents follow"](service.servicer(), call)))
    follower.start()
    assert looked.wait(30)

    service.runs_accepted([MINE])
    follower.join(30)

    assert heard[-1].finished


def test_summaries_are_of_runs_in_sight(service: TelemetryService) -> None:
    service.runs_accepted([MINE, RunAccepted(RunId("run-2"), TeamName("visio"), UserName("eve"))])
    request = pb.SummariseRequest(run_ids=[RUN, "run-2", "run-3"])

    def seen(caller: Caller) -> list[str]:
        return [row.run_id for row in service.servicer().Summarise(request, Call(caller)).summaries]

    assert ([RUN], ["run-2"], []) == (seen(BOB), seen(EVE), seen(OPERATOR))


def test_the_first_word_of_whose_a_run_is_counts(service: TelemetryService) -> None:
    service.runs_accepted([MINE])
    service.runs_accepted([RunAccepted(MINE.run_id, TeamName("visio"), UserName("eve"))])

    assert {RUN: MINE} == service.parts.store.owners([RUN])


def test_the_scheduler_says_it_through_the_broker_and_nobody_else_can(service: TelemetryService) -> None:
    message = run_accepted_message(MINE, KEY)
    forged = {**message.headers, PROOF: "0" * 64}

    (refused,) = service.ingest.handle([Delivery(1, "shard.0", forged, message.body)])
    assert (Verdict.NEVER, {}) == (refused.verdict, service.parts.store.owners([RUN]))
    assert [DONE] == list(service.ingest.handle([Delivery(1, "shard.0", message.headers, message.body)]))
    assert {RUN: MINE} == service.parts.store.owners([RUN])
