"""Secrets as files in one directory, the way Kubernetes and Compose mount them."""

from __future__ import annotations

from pathlib import Path

from mosaic.ids import is_id


class SecretFiles:
    """Reads a secret when it is asked for, so that a rotated one is used at the next claim."""

    def __init__(self, directory: str) -> None:
        """Look in *directory*; an empty name means that there are no secrets."""
        self._directory = Path(directory) if directory else None

    def value(self, name: str) -> str | None:
        """Return the content of the file *name* without its last newline, or None."""
        if self._directory is None or not is_id(name):
            return None
        try:
            return (self._directory / name).read_text(encoding="utf-8").removesuffix("\n")
        except OSError:
            return None
