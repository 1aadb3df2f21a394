"""`rliable`, which the definitions come from, and a generator that draws what it draws."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np


def _rliable() -> tuple[Any, Any]:
    # arch 7, the newest that rliable takes, cannot be imported as a whole beside pandas 3; its bootstrap alone can.
    found = importlib.util.find_spec("arch")
    assert found is not None, "make setup installs requirements.oracle"
    bare = ModuleType("arch")
    bare.__path__ = list(found.submodule_search_locations or ())
    sys.modules.setdefault("arch", bare)
    from rliable import library, metrics

    return library, metrics


library, metrics = _rliable()


class SameDraws(np.random.Generator):
    """Draws, in the order in which *tables* are resampled, what rliable draws after ``np.random.seed(seed)``.

    rliable takes turns between the tables in each resample; we resample one after the other.
    """

    def __init__(self, seed: int, resamples: int, *tables: Sequence[int]) -> None:
        super().__init__(np.random.PCG64(seed))
        state = np.random.RandomState(seed)
        turns = [[state.randint(0, shape[0], shape) for shape in tables] for _ in range(resamples)]
        self._drawn = [np.stack(of_one) for of_one in zip(*turns, strict=True)]

    def integers(self, *_: Any, size: Any, **__: Any) -> Any:
        """Return the next so many rows of the table that is being resampled."""
        rows, self._drawn[0] = self._drawn[0][: size[0]], self._drawn[0][size[0] :]
        if not len(self._drawn[0]):
            self._drawn.pop(0)
        assert rows.shape == tuple(size)
        return rows
