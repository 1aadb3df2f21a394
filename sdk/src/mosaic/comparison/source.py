"""Where a comparison reads what runs came to."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from mosaic.client import Episodes, Manifest, Summary


class Source(Protocol):
    """A platform, as far as a comparison asks it; `mosaic.client.Mosaic` is one."""

    def summaries(self, run_ids: Collection[str]) -> dict[str, Summary]:
        """Return the newest numbers of each run that has sent anything."""

    def episodes(self, run_id: str, *, kind: str = "training") -> Episodes:
        """Return episodes in order."""

    def manifest(self, run_id: str, *, within_s: float = 30.0) -> Manifest:
        """Return the manifest of an ended run."""
