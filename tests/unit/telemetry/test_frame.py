from __future__ import annotations

import zlib
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from mosaic.events import packing
from mosaic.events.frame import Frame, decode, encode, encode_block, encode_counted, unpacked_size
from mosaic.events.packing import FrameUnreadable

GOLDEN = Path(__file__).parents[2] / "golden" / "frames"

some_line = st.binary(max_size=40).map(lambda line: line.replace(b"\n", b""))


def a_frame(lines: list[bytes]) -> Frame:
    return Frame("run-1", 2, 70, ((len(lines), 1700000000.25),), lines)


@given(st.lists(some_line, min_size=1))
def test_whatever_the_lines_hold_they_come_back_as_they_were(lines: list[bytes]) -> None:
    frame = a_frame(lines)

    assert frame == decode(encode(frame))


@given(st.binary(max_size=300))
def test_bytes_that_are_no_frame_raise_only_the_one_error(noise: bytes) -> None:
    packed = (b"MF1z" + zlib.compress(noise), b"MF1Z" + zstandard.compress(noise))
    for body in (noise, b"MF1s" + noise, b"MF1z" + noise, b"MF1Z" + noise, *packed):
        with pytest.raises(FrameUnreadable):
            decode(body)


@given(st.data())
def test_a_damaged_frame_is_unreadable_or_whole(data: st.DataObject) -> None:
    body = bytearray(encode(a_frame([b'{"event":"metric"}'] * 9)))
    body[data.draw(st.integers(0, len(body) - 1))] ^= data.draw(st.integers(1, 255))

    try:
        frame = decode(bytes(body))
    except FrameUnreadable:
        return
    assert len(frame.lines) == 9


@pytest.mark.parametrize("codec", ["stored", "zlib", "zstd"])
def test_frames_that_lie_in_stores_and_spools_are_read_for_ever(codec: str) -> None:
    line = b'{"event":"metric","payload":{"name":"loss","step":1,"value":0.5},"run_id":"run-1","timestamp":1.5}'
    lines = [line, b"", b"text \xff\x00"]

    frame = decode((GOLDEN / f"{codec}.frame").read_bytes())

    assert Frame("run-1", 2, 70, ((1, 1700000000.25), (2, 1700000001.5)), lines) == frame


@pytest.mark.parametrize("codec", ["zlib", "zstd"])
def test_a_frame_that_was_cut_short_is_unreadable(codec: str) -> None:
    body = (GOLDEN / f"{codec}.frame").read_bytes()

    with pytest.raises(FrameUnreadable, match="cut short"):
        decode(body[:-6])


def test_bytes_after_the_end_make_a_frame_unreadable() -> None:
    with pytest.raises(FrameUnreadable, match="damaged"):
        decode(encode(a_frame([b"x"])) + b"more")


def test_a_codec_of_the_future_is_named() -> None:
    with pytest.raises(FrameUnreadable, match=r"codec b'q' is not known here; is this service older"):
        decode(b"MF1q...")


def test_blocks_whose_lines_were_counted_become_the_same_frame() -> None:
    frame = a_frame([b"a", b"", b"c"])

    body = encode_counted("run-1", 2, 70, frame.times, [b"a\n\n", b"c\n"])

    assert frame == decode(body)


def test_a_frame_that_would_unpack_to_too_much_is_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MAX_UNPACKED_BYTES", 1000)

    for body in (encode(a_frame([b"x" * 2000])), b"MF1z" + zlib.compress(b"x" * 2000)):
        with pytest.raises(FrameUnreadable, match="more than 1000 bytes"):
            decode(body)


def test_a_few_kilobytes_that_unpack_to_gigabytes_of_lines_are_unreadable() -> None:
    body = encode_block("run-1", 1, 0, [(30_000_000, 5.0)], b"ab\n" * 29_999_999 + b"ab")

    assert len(body) < 16_000
    with pytest.raises(FrameUnreadable, match="unpacks to more than"):
        decode(body)


def test_a_frame_stored_as_it_is_has_the_same_bound() -> None:
    most = packing.MAX_UNPACKED_BYTES
    body = encode_block("run-1", 1, 0, [(most, 5.0)], b"\n" * (most - 1), compressed=False)

    with pytest.raises(FrameUnreadable, match="more than"):
        decode(body)


@pytest.mark.parametrize(
    ("body", "size"),
    [
        (encode_block("r", 1, 0, [(1, 1.0)], b"x" * 500), 500),
        (b"MF1s" + b"x" * 9, 9),
        (b"MF1Zrubbish", packing.MAX_UNPACKED_BYTES),
        (b"", packing.MAX_UNPACKED_BYTES),
    ],
)
def test_how_large_a_frame_is_unpacked_is_known_before(body: bytes, size: int) -> None:
    assert abs(size - unpacked_size(body)) < 80, "the header aside"


def test_a_block_may_be_stored_without_compression() -> None:
    body = encode_block("run-1", 1, 0, [(2, 5.0)], b"a\nb", compressed=False)

    assert decode(body).lines == [b"a", b"b"]


def test_stamps_must_cover_the_lines() -> None:
    with pytest.raises(ValueError, match="3 lines are stamped, but 2 are there"):
        encode_block("run-1", 1, 0, [(3, 5.0)], b"a\nb")


def test_a_line_with_a_newline_in_it_is_refused() -> None:
    with pytest.raises(ValueError, match="no line has a newline"):
        encode(a_frame([b"a\nb"]))


def test_every_line_has_the_stamp_of_the_block_it_was_read_with() -> None:
    frame = Frame("run-1", 1, 0, ((2, 5.0), (1, 6.0)), [b"a", b"b", b"c"])

    assert list(frame.line_times()) == [5.0, 5.0, 6.0]
    assert frame.last_seq == 2
