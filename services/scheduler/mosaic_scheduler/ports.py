"""What the scheduler needs from the world, said in its own words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, Protocol

from mosaic.ids import AgentId, RunId, TeamName, UserName, WorkerName
from mosaic.model.attempt import Attempt, RunFinished
from mosaic.model.audit import AuditEntry, AuditFilter
from mosaic.model.run import Change, Run, RunAccepted, RunFilter
from mosaic.model.secret import Secret
from mosaic.model.team import Team
from mosaic_scheduler.domain.run import ResumeGrade
from mosaic_scheduler.domain.secret import SecretOwner
from mosaic_scheduler.domain.snapshot import Agent, Node, Usage

Clock = Callable[[], datetime]


class OutboxKind(str, Enum):
    """To whom a message goes."""

    DISPATCH = "dispatch"  #: an agent, which looks at an attempt of its own
    RUN_ACCEPTED = "run_accepted"  #: telemetry, which shows runs only to who may see them
    RUN_FINISHED = "run_finished"  #: telemetry, which writes the manifest
    PARKED = "parked"  #: nobody: it can never leave as it is; its payload says what it was and why


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """Something that must leave the service after the transaction that decided it."""

    kind: OutboxKind
    run_id: RunId
    attempt: int
    payload: Mapping[str, Any] = field(default_factory=dict)
    message_id: int = 0


def dispatch_of(attempt: Attempt) -> OutboxMessage:
    """Return the message that makes its agent look at *attempt*."""
    return OutboxMessage(OutboxKind.DISPATCH, attempt.run_id, attempt.attempt, {"agent_id": attempt.agent_id})


class RunTransaction(Protocol):
    """Reads and writes that happen together or not at all."""

    def run(self, run_id: RunId) -> Run | None:
        """Return the run, or None."""

    def runs_like(self, part: str, *, teams: Collection[TeamName] | None = None) -> list[Run]:
        """Return at most two runs of *teams* (None = of all) whose id starts or ends with *part*."""

    def attempt(self, run_id: RunId, attempt: int) -> Attempt | None:
        """Return that attempt, or None."""

    def attempts(self, run_id: RunId) -> list[Attempt]:
        """Return every attempt of the run, first one first."""

    def history(self, run_id: RunId) -> list[Change]:
        """Return every change of the run, oldest first."""

    def list_runs(
        self, wanted: RunFilter, *, limit: int, before: str, teams: Collection[TeamName] | None = None
    ) -> list[Run]:
        """Return runs of *teams* (None = of all), newest first, whose id is lower than *before* (empty = no bound)."""

    def revision(self) -> int:
        """Return the newest revision given; what is read after it in this transaction is at least as new."""

    def changed_since(
        self, revision: int, *, teams: Collection[TeamName] | None = None
    ) -> list[tuple[Run, Attempt | None]]:
        """Return runs of *teams* (None = of all) changed after *revision* with their attempts, oldest change first."""

    def active(self) -> list[tuple[Run, Attempt | None]]:
        """Return every run that has not ended, with the attempt that counts."""

    def overdue(self, now: datetime) -> list[Attempt]:
        """Return attempts that have not ended and whose lease is over."""

    def unclaimed(self, admitted_before: datetime) -> list[Attempt]:
        """Return attempts that no agent has claimed since before that time."""

    def held_by(self, agent_id: AgentId) -> list[Attempt]:
        """Return the attempts of an agent that have not ended."""

    def count_queued(self, team: TeamName) -> Mapping[UserName, int]:
        """Return how many runs of each user of *team* wait."""

    def save_run(self, entry: Run) -> Run:
        """Write the run with a new revision, and return it so."""

    def save_reasons(self, reasons: Mapping[RunId, tuple[str, str]]) -> None:
        """Write code and sentence of why runs wait; what is no news, and runs that wait no longer, stay as they are."""

    def save_attempt(self, entry: Attempt) -> None:
        """Write the attempt; its run must be saved in the same transaction."""

    def add_history(self, entries: Iterable[Change]) -> None:
        """Append to the history."""

    def send_later(self, message: OutboxMessage) -> OutboxMessage:
        """Put *message* into the outbox, and return it with its id."""

    def runs_of_key(self, team: TeamName, key: str) -> tuple[str, list[RunId]] | None:
        """Return the request digest and the runs of an earlier submit with this idempotency key."""

    def remember_key(self, team: TeamName, key: str, digest: str, run_ids: Sequence[RunId]) -> None:
        """Keep what `runs_of_key` returns."""

    def teams(self) -> list[Team]:
        """Return every team."""

    def save_team(self, team: Team) -> None:
        """Write the team."""

    def usage(self) -> Usage:
        """Return decayed use as last written."""

    def audit(self, entry: AuditEntry) -> None:
        """Write down what was decided."""

    def put_secret(self, owner: SecretOwner, secret: Secret, value: str, vault: Vault) -> bool:
        """Keep *value*, sealed by *vault*, as *secret* of *owner*; True when it replaces one.

        Raises:
            Refused: there is no key to seal it with.
        """

    def remove_secret(self, owner: SecretOwner, name: str) -> bool:
        """Forget a secret; False when there is none."""

    def secrets(self, owner: SecretOwner) -> list[Secret]:
        """Return the secrets of *owner*, by name."""


class RunStore(Protocol):
    """The store of runs: the one truth, whatever the broker or an agent remembers."""

    def read(self) -> AbstractContextManager[RunTransaction]:
        """Open a transaction that only reads.

        Raises:
            DatabaseUnavailable: the database does not answer.

        """

    def write(self) -> AbstractContextManager[RunTransaction]:
        """Open a transaction; writers follow one another, so revisions never pass each other.

        Raises:
            DatabaseUnavailable: nothing was kept.

        """

    def extend_leases(self, held: Collection[tuple[RunId, int]], until: datetime) -> None:
        """Move the end of these leases; nothing else changes and nobody wakes."""

    def save_usage(self, usage: Usage) -> None:
        """Write decayed use; nobody wakes."""

    def outbox(self, limit: int, after: int = 0) -> list[OutboxMessage]:
        """Return messages that are to be sent, oldest first, from the one after *after* on."""

    def sent(self, message_ids: Collection[int]) -> None:
        """Forget messages that have left."""

    def park(self, message: OutboxMessage, reason: str) -> None:
        """Keep *message*, with the reason, but send it no more."""

    def parked(self) -> int:
        """Return how many messages are parked."""

    def unpark(self) -> None:
        """Send what was parked again."""

    def note(self, entry: AuditEntry) -> None:
        """Write down what was decided and changes nothing else, such as a refusal; nobody wakes."""

    def audit_trail(self, wanted: AuditFilter, *, teams: Collection[TeamName] | None, limit: int) -> list[AuditEntry]:
        """Return the first *limit* entries of *teams* (None = of everything) that are *wanted*, oldest first."""

    def ping(self) -> None:
        """Raise `DatabaseUnavailable` unless the database answers."""


class Dispatcher(Protocol):
    """Rings agents. Every call may come twice: the claim decides."""

    def dispatch(self, queue: str, run_id: RunId, attempt: int) -> None:
        """Ask the agent behind *queue* to look at the attempt.

        Raises:
            BrokerUnavailable: not confirmed; the next round dispatches again.

        """


class Telemetry(Protocol):
    """Hears whose a run is before it shows anything of it, and that it has ended and how."""

    def runs_accepted(self, runs: Sequence[RunAccepted]) -> None:
        """Say whose runs are; telling twice is harmless.

        Raises:
            Unavailable: not confirmed; it will be tried again.
            QueueUnavailable: neither, but only the way of these runs is blocked.

        """

    def run_finished(self, finished: RunFinished) -> None:
        """Hand over an ended run; telling twice is harmless.

        Raises:
            Unavailable: not confirmed; it will be tried again.
            QueueUnavailable: neither, but only this way is blocked.
            MessageRefused: it can never leave as it is.

        """


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """What the registry knows of a worker, as far as scheduling needs it."""

    name: WorkerName
    version: str
    config_schema: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    resume_grade: ResumeGrade | None
    #: What a submission may set in its environment, beside what is allowed for all.
    variables: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FleetView:
    """The fleet as the registry last told it."""

    nodes: Mapping[str, Node] = field(default_factory=dict)
    agents: Mapping[AgentId, Agent] = field(default_factory=dict)
    queues: Mapping[AgentId, str] = field(default_factory=dict)
    #: SHA-256 of each agent's session token.
    sessions: Mapping[AgentId, str] = field(default_factory=dict)
    workers: Mapping[WorkerName, WorkerFacts] = field(default_factory=dict)
    #: Serials of certificates that are denied.
    denied: frozenset[str] = frozenset()
    revision: int = -1


class Fleet(Protocol):
    """The registry, seen from here."""

    def view(self) -> FleetView:
        """Return the newest view without asking anybody."""

    def refresh(self) -> FleetView:
        """Ask the registry now.

        Raises:
            ServiceUnavailable: the registry does not answer.

        """


class Secrets(Protocol):
    """Where secret values are; they pass through at the claim and are kept nowhere else."""

    def value(self, name: str, *, user: UserName, team: TeamName) -> str | None:
        """Return the secret that a run of *user* in *team* means by *name*, or None: others' secrets do not exist."""


class Vault(Protocol):
    """Seals values with a key that no database has."""

    def seal(self, value: str, place: str) -> tuple[str, bytes]:
        """Return the id of the key, and *value* so that it can be opened only at *place*.

        Raises:
            Refused: there is no key.
        """

    def open(self, key_id: str, sealed: bytes, place: str) -> str | None:
        """Return what was sealed for *place*; None if its key is gone or it was tampered with."""

    @property
    def newest(self) -> str:
        """The id of the key that seals; empty when there is none."""


class Leadership(Protocol):
    """Of several schedulers one plans."""

    def holds(self) -> bool:
        """Tell whether this process is the one that plans, trying to become it if nobody is."""
