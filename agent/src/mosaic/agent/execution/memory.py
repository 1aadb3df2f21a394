"""What attempts use of the machine's memory, and which of them must end for it.

What a run asked for is its limit. What its worker merely estimates is not: such a run is ended only when the machine
itself runs out, and then the one that went furthest beyond its lease goes first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

#: No limit is lower: an interpreter with a library needs as much before the run has done anything.
LEAST_LIMIT_MB = 256
#: The machine has run out when less than this part of its memory is left.
PRESSURE = 0.03

_KIBIBYTES_PER_MB = 1024
#: What nobody but the process can give back; pages of files can be read again.
_OF_ROLLUP = ("Pss_Anon", "Pss_Shmem", "SwapPss")
_OF_STATUS = ("RssAnon", "RssShmem", "VmSwap")


@dataclass(frozen=True)
class Use:
    """What one attempt uses."""

    run_id: str
    attempt: int
    used_mb: int
    lease_mb: int
    #: Whether the lease is what its run asked for, and not its worker's estimate.
    is_asked: bool

    @property
    def is_over(self) -> bool:
        """Tell whether it uses more than was asked for."""
        return self.is_asked and self.used_mb > max(self.lease_mb, LEAST_LIMIT_MB)


def must_end(uses: Sequence[Use], left: float) -> Iterator[tuple[Use, str]]:
    """Yield which attempts must end, and why; *left* is the part of the machine's memory that is free."""
    over = [use for use in uses if use.is_over]
    for use in over:
        limit = max(use.lease_mb, LEAST_LIMIT_MB)
        yield use, f"it used {use.used_mb} MB of memory and may use {limit} MB; ask for more (--memory-mb)"
    beyond = [use for use in uses if use.used_mb > use.lease_mb]
    if left < PRESSURE and beyond and not over:
        worst = max(beyond, key=lambda use: use.used_mb - use.lease_mb)
        why = "the machine ran out of memory, and of all its runs this one went furthest beyond its lease"
        yield worst, f"{why}: {worst.used_mb} MB of {worst.lease_mb} MB; ask for what it needs (--memory-mb)"


def measure_mb(pids: Collection[int], *, enough_mb: int) -> int:
    """Return what *pids* use together; a sum below *enough_mb* may count shared pages several times."""
    quick = sum(_sum(f"/proc/{pid}/status", _OF_STATUS) for pid in pids) // _KIBIBYTES_PER_MB
    if quick <= enough_mb:
        return quick
    exact = (_sum(f"/proc/{pid}/smaps_rollup", _OF_ROLLUP) or _sum(f"/proc/{pid}/status", _OF_STATUS) for pid in pids)
    return sum(exact) // _KIBIBYTES_PER_MB


def _sum(path: str, names: Collection[str]) -> int:
    total = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(path).read_text().splitlines():
            name, _, value = line.partition(":")
            if name in names:
                total += int(value.split()[0])
    return total
