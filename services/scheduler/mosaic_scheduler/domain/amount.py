"""Capacity in exact integers, so that adding and taking away in any order gives the same sum."""

from __future__ import annotations

from typing import TypeAlias

from mosaic.model.resources import Resources

#: Thousandths of a GPU, thousandths of a CPU, megabytes of memory.
Amount: TypeAlias = tuple[int, int, int]

GPU, CPU, MEMORY = 0, 1, 2
RESOURCES = (GPU, CPU, MEMORY)
#: How people call each resource, and how many of our units make one of theirs.
LABELS = ("GPUs", "CPUs", "MB of memory")
UNITS = (1000, 1000, 1)

NOTHING: Amount = (0, 0, 0)


def thousandths(number: float) -> int:
    """Return *number* in thousandths, rounded up: nobody gets less than was asked for.

    A thousandth of a thousandth above is taken for a rounding error of the float.
    """
    return int(number * 1000 + 0.999)


def required_amount(requirements: Resources) -> Amount:
    """Return what an attempt with these *requirements* will hold."""
    gpu = requirements.gpus * 1000 or thousandths(requirements.gpu_fraction)
    return gpu, thousandths(requirements.cpus), requirements.memory_mb


def in_people_units(resource: int, amount: int) -> float:
    """Return *amount* of *resource* in GPUs, CPUs or MB."""
    return amount / UNITS[resource]


def dominant(amount: Amount | list[int], capacity: Amount | list[int]) -> float:
    """Return the largest part of any resource of *capacity* that *amount* takes."""
    gpu, cpu, memory = capacity
    return max(
        amount[GPU] / gpu if gpu else 0.0,
        amount[CPU] / cpu if cpu else 0.0,
        amount[MEMORY] / memory if memory else 0.0,
    )
