"""Progress bars become a few lines, whatever they are written in, and all other bytes stay as they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mosaic.agent.telemetry.progress import SHOWN_EVERY_S, STATE_LIMIT_BYTES, Overwriting


class Clock:
    """A time that stands still until it is told to go on."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def fed(pieces: list[bytes], clock: Clock | None = None) -> bytes:
    bars = Overwriting(clock or Clock())
    return b"".join([*(bytes(bars.feed(piece)) for piece in pieces), bars.finish()])


def in_pieces(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces, at = [], 0
    for size in sizes:
        pieces.append(data[at : at + size])
        at += size
    return [*pieces, data[at:]]


@given(data=st.binary(max_size=300).map(lambda data: data.replace(b"\r", b"x")), sizes=st.lists(st.integers(0, 40)))
def test_bytes_without_a_return_pass_untouched(data: bytes, sizes: list[int]) -> None:
    assert data == fed(in_pieces(data, sizes))


@given(
    lines=st.lists(st.binary(min_size=1, max_size=30).map(lambda line: line.translate(None, b"\r\n")), max_size=9),
    sizes=st.lists(st.integers(0, 20)),
)
def test_line_ends_of_another_system_are_line_ends(lines: list[bytes], sizes: list[int]) -> None:
    data = b"".join(line + b"\r\n" for line in lines)

    assert b"".join(line + b"\n" for line in lines) == fed(in_pieces(data, sizes))


def bar(steps: range) -> list[bytes]:
    return [b"\r%3d%%| %d/1000" % (step // 10, step) for step in steps]


def test_a_bar_becomes_its_first_and_its_last_state() -> None:
    lines = fed([*bar(range(1001)), b"\n", b"done\n"]).split(b"\n")

    assert [b"  0%| 0/1000", b"100%| 1000/1000", b"done", b""] == lines


def test_a_bar_that_goes_on_is_seen_at_intervals() -> None:
    clock = Clock()
    bars = Overwriting(clock)
    seen = []
    for piece in bar(range(100)):
        seen.append(bytes(bars.feed(piece)))
        clock.now += SHOWN_EVERY_S / 10

    assert 10 == len([one for one in seen if one])
    assert all(one.endswith(b"/1000\n") for one in seen if one)


def test_a_worker_that_dies_under_its_bar_leaves_the_last_state() -> None:
    assert fed([*bar(range(3)), b"Traceback"]).endswith(b"  0%| 2/1000Traceback")


def test_an_endless_line_after_a_return_is_not_gathered() -> None:
    bars = Overwriting(Clock())

    passed = sum(len(bars.feed(piece)) for piece in [b"\rx", *[b"x" * STATE_LIMIT_BYTES] * 20])

    assert passed > 18 * STATE_LIMIT_BYTES
