"""What went wrong inside RLlib, in a sentence that a researcher understands."""

from __future__ import annotations

from typing import Any

from ray.exceptions import RayActorError, RayTaskError

from mosaic.worker.library.failures import EnvironmentFailed
from mosaic_rllib.environments import last_words


class PlayerLost(RuntimeError):
    """A process that played environments is gone."""


def explained(error: Exception, env_id: str, step: int) -> Exception:
    """Return *error* as what it means for the run; one that speaks for itself is returned as it is."""
    if words := last_words():
        return EnvironmentFailed(env_id, words["verb"], step, words["what"])
    cause = _cause_of(error)
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
