from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from uuid import uuid4

import numpy
import pytest

from mosaic.compat.fastlane import (
    FastLaneConfig,
    FastLaneMetrics,
    FastLaneReader,
    FastLaneWriter,
    create_fastlane_name,
)

SHAPE = FastLaneConfig(width=2, height=2, channels=3, capacity=2, metadata_size=4)


@pytest.fixture
def run_id() -> str:
    return f"test-{uuid4().hex}"


@pytest.fixture
def writer(run_id: str) -> Iterator[FastLaneWriter]:
    lane = FastLaneWriter.create(run_id, SHAPE)
    yield lane
    lane.close()
    lane.unlink()
    lane.unlink()


def test_the_header_is_laid_out_as_viewers_expect(writer: FastLaneWriter) -> None:
    writer.publish(bytes(range(12)), metrics=FastLaneMetrics(1.0, 2.0, 3.0))

    header = struct.unpack_from("<4sIIIIIIIIIQQddd", writer._view)

    pixels = zlib.crc32(b"RGB")
    assert (b"FLAN", 1, 0, 2, 32, 16, 2, 2, 3, pixels, 1, 0, 1.0, 2.0, 3.0) == header
    assert (4, 12, 0) == struct.unpack_from("<QII", writer._view, 80)


def test_a_reader_sees_the_newest_frame(run_id: str, writer: FastLaneWriter) -> None:
    for value in (1, 2, 3):
        writer.publish(numpy.full((2, 2, 3), value, numpy.uint8), metadata='{"a":1}')
    reader = FastLaneReader.attach(run_id)

    frame = reader.latest_frame()
    reader.close()

    assert frame is not None
    assert bytes([3] * 12) == frame.data
    assert b'{"a"' == frame.metadata
    assert (2, 2, 3) == (frame.width, frame.height, frame.channels)


def test_a_frame_that_is_being_written_is_passed_over(run_id: str, writer: FastLaneWriter) -> None:
    writer.publish(bytes([1] * 12))
    writer.publish(bytes([2] * 12))
    struct.pack_into("<Q", writer._view, 80 + 32, 7)
    reader = FastLaneReader.attach(run_id)

    frame = reader.latest_frame()
    reader.close()

    assert frame is not None
    assert bytes([1] * 12) == frame.data


def test_an_empty_ring_has_no_frame(run_id: str, writer: FastLaneWriter) -> None:
    reader = FastLaneReader.attach(run_id)

    assert reader.latest_frame() is None
    reader.close()


def test_readers_are_told_to_let_go(run_id: str, writer: FastLaneWriter) -> None:
    reader = FastLaneReader.attach(run_id)
    writer.invalidate()

    assert reader.is_invalidated
    reader.close()


def test_a_frame_too_large_is_refused(writer: FastLaneWriter) -> None:
    with pytest.raises(ValueError, match="frame of 13 bytes does not fit 12"):
        writer.publish(bytes(13))


def test_a_second_ring_of_the_same_name_is_refused(run_id: str, writer: FastLaneWriter) -> None:
    with pytest.raises(FileExistsError):
        FastLaneWriter.create(run_id, SHAPE)


def test_names_have_no_slashes() -> None:
    assert "mosaic.fastlane.a_b" == create_fastlane_name("a/b")
