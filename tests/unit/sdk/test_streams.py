"""Places for streams: some for all, fewer for each."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from mosaic.errors import Unavailable
from mosaic.hosting.streams import OpenStreams


def test_one_who_asks_cannot_take_every_place() -> None:
    places = OpenStreams(most=4, each=2)
    with ExitStack() as open_streams:
        for _ in range(2):
            open_streams.enter_context(places.place("ann"))

        with pytest.raises(Unavailable, match="ann has 2 streams open"), places.place("ann"):
            pass
        with places.place("bob"):
            pass


def test_nobody_in_particular_is_bound_by_all_places_alone() -> None:
    places = OpenStreams(most=3, each=1)
    with ExitStack() as open_streams:
        for _ in range(3):
            open_streams.enter_context(places.place(""))

        with pytest.raises(Unavailable, match="3 streams are open here"), places.place("bob"):
            pass


def test_a_place_that_is_left_is_free_also_after_a_fault() -> None:
    places = OpenStreams(most=1, each=1)
    for _ in range(3):
        with pytest.raises(ValueError, match="broken"), places.place("ann"):
            raise ValueError("broken")

    with places.place("ann"):
        pass
