"""Blocks of bytes: cut, masked, clipped, thinned, and searched for what concerns the agent."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.agent.telemetry.lines import (
    LineCutter,
    Mask,
    StepThinner,
    lifecycle_lines,
    may_be_thinned,
    may_concern_agent,
    quiet_s,
    reject_forged_events,
)
from mosaic.events import AGENT_KINDS, LogLine, Violation, read_line

NO_SECRETS = Mask(())


def cut_all(data: bytes, sizes: list[int], cutter: LineCutter) -> bytes:
    blocks, position = [], 0
    for size in [*sizes, len(data)]:
        blocks.append(cutter.feed(data[position : position + size]))
        position += size
    return b"".join([*blocks, cutter.finish()])


@given(data=st.binary(max_size=400), sizes=st.lists(st.integers(0, 50), max_size=20))
def test_however_the_bytes_arrive_the_lines_are_the_same(data: bytes, sizes: list[int]) -> None:
    lines = cut_all(data, sizes, LineCutter(NO_SECRETS))

    expected = data if data.endswith(b"\n") or not data else data + b"\n"
    assert expected == lines


def test_a_block_holds_whole_lines_only() -> None:
    cutter = LineCutter(NO_SECRETS)

    assert cutter.feed(b"one") == b""
    assert cutter.feed(b" two\nthree\nfo") == b"one two\nthree\n"
    assert cutter.finish() == b"fo\n"


@pytest.mark.parametrize("unfinished_bytes", [4095, 4096, 4097, 300_000])
def test_the_last_whole_line_is_found_however_long_the_rest_is(unfinished_bytes: int) -> None:
    cutter = LineCutter(NO_SECRETS)

    assert cutter.feed(b"one\ntwo\n" + b"x" * unfinished_bytes) == b"one\ntwo\n"
    assert cutter.finish() == b"x" * unfinished_bytes + b"\n"


def test_what_was_read_may_be_overwritten_afterwards() -> None:
    cutter, buffer = LineCutter(NO_SECRETS), bytearray(b"one\ntw")

    block = cutter.feed(memoryview(buffer))
    buffer[:] = b"o\n----"

    assert block == b"one\n"
    assert cutter.feed(memoryview(buffer)[:2]) == b"two\n"


def test_a_line_over_the_limit_is_clipped_and_says_how_much_is_missing() -> None:
    cutter = LineCutter(NO_SECRETS, limit=10)

    block = cut_all(b"x" * 25 + b"\nshort\n", [7, 7, 7], cutter)

    assert block == b"xxxxxxxxxx [clipped: 15 more bytes]\nshort\n"


def test_a_line_over_the_limit_that_never_ends_is_clipped_at_the_end_of_the_stream() -> None:
    cutter = LineCutter(NO_SECRETS, limit=10)

    assert cut_all(b"x" * 100, [30], cutter) == b"xxxxxxxxxx [clipped: 90 more bytes]\n"


@given(sizes=st.lists(st.integers(1, 40), max_size=30))
def test_a_secret_is_hidden_however_it_arrives(sizes: list[int]) -> None:
    cutter = LineCutter(Mask(["hunter2-hunter2"]))

    block = cut_all(b"token hunter2-hunter2 and again hunter2-hunter2\n", sizes, cutter)

    assert block == b"token *** and again ***\n"


@given(length=st.integers(0, 60))
def test_a_clip_through_a_secret_leaves_no_part_of_it(length: int) -> None:
    cutter = LineCutter(Mask(["abcdefgh"]), limit=40)

    block = cutter.feed(b"x" * length + b"abcdefgh" * 8 + b"\n")

    assert b"abc" not in block


def test_a_secret_is_hidden_in_json_too() -> None:
    secret = 'a"b\\c-ü'

    masked = Mask([secret]).hide(json.dumps({"text": secret}).encode())

    assert json.loads(masked) == {"text": "***"}


def test_a_secret_of_several_lines_is_hidden_line_by_line() -> None:
    masked = Mask(["first-line\nsecond-line"]).hide(b"x first-line\ny second-line\n")

    assert masked == b"x ***\ny ***\n"


def test_a_secret_too_short_to_be_one_hides_nothing() -> None:
    assert Mask(["a", ""]).hide(b"a step\n") == b"a step\n"


def lifecycle(event: str, **payload: object) -> bytes:
    return json.dumps({"event": event, "payload": payload, "run_id": "r", "timestamp": 1.0}).encode()


def test_lifecycle_lines_are_found_in_order() -> None:
    block = b"\n".join(
        [
            lifecycle("run_started"),
            lifecycle("metric", name="loss", value=1, step=1),
            lifecycle("checkpoint_saved", checkpoint_path="checkpoints/1.npz"),
            lifecycle("run_failed", error="bad"),
            b"",
        ]
    )

    found = lifecycle_lines(block)

    assert [lifecycle_line.kind for lifecycle_line in found] == ["run_started", "checkpoint_saved", "run_failed"]
    assert found[1].payload == {"checkpoint_path": "checkpoints/1.npz"}


@pytest.mark.parametrize(
    "line",
    [
        b'the text "run_failed" in a log line\n',
        b'{"event":"log","payload":{"text":"\\"run_failed\\" \\"run_completed\\""}}\n',
        b'{"event":"metric","payload":{"name":"run_failed"}}\n',
        b'["run_failed"]\n',
        b'{"event":["run_failed"]}\n',
        b"[" * 100_000 + b'"run_failed"\n',
        b'\xff\xfe{"event":"run_failed"\n',
    ],
)
def test_what_only_looks_like_a_lifecycle_line_is_none(line: bytes) -> None:
    assert lifecycle_lines(line) == []


@pytest.mark.parametrize("key", ["event", "type", "event_type"])
@pytest.mark.parametrize("word", ["run_cancelled", "run_canceled", "cancelled", "canceled"])
def test_lifecycle_lines_may_name_themselves_in_three_ways_and_by_any_alias(key: str, word: str) -> None:
    found = lifecycle_lines(json.dumps({key: word, "reason": "why"}).encode() + b"\n")

    assert [lifecycle_line.kind for lifecycle_line in found] == ["run_cancelled"]


def test_only_steps_are_thinned() -> None:
    steps = [b'{"event":"step","payload":{"step_index":%d}}\n' % index for index in range(100)]
    others = [b'{"event":"metric","payload":{"name":"step"}}\n', b"a step in plain text\n"]

    thinned = StepThinner(keep_every=10).thin(b"".join([*steps, *others]))

    assert thinned.dropped == 90
    assert all(other in thinned.block for other in others)
    assert sum(may_be_thinned(line) for line in thinned.block.splitlines()) == 10


def beat(**payload: object) -> bytes:
    return json.dumps({"event": "heartbeat", "payload": payload}).encode() + b"\n"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (beat(quiet_s=1.5), 1.5),
        (beat(quiet_s=1.5) + beat(quiet_s=11), 11.0),
        (beat(quiet_s=1.5) + b"text\n", None),
        (beat(quiet_s=1.5) + beat(step=3), None),
        (beat(quiet_s="long"), None),
        (beat(), None),
        (b'{"event": "metric", "payload": {"name": "quiet_s"}, "quiet_s": 1}\n', None),
        (b'{"quiet_s": \xff\n', None),
        (b"", None),
    ],
)
def test_only_heartbeats_that_say_so_tell_of_quiet(data: bytes, expected: float | None) -> None:
    assert expected == quiet_s(data)


def test_a_heartbeat_that_tells_of_a_pause_concerns_the_agent() -> None:
    [found] = lifecycle_lines(beat(step=1) + beat(paused=True))

    assert ("heartbeat", True) == (found.kind, found.payload["paused"])


def test_lines_that_speak_as_the_agent_are_replaced_and_no_others() -> None:
    block = b"".join(
        [
            b'{"event": "custom", "payload": {"text": "attempt_ended"}}\n',
            b'{"type":"attempt_ended","outcome":"succeeded"}\n',
            b'no event, but "attempt_ended"\n',
            b'{"event":"telemetry_resumed","payload":{"dropped_steps":5}}\n',
        ]
    )

    replaced = reject_forged_events(block, lambda kind, line: f"<{kind} of {len(line)}>\n".encode())

    lines = block.split(b"\n")
    assert [lines[0], b"<attempt_ended of 46>", lines[2], b"<telemetry_resumed of 59>", b""] == replaced.split(b"\n")


@pytest.mark.parametrize("kind", sorted(AGENT_KINDS))
@pytest.mark.parametrize("disguise", [str, str.upper, " {} ".format, lambda kind: f"\\u{ord(kind[0]):04x}{kind[1:]}"])
def test_no_spelling_lets_a_worker_speak_as_the_agent(kind: str, disguise: Callable[[str], str]) -> None:
    payload = '{"outcome":"succeeded","reason":"because","text":"attempt"}'
    line = f'{{"event":"{disguise(kind)}","payload":{payload}}}\n'.encode()

    passed = reject_forged_events(line, lambda *_: b"replaced\n") if may_concern_agent(line) else line

    reading = read_line(passed[:-1])
    assert isinstance(reading, Violation | LogLine) or reading.event not in AGENT_KINDS
