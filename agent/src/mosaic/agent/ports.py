"""What the agent needs from others, and the values that cross."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mosaic.ids import RunId
from mosaic.model.attempt import AttemptDirective, HeldAttempt, Launch, Report
from mosaic.model.fleet import Announcement, Gpu, Worker
from mosaic.model.resources import DEFAULT_MEMORY_MB

#: What this agent speaks, newest first.
PROTOCOL_VERSIONS = ("MOSAIC/2.0",)


@dataclass(frozen=True)
class WorkerProfile:
    """The worker this agent executes, and what only its agent needs to know of it."""

    worker: Worker
    #: The interpreter of the worker's own environment.
    python: str
    #: Whether it holds still when it is asked to, so that it need not be stopped in place.
    can_pause: bool = False
    #: Of what its attempts are made; see `mosaic.installer.provenance`.
    environment: Mapping[str, Any] = field(default_factory=dict)

    @property
    def estimated_memory_mb(self) -> int:
        """What a run of it holds that asks for no memory."""
        return int(self.worker.capabilities.get("estimated_memory_mb") or DEFAULT_MEMORY_MB)

    @property
    def name(self) -> str:
        """What the worker is called."""
        return self.worker.name


@dataclass(frozen=True)
class Welcome:
    """The registry's answer: from now on every call shows the token."""

    session_token: str = field(repr=False)
    heartbeat_interval_s: float = 5.0
    protocol_version: str = ""


class Registry(Protocol):
    """Who knows which agents live."""

    def register(self, announcement: Announcement) -> Welcome:
        """Present this agent.

        Raises:
            Unavailable: no answer; try again.
            Refused: no common protocol version.

        """

    def heartbeat(self, agent_id: str, session_token: str, gpus: Sequence[Gpu]) -> bool:
        """Say that we live; return whether the operator wants no new attempts here.

        Raises:
            SessionRejected: register again.
            Unavailable: no answer; try again.

        """

    def retire(self, agent_id: str, session_token: str) -> None:
        """Ask for no new attempts here.

        Raises:
            SessionRejected: register again.
            Unavailable: no answer; try again.

        """

    def leave(self, agent_id: str, session_token: str) -> None:
        """Say goodbye, so that nobody waits for us."""


class Scheduler(Protocol):
    """Who decides what is executed. Every method may be called twice with the same arguments."""

    def claim(self, run_id: RunId, attempt: int, agent_id: str, session_token: str) -> Launch:
        """Take the attempt; afterwards this agent, and only it, executes it.

        Raises:
            Refused: it is not ours to execute (stale, taken, unknown).
            Unavailable: no answer; try again.

        """

    def renew(self, held: Sequence[HeldAttempt], agent_id: str, session_token: str) -> Sequence[AttemptDirective]:
        """Keep the leases of *held* alive and return what is wanted of them.

        Raises:
            SessionRejected: register again.
            Unavailable: no answer; try again.

        """

    def report(self, report: Report) -> None:
        """Tell a fact; when this returns it is recorded.

        Raises:
            Refused: it changes nothing any more; forget it.
            BadInput: it cannot be read, and never will be; forget it.
            Unavailable: not recorded; try again.

        """


#: Called with the run and the attempt that are to be executed.
OnDispatch = Callable[[str, int], None]


class DispatchListener(Protocol):
    """Where attempts are announced by their ids."""

    @property
    def fault(self) -> str | None:
        """Why no dispatch arrives at the moment, None when they do."""

    def listen(self, queue: str, on_dispatch: OnDispatch) -> None:
        """Call *on_dispatch* for everything that arrives in *queue*."""

    def start(self) -> None:
        """Listen from now on."""

    def stop(self) -> None:
        """Listen no more."""
