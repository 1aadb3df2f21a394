"""What can go wrong with a stack, each with what to do about it."""

from __future__ import annotations

from mosaic.errors import NotFound, Unavailable


class ExtraMissing(NotFound):
    """The client of the Docker engine is not installed."""

    code = "extra_missing"

    def __init__(self, module: str) -> None:
        self.module = module
        super().__init__(f"the package {module!r} is not installed; run `pip install 'mosaic-testing[containers]'`")


class EngineMissing(Unavailable):
    """No Docker engine answers."""

    code = "engine_missing"

    def __init__(self, why: str) -> None:
        super().__init__(f"no Docker engine answers ({why}); start one, or set DOCKER_HOST to one that runs")


class ImageMissing(NotFound):
    """Images that a stack needs are neither here nor to be pulled."""

    code = "image_missing"

    def __init__(self, images: list[str]) -> None:
        self.images = tuple(images)
        super().__init__(
            f"not here and not to be pulled: {', '.join(images)}; `make images` builds those of the platform"
        )


class PartBroken(Unavailable):
    """A container of the stack did not come up, or ended by itself."""

    code = "part_broken"

    def __init__(self, name: str, why: str, last_words: str) -> None:
        """Say what became of the container *name* and attach the end of what it printed."""
        self.name = name
        self.last_words = last_words
        super().__init__(f"{name} {why}; it printed last:\n{last_words.rstrip() or '(nothing)'}")


class PlatformMissing(Unavailable):
    """The stack runs no services: it was made with only_brokers, or it is used outside of its ``with`` block."""

    code = "platform_missing"
