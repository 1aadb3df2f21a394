"""A hundred thousand messages that make no sense: each is refused by itself, and nothing is left of them."""

from __future__ import annotations

import gc
import json
import os
import random
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from mosaic.events.frame import encode_block
from mosaic.events.packing import MAX_UNPACKED_BYTES
from mosaic.events.proof import sign
from mosaic.messaging.consumer import DONE, Delivery, Verdict
from mosaic.messaging.event_messages import frame_message, run_finished_message
from mosaic_telemetry.entrypoints.intake import Intake
from mosaic_telemetry.entrypoints.service import build
from mosaic_telemetry.settings import Settings
from tests.fakes.telemetry import EVENT_KEY, KEY, RUN, a_finished_run, encoded, metrics, packed

MESSAGES = 100_000
#: As the consumer hands them over.
BATCH = 16
GROWTH_MB = 24

WHOLE = packed(metrics(20))
BOMB = b"MF1Z" + zstandard.ZstdCompressor().compress(b"\n" * (MAX_UNPACKED_BYTES + 1))
END = run_finished_message(a_finished_run(1), KEY).body
STRANGE: tuple[Any, ...] = (None, -1, 2**70, 1.5, True, b"\xff", [], {"a": [1]}, "\ud800", "x" * 5000)

Draw = random.Random


def noise(draw: Draw) -> tuple[dict[str, Any], bytes]:
    return {}, draw.randbytes(draw.randrange(60))


def strange_headers(draw: Draw) -> tuple[dict[str, Any], bytes]:
    names = ("kind", "run_id", "attempt", "first_seq", "count", "proof")
    return {name: draw.choice(STRANGE) for name in names}, WHOLE


def torn(draw: Draw) -> tuple[dict[str, Any], bytes]:
    return by_the_agent(WHOLE[: draw.randrange(len(WHOLE))])


def flipped(draw: Draw) -> tuple[dict[str, Any], bytes]:
    body = bytearray(WHOLE)
    # The last bytes are the checksum; elsewhere zstd has bits that mean nothing.
    body[-draw.randrange(1, 5)] ^= 1 << draw.randrange(8)
    return by_the_agent(bytes(body))


def wrong_header(draw: Draw) -> tuple[dict[str, Any], bytes]:
    names = ("run_id", "attempt", "first_seq", "times")
    header = json.dumps({name: draw.choice([None, [], {}, "..", -1, 2**80]) for name in names})
    return by_the_agent(b"MF1s" + header.encode() + b"\nline")


def deep(draw: Draw) -> tuple[dict[str, Any], bytes]:
    return by_the_agent(b"MF1s" + b"[" * draw.randrange(100_000) + b"\n")


def bomb(_draw: Draw) -> tuple[dict[str, Any], bytes]:
    return by_the_agent(BOMB)


def anothers(_draw: Draw) -> tuple[dict[str, Any], bytes]:
    return by_the_agent(encode_block("run-2", 1, 0, [(1, 1.0)], b"line"))


def bad_end(draw: Draw) -> tuple[dict[str, Any], bytes]:
    kind = draw.choice(["run_finished", "run_accepted"])
    body = END[: draw.randrange(1, len(END))]
    return {"kind": kind, "proof": draw.choice(["", KEY.sign(kind, body)])}, body


def by_the_agent(body: bytes) -> tuple[dict[str, Any], bytes]:
    """A message that an agent signed, so that it is looked into."""
    proof = sign(KEY.of_attempt(RUN, 1), body)
    return {"kind": "frame", "run_id": RUN, "attempt": 1, "first_seq": 0, "count": 1, "proof": proof}, body


KINDS: tuple[Callable[[Draw], tuple[dict[str, Any], bytes]], ...] = (
    *(noise, strange_headers, torn, flipped, wrong_header, deep, bomb, anothers, bad_end),
)


@pytest.fixture
def intake(tmp_path: Path) -> Iterator[Intake]:
    service = build(Settings(f"sqlite:///{tmp_path}/e.db", str(tmp_path / "manifests"), EVENT_KEY))
    yield service.ingest
    service.stop()


def batches(draw: Draw, count: int) -> Iterator[list[Delivery]]:
    for first in range(0, count, BATCH):
        made = [draw.choice(KINDS)(draw) for _ in range(BATCH)]
        yield [Delivery(first + tag, "shard.0", headers, body) for tag, (headers, body) in enumerate(made)]


def resident_mb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def test_each_is_refused_by_itself_and_memory_stays_as_it_is(intake: Intake) -> None:
    draw = Draw(14)
    for warm_up in batches(draw, 2_000):
        intake.handle(warm_up)
    before, peak_before = resident_mb(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    for batch in batches(draw, MESSAGES):
        verdicts = [answer.verdict for answer in intake.handle(batch)]
        assert [Verdict.NEVER] * BATCH == verdicts

    assert resident_mb() - before < GROWTH_MB
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak_before) / 1024 < 3 * GROWTH_MB


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_good_frame_between_those_that_are_none_is_stored(
    intake: Intake, kind: Callable[[Draw], tuple[dict[str, Any], bytes]]
) -> None:
    good = frame_message(encoded(metrics(3)))
    bad = [Delivery(tag, "shard.0", *kind(Draw(tag))) for tag in range(4)]
    middle = Delivery(9, "shard.0", good.headers, good.body)

    answers = intake.handle([*bad[:2], middle, *bad[2:]])

    assert DONE == answers[2]
    assert [Verdict.NEVER] * 4 == [answer.verdict for answer in (*answers[:2], *answers[3:])]
