"""An environment as people ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mosaic.worker.environments import Environment


@dataclass(frozen=True)
class Described:
    """An environment, who can train on it, and why the others cannot."""

    environment: Environment
    workers: tuple[str, ...]
    why_not: Mapping[str, str]
