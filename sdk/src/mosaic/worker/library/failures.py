"""How a training fails, in sentences that say whose fault it was."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mosaic.errors import MosaicError


class TrainingDiverged(MosaicError):
    """A loss, or what a network gives, is no longer a number."""

    code = "training_diverged"

    def __init__(self, what: str, value: float, step: int) -> None:
        super().__init__(
            f"{what} became {value} at step {step}: the training has diverged. Try a smaller learning rate, "
            "or look for rewards or observations that grow without bound"
        )


class EnvironmentFailed(MosaicError):
    """The environment raised while it was played."""

    code = "environment_failed"

    def __init__(self, env_id: str, verb: str, step: int, error: Exception | str) -> None:
        """Tell of *error*, or of what is left of it when it was raised in another process."""
        what = error if isinstance(error, str) else in_words(error)
        super().__init__(f"the environment {env_id} raised in {verb}() at step {step}: {what}")


def in_words(error: Exception) -> str:
    """Return what kind *error* is of, and what it says."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


@contextmanager
def explained(step: Callable[[], int]) -> Iterator[None]:
    """Tell of networks that give no numbers any more, which torch's distributions refuse in their own words."""
    try:
        yield
    except ValueError as error:
        if "invalid values" in str(error) and "nan" in str(error):
            raise TrainingDiverged("the policy's output", math.nan, step()) from error
        raise
