"""The cores of the lease."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module


def use_threads_of_lease(environment: Mapping[str, str]) -> None:
    """Let torch compute with as many threads as the run was given, one if nobody said."""
    given = environment.get("OMP_NUM_THREADS", "")
    import_module("torch").set_num_threads(int(given) if given.isdigit() and int(given) > 0 else 1)
