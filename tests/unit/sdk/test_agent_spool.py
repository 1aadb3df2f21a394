"""The spool keeps every line until it is confirmed, whatever is torn and whenever."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mosaic.agent.telemetry.spool import Spool
from mosaic.events.frame import decode


def a_spool(directory: Path, **options: int) -> Spool:
    return Spool(directory, "run-1", 1, **options)  # type: ignore[arg-type]


def take_lines(spool: Spool) -> list[tuple[int, bytes]]:
    """Take everything and return the lines with their numbers."""
    frames = [decode(frame.body) for frame in spool.take(frames=1000, size_bytes=10**9)]
    return [(seq, line) for frame in frames for seq, line in enumerate(frame.lines, frame.first_seq)]


def numbered(*lines: bytes) -> list[tuple[int, bytes]]:
    return list(enumerate(lines))


def test_lines_come_out_as_they_went_in_numbered_from_nought(tmp_path: Path) -> None:
    spool = a_spool(tmp_path)
    spool.append(b"one\ntwo\n", 1.0)
    spool.append(b"three\n", 2.0)
    spool.flush()

    [frame] = spool.take(frames=10, size_bytes=10**6)

    assert (frame.first_seq, frame.count) == (0, 3)
    assert decode(frame.body).lines == [b"one", b"two", b"three"]
    assert decode(frame.body).times == ((2, 1.0), (1, 2.0))


def test_a_frame_closes_by_itself_when_it_is_full(tmp_path: Path) -> None:
    spool = a_spool(tmp_path, frame_bytes=10)

    closed = [spool.append(b"1234567\n", 1.0), spool.append(b"1234567\n", 1.0)]

    assert closed == [False, True]
    assert not spool.has_open_lines


def test_what_is_not_confirmed_is_taken_again_in_order(tmp_path: Path) -> None:
    spool = a_spool(tmp_path, frame_bytes=1)
    for number in range(4):
        spool.append(b"%d\n" % number, 1.0)
    taken = [frame.first_seq for frame in spool.take(frames=3, size_bytes=10**6)]

    spool.confirm([1])
    spool.give_back([0, 2])

    assert taken == [0, 1, 2]
    assert [frame.first_seq for frame in spool.take(frames=9, size_bytes=10**6)] == [0, 2, 3]


def test_lines_that_were_not_framed_survive_a_crash(tmp_path: Path) -> None:
    before = a_spool(tmp_path)
    before.append(b"framed\n", 1.0)
    before.flush()
    before.append(b"not framed\n", 2.0)

    after = a_spool(tmp_path)

    assert numbered(b"framed", b"not framed") == take_lines(after)
    assert after.next_seq == 2


def test_a_frame_that_was_written_before_the_journal_was_emptied_is_not_repeated(tmp_path: Path) -> None:
    before = a_spool(tmp_path)
    before.append(b"one\n", 1.0)
    journal = (tmp_path / "open.journal").read_bytes()
    before.flush()
    (tmp_path / "open.journal").write_bytes(journal)

    assert numbered(b"one") == take_lines(a_spool(tmp_path))


def test_numbering_goes_on_after_everything_was_confirmed(tmp_path: Path) -> None:
    before = a_spool(tmp_path, frame_bytes=1, segment_bytes=1)
    for number in range(5):
        before.append(b"%d\n" % number, 1.0)
        before.confirm([frame.first_seq for frame in before.take(frames=9, size_bytes=10**6)])

    after = a_spool(tmp_path)

    assert after.next_seq == 5


def test_confirmed_segments_are_deleted(tmp_path: Path) -> None:
    spool = a_spool(tmp_path, frame_bytes=1, segment_bytes=1)
    for number in range(5):
        spool.append(b"%d\n" % number, 1.0)

    spool.confirm([frame.first_seq for frame in spool.take(frames=9, size_bytes=10**6)])

    assert len(list(tmp_path.glob("*.segment"))) == 1
    assert spool.is_confirmed


@given(cut=st.integers(0, 400))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_torn_tail_costs_only_what_was_torn(tmp_path: Path, cut: int) -> None:
    directory = tmp_path / str(cut)
    before = a_spool(directory, frame_bytes=1)
    for number in range(4):
        before.append(b"line %d\n" % number, 1.0)
    before.close()
    segment = next(directory.glob("*.segment"))
    os.truncate(segment, max(0, segment.stat().st_size - cut))

    after = a_spool(directory, frame_bytes=1)
    survivors = after.next_seq
    after.append(b"new\n", 2.0)

    expected = [b"line %d" % number for number in range(survivors)] + [b"new"]
    assert numbered(*expected) == take_lines(after)
    after.close()


def test_the_growth_of_a_spool_is_told_and_taken_back(tmp_path: Path) -> None:
    sizes: list[int] = []
    spool = Spool(tmp_path, "run-1", 1, on_growth=sizes.append)
    spool.append(b"one\n", 1.0)
    spool.flush()

    spool.confirm([frame.first_seq for frame in spool.take(frames=9, size_bytes=10**6)])

    assert sum(sizes) == 0
    assert sizes[0] > 0


def test_a_full_disk_loses_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = a_spool(tmp_path)

    def refuse(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "writev", refuse)
        with pytest.raises(OSError, match="No space"):
            spool.append(b"one\n", 1.0)
    spool.append(b"two\n", 2.0)
    spool.flush()

    assert numbered(b"one", b"two") == take_lines(spool)


def test_a_disk_that_is_full_of_what_was_confirmed_takes_lines_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last segment held its place for ever, so as many agents as fitted on a small disk waited for each other."""
    room, write = 900, os.writev

    def write_if_there_is_room(descriptor: int, parts: list[bytes]) -> int:
        if sum(path.stat().st_size for path in tmp_path.iterdir()) + sum(map(len, parts)) > room:
            raise OSError(28, "No space left on device")
        return write(descriptor, parts)

    monkeypatch.setattr(os, "writev", write_if_there_is_room)
    spool, sent = a_spool(tmp_path, frame_bytes=1), list[tuple[int, bytes]]()
    for number in range(50):
        try:
            spool.append(b"%d\n" % number, 1.0)
        except OSError:
            spool.flush()
        frames = spool.take(frames=9, size_bytes=10**6)
        sent += [(frame.first_seq, decode(frame.body).lines[0]) for frame in frames]
        spool.confirm([frame.first_seq for frame in frames])

    assert numbered(*(b"%d" % number for number in range(50))) == sent
    assert 50 == a_spool(tmp_path).next_seq
