"""Manifests as files: ``<root>/<run_id>/manifest.json``."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4


class FileManifests:
    """A `ManifestStore` in a directory."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, run_id: str, manifest_json: str) -> str:
        """Write atomically: a reader finds the old manifest or the new one, whole, even after a crash."""
        folder = self._root / run_id
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "manifest.json"
        # A name of its own: two replicas may write the same manifest at once.
        draft = folder / f".manifest.{uuid4().hex}"
        with draft.open("w", encoding="utf-8") as file:
            file.write(manifest_json)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        _sync(folder)
        return str(path)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
