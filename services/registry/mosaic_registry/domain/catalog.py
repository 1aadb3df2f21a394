"""Which announcement of a worker counts."""

from __future__ import annotations

import re
from collections.abc import Collection

from mosaic.model.fleet import Worker

#: How faithfully a worker continues from its checkpoints, as it declares; empty = nobody has measured it.
RESUME_GRADES = ("", "A", "B", "C")


def adopt(known: Worker | None, presented: Worker, *, other_versions: Collection[str]) -> Worker:
    """Return the catalog's entry after an agent *presented* a worker.

    The newest version counts, so that old agents which return during an upgrade do not undo it.
    *other_versions* are those of the other living agents: when none of them runs the known, newer version
    any more, the older one counts again (that is how one goes back).
    """
    if known is None:
        return presented
    if _order(presented.version) < _order(known.version) and known.version in other_versions:
        return known
    return presented


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))
