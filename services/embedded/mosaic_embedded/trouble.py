"""What is wrong with a running platform, in one sentence: when it begins, seldom meanwhile, and at its end."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

#: With less room than this nothing more can be written, whatever the file system says.
_FULL_BYTES = 256 * 1024
#: Parts find each other again by themselves; what is over sooner than this is nobody's business.
_PATIENCE_S = 10.0
#: So long until a trouble that lasts is told again.
_AGAIN_S = 600.0
_DISK = "disk"

#: What is wrong, by the part that it is wrong with.
Faults = Mapping[str, str]


def disk_fault(home: Path) -> str | None:
    """Say that the disk of *home* is full, and what that means; None while it is not."""
    if shutil.disk_usage(home).free >= _FULL_BYTES:
        return None
    return f"the disk of {home} is full: runs wait until there is room, and nothing they said is lost. Free some space"


class Trouble:
    """Remembers what was told, so that a fault is one sentence and not one with every look."""

    def __init__(self, home: Path, find: Callable[[], Faults], tell: Callable[[str], None], *, now_s: float) -> None:
        """Take all to be well at *now_s*."""
        self._home = home
        self._find = find
        self._tell = tell
        self._told: Faults = {}
        self._told_at = 0.0
        self._well_at = now_s

    def look(self, now_s: float) -> None:
        """Tell what is wrong if it is news, or was told long ago; tell when all is well again."""
        full = disk_fault(self._home)
        faults = {_DISK: full} if full else self._find()
        if not faults:
            self._well_at = now_s
            if self._told:
                self._tell("all is well again")
            self._told = {}
        elif full or now_s - self._well_at >= _PATIENCE_S:
            told = full or "something is wrong: " + "; ".join(f"{part}: {why}" for part, why in faults.items())
            self._tell_if_news(faults, told, now_s)

    def _tell_if_news(self, faults: Faults, told: str, now_s: float) -> None:
        if not self._knows(faults) or now_s - self._told_at >= _AGAIN_S:
            self._tell(told)
            self._told, self._told_at = dict(faults), now_s

    def _knows(self, faults: Faults) -> bool:
        # One cause makes part after part fail, and they recover one after the other; a full disk makes all else fail.
        causes = "; ".join(self._told.values())
        return _DISK in self._told or all(part in self._told or why in causes for part, why in faults.items())
