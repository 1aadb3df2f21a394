"""Frames to a sink that refuses, fails and comes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mosaic.agent.telemetry.backlog import Backlog
from mosaic.agent.telemetry.shipper import Shipper
from mosaic.agent.telemetry.spool import Spool
from mosaic.errors import BrokerUnavailable
from mosaic.events.frame import EncodedFrame

Answer = Callable[[Sequence[EncodedFrame]], Sequence[int]]


class Sink:
    """Answers as told, one answer per call; afterwards it takes everything."""

    def __init__(self, *answers: Answer) -> None:
        self.calls: list[list[tuple[str, int]]] = []
        self.taken: list[tuple[str, int]] = []
        self._answers = list(answers)

    def send(self, frames: Sequence[EncodedFrame]) -> Sequence[int]:
        names = [(frame.run_id, frame.first_seq) for frame in frames]
        self.calls.append(names)
        answer = self._answers.pop(0) if self._answers else lambda frames: range(len(frames))
        confirmed = answer(frames)
        self.taken += [names[index] for index in confirmed]
        return confirmed


def refuse(_: Sequence[EncodedFrame]) -> Sequence[int]:
    raise BrokerUnavailable("nobody there")


def crash(_: Sequence[EncodedFrame]) -> Sequence[int]:
    raise RuntimeError("a fault of the sink")


def take_odd_ones(frames: Sequence[EncodedFrame]) -> Sequence[int]:
    return range(1, len(frames), 2)


def a_spool(directory: Path, run_id: str, lines: int) -> Spool:
    spool = Spool(directory / run_id, run_id, 1, frame_bytes=1)
    for number in range(lines):
        spool.append(b"%d\n" % number, 1.0)
    return spool


@pytest.fixture
def ship(tmp_path: Path) -> Iterator[Callable[..., Shipper]]:
    shippers: list[Shipper] = []

    def start(sink: Sink, *spools: Spool) -> Shipper:
        shipper = Shipper(sink)
        for spool in spools:
            shipper.add(spool)
        shipper.start()
        shippers.append(shipper)
        return shipper

    yield start
    for shipper in shippers:
        shipper.stop()


def test_frames_are_sent_in_order(tmp_path: Path, ship: Callable[..., Shipper]) -> None:
    sink = Sink()

    shipper = ship(sink, a_spool(tmp_path, "a", 5))

    assert shipper.wait_until_empty(5)
    assert [("a", seq) for seq in range(5)] == sink.taken


@pytest.mark.parametrize("fault", [refuse, crash, take_odd_ones])
def test_what_is_not_confirmed_is_sent_again(tmp_path: Path, ship: Callable[..., Shipper], fault: Answer) -> None:
    sink = Sink(fault, fault)

    shipper = ship(sink, a_spool(tmp_path, "a", 5))

    assert shipper.wait_until_empty(5)
    assert [("a", seq) for seq in range(5)] == sorted(sink.taken)


def test_a_chatty_spool_does_not_keep_a_quiet_one_waiting(tmp_path: Path, ship: Callable[..., Shipper]) -> None:
    sink = Sink()

    shipper = ship(sink, a_spool(tmp_path, "chatty", 300), a_spool(tmp_path, "quiet", 1))

    assert shipper.wait_until_empty(5)
    rounds_before = next(index for index, call in enumerate(sink.calls) if ("quiet", 0) in call)
    assert rounds_before <= 1


def test_a_finished_spool_is_handed_back_once_it_is_empty(tmp_path: Path) -> None:
    handed_back = threading.Event()
    shipper = Shipper(Sink(refuse), lambda _: handed_back.set())
    spool = a_spool(tmp_path, "a", 3)
    shipper.add(spool)
    shipper.last(spool)

    shipper.start()

    assert handed_back.wait(5)
    assert spool.is_confirmed
    shipper.stop()


def test_a_backlog_is_starved_above_its_limit_and_relieved_at_half_of_it() -> None:
    backlog = Backlog(100)
    states = []

    for change in (100, 1, -40, -11):
        backlog.change(change)
        states.append(backlog.is_starved)

    assert [False, True, True, False] == states


def test_whoever_waits_for_the_last_frame_does_not_hear_the_news_instead_of_the_shipper(
    tmp_path: Path, ship: Callable[..., Shipper]
) -> None:
    spool = Spool(tmp_path / "a", "a", 1)
    spool.append(b"1\n", 1.0)
    shipper = ship(Sink(), spool)
    with ThreadPoolExecutor(1) as pool:
        is_empty = pool.submit(shipper.wait_until_empty, 5)
        # It looks, finds only an open frame and goes to sleep again, behind the one who waits.
        while len(shipper._wake._waiters) < 2:  # type: ignore[attr-defined]
            time.sleep(0.01)
        shipper.wake()
        time.sleep(0.1)

        spool.flush()
        shipper.wake()

        assert is_empty.result()
