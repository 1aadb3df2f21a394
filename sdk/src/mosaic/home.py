"""Where one machine keeps its state."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def home_directory(env: Mapping[str, str]) -> Path:
    """Return ``MOSAIC_HOME``, else ``~/.mosaic``."""
    return Path(env.get("MOSAIC_HOME") or Path(env.get("HOME", "~")).expanduser() / ".mosaic")
