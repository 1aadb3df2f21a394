"""How often a worker's pipe is read and its lines are sent on: on a loop whose clock we turn by hand."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from mosaic.agent.telemetry.backlog import Backlog
from mosaic.agent.telemetry.lines import Mask
from mosaic.agent.telemetry.pipes import FLUSH_S, LINGER_S, LONGEST_REST_S, REST_BYTES, SHORTEST_REST_S, Listener
from mosaic.agent.telemetry.spool import Spool
from mosaic.agent.telemetry.stream import Stream

LINE = b'{"event":"metric","payload":{"name":"loss","value":1}}\n'


@dataclass
class Timer:
    when: float
    action: Callable[..., None]
    arguments: tuple[Any, ...]
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True


@dataclass
class HandLoop:
    """As much of an event loop as a listener needs."""

    now: float = 100.0
    readers: dict[int, Callable[[], None]] = field(default_factory=dict)
    timers: list[Timer] = field(default_factory=list)

    def time(self) -> float:
        return self.now

    def add_reader(self, descriptor: int, action: Callable[..., None], *arguments: Any) -> None:
        self.readers[descriptor] = lambda: action(*arguments)

    def remove_reader(self, descriptor: int) -> None:
        self.readers.pop(descriptor, None)

    def call_later(self, delay_s: float, action: Callable[..., None], *arguments: Any) -> Timer:
        self.timers.append(Timer(self.now + delay_s, action, arguments))
        return self.timers[-1]

    def advance(self, seconds: float) -> None:
        end = self.now + seconds + 1e-9
        while due := [timer for timer in self.timers if timer.when <= end]:
            timer = min(due, key=lambda one: one.when)
            self.timers.remove(timer)
            self.now = max(self.now, timer.when)
            if not timer.is_cancelled:
                timer.action(*timer.arguments)
        self.now = end


@dataclass
class Ear:
    """A listener, the loop it lives on, and both ends of the pipe it reads."""

    loop: HandLoop
    listener: Listener
    stdout: int
    mouth: int
    #: When frames were closed.
    frames: list[float]

    def say(self, *, size_bytes: int = len(LINE)) -> None:
        """Write lines; they are read at once if anybody listens now."""
        os.write(self.mouth, LINE * (size_bytes // len(LINE)))
        if self.stdout in self.loop.readers:
            self.loop.readers[self.stdout]()

    @property
    def is_listening(self) -> bool:
        return self.stdout in self.loop.readers


@pytest.fixture
def ear(tmp_path: Path) -> Iterator[Ear]:
    loop, frames = HandLoop(), list[float]()
    stdout, mouth = os.pipe()
    stderr, other = os.pipe()
    fcntl.fcntl(mouth, fcntl.F_SETPIPE_SZ, 1024 * 1024)
    for descriptor in (stdout, stderr):
        os.set_blocking(descriptor, False)
    spool = Spool(tmp_path, "run-1", 1)
    stream = Stream(spool, mask=Mask(()), backlog=Backlog(10**9), clock=loop.time)
    listener = Listener(
        stream,
        cast("asyncio.AbstractEventLoop", loop),
        on_lifecycle_line=lambda _lifecycle_line: None,
        on_first_line=lambda: None,
        on_frames=lambda: frames.append(loop.now),
    )
    listener.listen(stdout, stderr, is_roomy=True)
    yield Ear(loop, listener, stdout, mouth, frames)
    spool.close()
    for descriptor in (stdout, mouth, stderr, other):
        os.close(descriptor)


def reads_within(ear: Ear, seconds: float, *, every_s: float, size_bytes: int) -> int:
    """Let the worker talk evenly for *seconds* and return how often it was read."""
    reads, was_listening = 0, ear.is_listening
    for _ in range(round(seconds / every_s)):
        was_listening = ear.is_listening
        ear.say(size_bytes=size_bytes)
        reads += was_listening
        ear.loop.advance(every_s)
    return reads


def test_a_worker_that_chatters_is_read_ten_times_a_second_and_not_for_every_line(ear: Ear) -> None:
    reads_within(ear, 1.0, every_s=0.01, size_bytes=len(LINE))

    reads = reads_within(ear, 2.0, every_s=0.01, size_bytes=len(LINE))

    assert reads <= 2.0 / LONGEST_REST_S + 1


def test_the_faster_a_pipe_fills_the_shorter_it_is_left_alone(ear: Ear) -> None:
    reads_within(ear, 1.0, every_s=0.01, size_bytes=len(LINE))

    reads = reads_within(ear, 2.0, every_s=0.005, size_bytes=REST_BYTES)

    assert reads > 2.0 / LONGEST_REST_S * 10


def test_a_line_after_a_silence_is_read_at_once_and_sent_on_soon(ear: Ear) -> None:
    ear.say()
    ear.loop.advance(10.0)
    assert ear.is_listening
    sent_before = len(ear.frames)

    ear.say()
    ear.loop.advance(LINGER_S)

    assert len(ear.frames) == sent_before + 1


def test_a_worker_that_talks_on_is_sent_on_only_now_and_then(ear: Ear) -> None:
    ear.say()
    sent_before = len(ear.frames)

    reads_within(ear, 10 * FLUSH_S, every_s=0.01, size_bytes=len(LINE))

    assert 9 <= len(ear.frames) - sent_before <= 11


def test_the_first_lines_wait_the_shortest(ear: Ear) -> None:
    ear.say()
    assert not ear.is_listening

    ear.loop.advance(2 * SHORTEST_REST_S)

    assert ear.is_listening
