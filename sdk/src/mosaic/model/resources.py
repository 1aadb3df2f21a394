"""What an attempt needs, and what it holds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mosaic.ids import GpuId

#: What a run holds whose worker estimates nothing.
DEFAULT_MEMORY_MB = 512


@dataclass(frozen=True, slots=True)
class Resources:
    """What one attempt needs, all of it on one node; 0 cpus or memory leaves it to the worker's own estimate.

    Either whole GPUs (`gpus`) or a part of one (`gpu_fraction`), never both. Whole GPUs of one
    run are a gang: it starts with all of them or not at all.
    """

    cpus: float = 0.0
    memory_mb: int = 0
    gpus: int = 0
    #: Share of a single GPU, between 0 and 1; 0 means none.
    gpu_fraction: float = 0.0
    #: Memory needed on each GPU. For a fraction, 0 means the same fraction of the card's memory.
    gpu_memory_mb: int = 0

    def faults(self) -> list[str]:
        """Return everything that is wrong with these numbers; nothing when they can be met."""
        checks = (
            (0 < self.cpus < math.inf, f"cpus must be more than 0, not {self.cpus:g}"),
            (self.memory_mb >= 0, f"memory_mb cannot be negative, but is {self.memory_mb}"),
            (self.gpus >= 0, f"gpus cannot be negative, but is {self.gpus}"),
            (0 <= self.gpu_fraction < 1, f"gpu_fraction must lie between 0 and 1, not {self.gpu_fraction:g}"),
            (self.gpu_memory_mb >= 0, f"gpu_memory_mb cannot be negative, but is {self.gpu_memory_mb}"),
            (not (self.gpus and self.gpu_fraction), "ask for whole gpus or for a gpu_fraction, not for both"),
        )
        return [fault for holds, fault in checks if not holds]


@dataclass(frozen=True, slots=True)
class GpuShare:
    """A GPU, or a part of one, held by one attempt."""

    gpu_id: GpuId
    #: 1.0 is the whole card.
    share: float = 1.0
    #: Memory set aside on the card.
    memory_mb: int = 0


@dataclass(frozen=True, slots=True)
class Lease:
    """What an attempt holds on its node until it is proven to be gone."""

    cpus: float
    memory_mb: int
    gpus: tuple[GpuShare, ...] = ()

    @property
    def gpu_total(self) -> float:
        """GPUs held, fractions added up."""
        return sum(held.share for held in self.gpus)

    @property
    def gpu_ids(self) -> tuple[GpuId, ...]:
        """The cards it touches."""
        return tuple(held.gpu_id for held in self.gpus)
