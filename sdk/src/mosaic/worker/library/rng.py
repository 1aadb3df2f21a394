"""The random numbers of this process: Python's, NumPy's, torch's and those of every GPU."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def generator_states() -> dict[str, Any]:
    """Return the states of all generators, those of the GPUs included."""
    numpy, torch = _libraries()
    return {
        "python": random.getstate(),
        "numpy": numpy.random.get_state(),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def set_generators(states: Mapping[str, Any]) -> None:
    """Set all generators to what `generator_states` returned, there or on a machine with other GPUs."""
    numpy, torch = _libraries()
    random.setstate(states["python"])
    numpy.random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"].cpu())
    for device, state in zip(range(torch.cuda.device_count()), states.get("cuda", ()), strict=False):
        torch.cuda.set_rng_state(state.cpu(), device)


def seed_everything(seed: int) -> None:
    """Let every generator that libraries share in this process begin at *seed*."""
    numpy, torch = _libraries()
    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)


@contextmanager
def untouched_generators() -> Iterator[None]:
    """Leave all generators as they were, whatever draws meanwhile."""
    states = generator_states()
    try:
        yield
    finally:
        set_generators(states)


def _libraries() -> tuple[Any, Any]:
    return import_module("numpy"), import_module("torch")
