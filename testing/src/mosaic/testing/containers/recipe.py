"""How one container of a stack is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mosaic.testing.containers.answers import Answers

#: Where a container finds what is meant for it alone.
SECRETS = "/run/secrets"


@dataclass(frozen=True)
class Recipe:
    """An image with everything that it is given; the container can be reached under ``name`` by the others.

    However little an image promises, it is run without rights and on a root that cannot be written to.
    """

    name: str
    image: str
    #: The port inside on which ``answers`` is asked whether it can be used.
    answers_on: int
    answers: Answers
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Ports inside that are published on this machine, besides ``answers_on``.
    ports: tuple[int, ...] = ()
    #: Where each volume of the stack is mounted; a volume that two parts name is shared.
    volumes: Mapping[str, str] = field(default_factory=dict)
    #: Files in `SECRETS`, which nobody but the container's user reads.
    secrets: Mapping[str, bytes] = field(default_factory=dict)
    #: Directories in memory, each with its mount options.
    tmpfs: Mapping[str, str] = field(default_factory=lambda: {"/tmp": "mode=1777"})
    #: ``uid:gid``; empty = what the image says.
    user: str = ""
    command: tuple[str, ...] = ()
    #: Replaces the image's own; empty = leave it.
    entrypoint: tuple[str, ...] = ()
    shared_memory_mb: int = 64
    #: How long it may take to be ready.
    patience_s: float = 120.0

    @property
    def published(self) -> tuple[int, ...]:
        """Every port inside that is published."""
        return tuple(dict.fromkeys((self.answers_on, *self.ports)))
