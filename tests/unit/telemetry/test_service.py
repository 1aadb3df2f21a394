from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select, update
from structlog.testing import capture_logs

from mosaic.hosting.health import check
from mosaic.messaging.consumer import Delivery, Verdict
from mosaic.messaging.event_messages import frame_message, run_finished_message
from mosaic.messaging.publisher import Message
from mosaic_telemetry.adapters.tables import finished_runs
from mosaic_telemetry.entrypoints.service import TelemetryService, build
from mosaic_telemetry.handlers.lines import Lines, follow_lines
from mosaic_telemetry.ports import Position
from mosaic_telemetry.settings import Settings
from tests.fakes.agent import eventually
from tests.fakes.telemetry import EVENT_KEY, KEY, RUN, a_finished_run, encoded, metrics, signed


@pytest.fixture
def service(tmp_path: Path) -> Iterator[TelemetryService]:
    chosen = Settings(f"sqlite:///{tmp_path}/e.db", str(tmp_path / "manifests"), EVENT_KEY)
    service = build(chosen)
    service.start()
    yield service
    service.stop()


def wait_until_finished(service: TelemetryService, run_id: str = RUN) -> list[Lines]:
    parts = service.parts
    return list(follow_lines(run_id, Position(0, 0), store=parts.store, feed=parts.feed))


def manifest(folder: Path, run_id: str = RUN) -> dict[str, object]:
    text = (folder / "manifests" / run_id / "manifest.json").read_text(encoding="utf-8")
    loaded: dict[str, object] = json.loads(text)
    return loaded


def test_in_one_process_frames_and_seal_become_a_manifest(service: TelemetryService, tmp_path: Path) -> None:
    confirmed = service.ingest.send([encoded(metrics(5)), encoded(metrics(5, first=5), first_seq=5)])
    service.run_finished(a_finished_run(9))
    wait_until_finished(service)

    assert [0, 1] == list(confirmed)
    assert manifest(tmp_path)["is_complete"] is True


def test_a_run_whose_manifest_cannot_be_written_does_not_stop_the_others(
    service: TelemetryService, tmp_path: Path
) -> None:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "a-run").write_text("in the way")

    for run_id in ("a-run", "b-run"):
        service.ingest.send([encoded(metrics(1), run_id=run_id)])
        service.run_finished(a_finished_run(0, run_id=run_id))
    wait_until_finished(service, "b-run")

    assert manifest(tmp_path, "b-run")["run_id"] == "b-run"


def test_a_fault_that_nobody_foresaw_does_not_end_the_writing_of_manifests(tmp_path: Path) -> None:
    chosen = Settings(f"sqlite:///{tmp_path}/e.db", str(tmp_path / "manifests"), EVENT_KEY)
    service = build(chosen)
    service.ingest.send([encoded(metrics(5))])
    service.run_finished(a_finished_run(4))
    due_at = set_due_at(service, 1e300)
    with capture_logs() as logs:
        service.start()
        eventually(lambda: logs)

    set_due_at(service, due_at)
    wait_until_finished(service)
    service.stop()

    assert ("manifests wait", "error") == (logs[0]["event"], logs[0]["log_level"])
    assert manifest(tmp_path)["is_complete"] is True


def set_due_at(service: TelemetryService, moment: float) -> float:
    """Put *moment*, which may be beyond all calendars, in the place of the due time and return what was there."""
    with service.parts.engine.begin() as connection:
        before: float = connection.execute(select(finished_runs.c.due_at)).scalar_one()
        connection.execute(update(finished_runs).values(due_at=moment))
    return before


def test_a_frame_from_this_process_that_nobody_can_read_is_not_kept_for_ever(
    service: TelemetryService,
) -> None:
    confirmed = service.ingest.send([signed(b"rubbish"), encoded(metrics(1))])

    assert [0, 1] == list(confirmed)
    assert service.parts.store.timelines(RUN)[0].heard.count == 1


def deliveries(*messages: Message) -> list[Delivery]:
    return [Delivery(tag, "shard.0", one.headers, one.body) for tag, one in enumerate(messages)]


def test_every_message_of_the_broker_gets_its_own_verdict(service: TelemetryService) -> None:
    proof = KEY.sign("run_finished", b"not an end")
    sent = [
        frame_message(encoded(metrics(2))),
        Message("", "", b"not an end", {"kind": "run_finished", "proof": proof}),
        frame_message(signed(b"not a frame")),
        run_finished_message(a_finished_run(1), KEY),
    ]

    answers = service.ingest.handle(deliveries(*sent))

    assert [Verdict.DONE, Verdict.NEVER, Verdict.NEVER, Verdict.DONE] == [one.verdict for one in answers]
    assert "end of a run" in answers[1].reason
    assert "not a frame" in answers[2].reason


def test_a_service_without_a_broker_is_ready_when_its_database_answers(service: TelemetryService) -> None:
    assert {} == check(service.probes())
