"""Streams that outlive the service they come from."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from mosaic.errors import Unavailable

T = TypeVar("T")

#: Told once when a stream breaks off, and not again before it has gone on.
OnAway = Callable[[], None]

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 3.0


def ignore() -> None:
    """Do nothing about a service that is away."""


def persist(
    open_stream: Callable[[], Iterator[T]],
    *,
    look_again: Callable[[], bool],
    on_away: OnAway = ignore,
    deadline: float | None = None,
) -> Iterator[T]:
    """Yield from a stream and, whenever it ends or breaks off, from a new one.

    A service that stops in good order ends its streams as if all were said, so an end is no news. Before a stream is
    opened again, *look_again* finds out where the service is, and tells whether that is somewhere else than before.
    Returns at *deadline*, a reading of ``time.monotonic()``, and never without one.

    Raises:
        Unavailable: the very first stream could not be opened, and the service is nowhere else.
    """
    has_begun, is_told, pause = False, False, _FIRST_PAUSE_S
    while True:
        try:
            for message in open_stream():
                has_begun, is_told, pause = True, False, _FIRST_PAUSE_S
                yield message
            has_begun = True
        except Unavailable:
            if not has_begun and not _is_past(deadline) and not look_again():
                raise
        if _is_past(deadline):
            return
        if not is_told:
            on_away()
            is_told = True
        time.sleep(pause if deadline is None else max(0.0, min(pause, deadline - time.monotonic())))
        pause = min(pause * 2, _LONGEST_PAUSE_S)
        look_again()


def _is_past(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline
