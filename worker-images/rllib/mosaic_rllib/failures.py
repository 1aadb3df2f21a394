"""What went wrong inside RLlib, in a sentence that a researcher understands."""

from __future__ import annotations

import re
from typing import Any

from ray.exceptions import RayActorError, RayTaskError

from mosaic_rllib.environments import EnvironmentFailed, last_words
from mosaic_rllib.metrics import TrainingDiverged

_NOT_A_NUMBER = re.compile(r"invalid values|\bnan\b", re.IGNORECASE)


class PlayerLost(RuntimeError):
    """A process that played environments is gone."""


def explained(error: Exception, step: int) -> Exception:
    """Return *error* as what it means for the run; one that speaks for itself is returned as it is."""
    cause = _cause_of(error)
    text = str(cause)
    if isinstance(cause, EnvironmentFailed) or "EnvironmentFailed" in str(error):
        told = re.search(r"the environment .*", str(error) if not isinstance(cause, EnvironmentFailed) else text)
        return EnvironmentFailed(f"{told[0] if told else text} (after step {step})")
    if isinstance(cause, ValueError) and _NOT_A_NUMBER.search(text):
        return TrainingDiverged(
            f"the networks gave no numbers any more after step {step}: a NaN has reached the weights; "
            "lower the learning rate, set grad_clip, or look at the rewards of the environment"
        )
    if isinstance(cause, RayActorError) and (words := last_words()):
        return EnvironmentFailed(f"{words} (after step {step})")
    if isinstance(cause, RayActorError):
        return PlayerLost(f"a process that played environments died after step {step}, perhaps for want of memory")
    return cause if isinstance(cause, Exception) else error


def _cause_of(error: BaseException) -> BaseException:
    """Follow the wrappers that Ray and RLlib put around what was raised."""
    inner: Any = error.cause if isinstance(error, RayTaskError) else None
    if inner is None and not str(error):
        # RLlib raises an error without a word from that of an environment.
        inner = error.__cause__
    return _cause_of(inner) if isinstance(inner, BaseException) and inner is not error else error
