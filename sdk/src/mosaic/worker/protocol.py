"""What a worker is: two shapes it must have and four it may have.

All are structural: a class that has the members fits, whatever it inherits from. The optional
ones have one method each, so a worker takes on exactly what it can keep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class WorkerConfig(Protocol):
    """The configuration of one run.

    ``isinstance`` checks only that the four names exist, so it may be asserted at the end of
    ``__post_init__``; it says nothing about their types.
    """

    run_id: str
    seed: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration as plain JSON values."""
        ...

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> WorkerConfig:
        """Build a configuration from what `to_dict` returned, or raise if it cannot be used."""
        ...


@runtime_checkable
class WorkerRuntime(Protocol):
    """The one thing a worker must be able to do."""

    def run(self) -> dict[str, Any]:
        """Work until finished and return a summary; raise if it could not.

        The usual keys are ``status`` (``completed``, ``failed`` or ``cancelled``), ``episodes``,
        ``total_reward`` and ``metrics``.
        """
        ...


@runtime_checkable
class Stoppable(Protocol):
    """For workers that can end early and keep what they learned."""

    def request_stop(self) -> None:
        """Called from a signal handler: note it and return at once.

        ``run`` should then write a checkpoint, if it has any, and return soon.
        """
        ...


@runtime_checkable
class Pausable(Protocol):
    """For workers that can hold still between two steps and release what others may need."""

    def request_pause(self, paused: bool) -> None:
        """Called from a signal handler: hold when *paused* is true, go on when it is false."""
        ...


@runtime_checkable
class Resumable(Protocol):
    """For workers that can go on from a checkpoint of theirs."""

    def resume_from(self, checkpoint: Path) -> Mapping[str, Any] | None:
        """Called once before ``run``: continue from *checkpoint*, or raise if it cannot be used.

        What it returns, such as ``{"step": 5000, "sha256": ...}``, goes into ``checkpoint_loaded``.
        """
        ...


@runtime_checkable
class Evaluable(Protocol):
    """For workers that can play a trained policy without learning."""

    def evaluate(self, checkpoint: Path, seeds: Sequence[int]) -> Mapping[str, Any]:
        """Called instead of ``run`` by ``--evaluate``: play one episode per seed and return a summary.

        The policy is that of *checkpoint*. Each episode is emitted as an ``episode`` line that carries its seed.
        """
        ...


#: The optional protocols by the name under which a probe reports them.
OPTIONAL_PROTOCOLS: Mapping[str, type] = {
    "Stoppable": Stoppable,
    "Pausable": Pausable,
    "Resumable": Resumable,
    "Evaluable": Evaluable,
}
