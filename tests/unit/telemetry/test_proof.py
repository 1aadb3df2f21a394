"""Frames and ends of runs are believed for what they prove, not for what they say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from mosaic.agent.telemetry.spool import Spool
from mosaic.errors import BadInput
from mosaic.events.frame import EncodedFrame
from mosaic.events.proof import EventKey, sign
from mosaic.messaging.consumer import Delivery, Verdict
from mosaic.messaging.event_messages import frame_message, run_finished_message
from mosaic.messaging.publisher import Message
from mosaic_scheduler.settings import Settings as SchedulerSettings
from mosaic_telemetry.entrypoints.service import TelemetryService, build
from mosaic_telemetry.settings import Settings
from tests.fakes.telemetry import EVENT_KEY, KEY, RUN, a_finished_run, encoded, metrics, packed

OTHER = "run-2"


class Post:
    """A telemetry service and whoever can publish to it."""

    def __init__(self, folder: Path) -> None:
        self.metrics = CollectorRegistry()
        chosen = Settings(f"sqlite:///{folder}/e.db", str(folder / "manifests"), EVENT_KEY)
        self.service: TelemetryService = build(chosen, metrics=self.metrics)

    def send(self, *messages: Message) -> list[Verdict]:
        arrived = [Delivery(tag, "shard.0", one.headers, one.body) for tag, one in enumerate(messages)]
        return [answer.verdict for answer in self.service.ingest.handle(arrived)]

    def lines(self, run_id: str) -> int:
        return sum(timeline.heard.count for timeline in self.service.parts.store.timelines(run_id))

    @property
    def forged(self) -> float | None:
        return self.metrics.get_sample_value("mosaic_telemetry_forged_frames_total")


@pytest.fixture
def post(tmp_path: Path) -> Iterator[Post]:
    post = Post(tmp_path)
    yield post
    post.service.stop()


def by_agent_of(run_id: str, body: bytes, *, says: str, attempt: int = 1) -> Message:
    """A frame that the agent of *run_id* signs and that *says* to be of some run."""
    return frame_message(EncodedFrame(says, attempt, 0, 1, body, sign(KEY.of_attempt(run_id, 1), body)))


@pytest.mark.parametrize(
    "forged",
    [
        frame_message(EncodedFrame(RUN, 1, 0, 2, packed(metrics(2)))),
        by_agent_of(OTHER, packed(metrics(2)), says=RUN),
        by_agent_of(OTHER, packed(metrics(2)), says=OTHER),
        by_agent_of(RUN, packed(metrics(2), attempt=2), says=RUN, attempt=2),
        replace(frame_message(encoded(metrics(2))), body=packed(metrics(3))),
        replace(frame_message(encoded(metrics(2))), headers={"kind": "frame"}),
        Message("", "", packed(metrics(2)), {"run_id": "\ud800", "attempt": 1, "proof": "\ud800"}),
    ],
    ids=["unsigned", "another's key", "another's name", "earlier attempt", "changed", "no headers", "no text"],
)
def test_a_frame_that_another_wrote_is_refused_counted_and_hurts_no_neighbour(post: Post, forged: Message) -> None:
    honest = frame_message(encoded(metrics(5), run_id="run-3"))

    assert [Verdict.NEVER, Verdict.DONE] == post.send(forged, honest)
    assert (0, 0, 5) == (post.lines(RUN), post.lines(OTHER), post.lines("run-3"))
    assert 1 == post.forged


def test_who_forges_first_does_not_take_the_place_of_who_is_meant(post: Post) -> None:
    post.send(by_agent_of(OTHER, packed(metrics(1, name="forged")), says=RUN))

    assert [Verdict.DONE] == post.send(frame_message(encoded(metrics(1, name="loss"))))
    assert ["loss"] == [series.key.name for series in post.service.parts.store.series(RUN)]


@pytest.mark.parametrize("proof", ["", sign(KEY.of_attempt(RUN, 1), b"{}"), 7, "é"])
def test_an_end_that_the_scheduler_did_not_sign_gives_no_manifest(post: Post, proof: str | int) -> None:
    body = run_finished_message(a_finished_run(0), KEY).body
    forged = Message("", "", body, {"kind": "run_finished", "run_id": RUN, "proof": proof})

    assert [Verdict.NEVER] == post.send(forged)
    assert post.service.parts.store.finished_run(RUN) is None
    assert 1 == post.forged


def test_an_end_signed_by_the_scheduler_is_noted(post: Post) -> None:
    assert [Verdict.DONE] == post.send(run_finished_message(a_finished_run(0), KEY))
    assert post.service.parts.store.finished_run(RUN) is not None


def test_the_proof_of_one_kind_of_message_is_none_of_another() -> None:
    assert not KEY.is_signed("run_finished", b"x", KEY.sign("run_accepted", b"x"))


def test_a_spool_that_was_left_behind_is_signed_by_the_key_that_was_kept(tmp_path: Path) -> None:
    key = KEY.of_attempt(RUN, 1)
    spool = Spool(tmp_path, RUN, 1, event_key=key)
    spool.append(b"a line\n", 1.0)
    spool.close()

    (frame,) = Spool(tmp_path, RUN, 1, event_key=key).take(frames=1, size_bytes=1)

    KEY.check_frame(frame)


@pytest.mark.parametrize("settings", [Settings, SchedulerSettings])
def test_without_a_key_nothing_starts_and_the_way_to_make_one_is_said(
    settings: type[Settings] | type[SchedulerSettings],
) -> None:
    with pytest.raises(BadInput, match=r"openssl rand -hex 32.*MOSAIC_EVENT_KEY_FILE"):
        settings.from_env({})


def test_a_key_that_can_be_guessed_is_none(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="fewer than 32"):
        build(Settings(f"sqlite:///{tmp_path}/e.db", str(tmp_path), "guess-me"))


def test_keys_of_attempts_tell_nothing_of_each_other() -> None:
    keys = {KEY.of_attempt(*of) for of in (("a", 1), ("a", 11), ("a", 2), ("b", 1))}
    keys |= {EventKey("1" * 64).of_attempt("a", 1)}

    assert 5 == len(keys)
