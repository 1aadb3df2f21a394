"""What the console needs from the world: the services behind it, and who shows a credential."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from mosaic.client import (
    Curve,
    Episodes,
    EventLine,
    Explanation,
    LogLine,
    Manifest,
    Run,
    RunDetail,
    RunSpec,
    SeriesInfo,
    Summary,
    Team,
)
from mosaic.model.admission import AgentCertificate, Invite
from mosaic.model.audit import AuditEntry, AuditFilter
from mosaic.model.fleet import Fleet, Worker
from mosaic.model.identity import Caller, Permission, Role
from mosaic.model.people import Credential as KnownCredential
from mosaic.model.people import CredentialKind, User
from mosaic.model.run import RunFilter
from mosaic.model.secret import Secret
from mosaic_console.domain.provider import Flow, Vouched

ItemT = TypeVar("ItemT", covariant=True)

#: The services that keep an audit trail.
AUDITED = ("registry", "scheduler")

#: A place in what a run told: attempt and sequence number.
Position = tuple[int, int]


@dataclass(frozen=True, slots=True)
class RunPage:
    """Some runs, newest first, and where the next page begins."""

    runs: tuple[Run, ...]
    #: To be given as ``after``; None on the last page.
    next: str | None


@dataclass(frozen=True, slots=True)
class Credential:
    """What somebody shows at the door."""

    #: ``token`` or ``session``.
    kind: str
    secret: str = field(repr=False)
    #: Of whoever shows it.
    address: str = ""


@dataclass(frozen=True, slots=True)
class Issued:
    """A token that was made."""

    credential: KnownCredential
    #: Shown once.
    secret: str = field(repr=False)


class Identity(Protocol):
    """Knows who stands behind a credential."""

    def authenticate(self, credential: Credential) -> Caller | None:
        """Return who shows it; None for a stranger. Asked with every request, so what is revoked ends at once."""

    def sign_in(self, user: str, password: str, address: str) -> str:
        """Return the secret of a new session.

        Raises:
            Unauthenticated: name or password is wrong.
            TooManyRequests: there were too many wrong ones.
        """

    def sign_in_by_provider(self, vouched: Vouched, address: str) -> str:
        """Return the secret of a new session for whom the identity provider vouches.

        Raises:
            Unauthenticated: they may not enter.
            Refused: the name is another's.
        """

    def new_code(self, caller: Caller) -> str:
        """Return a code that opens one session for *caller*, once."""

    def redeem(self, code: str, address: str) -> str | None:
        """Return the secret of a new session, or None: *code* is unknown, used or too old."""

    def people(self, caller: Caller) -> People:
        """Return people as *caller* may see and change them."""

    def close(self) -> None:
        """Let go of the service."""

    def end_session(self, secret: str) -> None:
        """Close that session; the next request with it is a stranger's."""

    def note_refusal(self, caller: Caller, permission: str, target: str) -> None:
        """Write down that *caller* asked for *target* without that *permission*."""


class Provider(Protocol):
    """An identity provider."""

    def address(self, flow: Flow, redirect_uri: str) -> str:
        """Return where a browser is sent to sign in."""

    def redeem(self, code: str, flow: Flow, redirect_uri: str) -> Vouched:
        """Return whom the provider vouches for with *code*.

        Raises:
            Unauthenticated: it is not to be believed.
        """

    def close(self) -> None:
        """Let go of it."""


class People(Protocol):
    """People in somebody's name. Every method raises a `mosaic.errors.MosaicError` that says what to do."""

    def user(self, name: str = "") -> User:
        """Return one user; without a name, the caller."""

    def users(self, team: str = "") -> list[User]:
        """Return everybody whom the caller may see."""

    def add(self, user: User, password: str = "") -> User:
        """Add a person or a service account."""

    def change(self, name: str, **given: Any) -> User:
        """Change display name, e-mail or whether they are active."""

    def set_password(self, name: str, password: str, current: str = "") -> None:
        """Set a password."""

    def set_roles(self, name: str, roles: Collection[Role]) -> User:
        """Replace the roles in the fleet."""

    def set_member(self, team: str, name: str, role: Role | None) -> User:
        """Give a role in a team, or take it away."""

    def issue_token(
        self, name: str, *, user: str = "", scopes: Collection[Permission] = (), life: timedelta | None = None
    ) -> Issued:
        """Make a token for the caller or for a service account."""

    def credentials(self, user: str, kind: CredentialKind) -> list[KnownCredential]:
        """Return tokens or sessions."""

    def revoke(self, credential_id: str) -> None:
        """End a token or session."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file in the directory of a run."""

    #: Relative to that directory.
    path: str
    size: int
    modified_at: datetime


class Artifacts(Protocol):
    """The directories of runs, as far as the console sees them."""

    def list(self, run_id: str) -> Sequence[Artifact]:
        """Return the files of a run by path."""

    def open(self, run_id: str, parts: tuple[str, ...]) -> int:
        """Return a descriptor of the file at *parts* of the run's directory; whoever gets it closes it."""


class Stream(Protocol[ItemT]):
    """What comes one after the other; it may be closed while another thread waits for the next."""

    def __iter__(self) -> Stream[ItemT]:
        """Return itself."""

    def __next__(self) -> ItemT:
        """Return the next, or end."""

    def close(self) -> None:
        """Want no more; whoever waits is let go."""


class Services(Protocol):
    """The services behind the console."""

    def of(self, caller: Caller) -> Platform:
        """Return them as *caller* reaches them: what is asked is asked in their name."""

    def close(self) -> None:
        """Let go of the services."""


class Platform(Protocol):
    """The services in somebody's name. Every method raises a `mosaic.errors.MosaicError` that says what to do."""

    def page(self, wanted: RunFilter, *, after: str = "", size: int = 100) -> RunPage:
        """Return at most *size* runs, newest first, that were submitted before run *after*."""

    def run(self, run_id: str) -> RunDetail:
        """Return the run whose id is, starts with or ends with *run_id*, or which bears it as a name."""

    def watch(self, run_ids: Collection[str]) -> Stream[Run]:
        """Yield the runs as they stand, then each again after every change, until the scheduler goes away.

        The end of the stream is an error.
        """

    def submit(self, asked: RunSpec, *, seeds: Sequence[int] = (), idempotency_key: str = "") -> list[Run]:
        """Submit and return the runs, one for each seed."""

    def predict(self, asked: RunSpec, *, seeds: Sequence[int] = (), idempotency_key: str = "") -> list[str]:
        """Return what a submit would lead to, without submitting."""

    def cancel(self, run_id: str, *, reason: str = "") -> Run:
        """End a run; an ended run stays as it is."""

    def pause(self, run_id: str) -> Run:
        """Stop a running run in place."""

    def resume(self, run_id: str) -> Run:
        """Let a paused run go on."""

    def retry(self, run_id: str) -> Run:
        """Submit an ended run again."""

    def explain(self, run_id: str) -> Explanation:
        """Say why a run waits and when it may start."""

    def events(
        self,
        run_id: str,
        *,
        attempt: int = 0,
        start: Position | None = None,
        kinds: Collection[str] = (),
        follow: bool = False,
        limit: int = 0,
    ) -> Stream[Sequence[EventLine]]:
        """Yield the events of a run in order, several at once; one that follows ends when the run has ended."""

    def logs(
        self, run_id: str, *, attempt: int = 0, tail: int = 0, after: Position | None = None, follow: bool = False
    ) -> Stream[Sequence[LogLine]]:
        """Yield the newest *tail* log lines (0 = all) that come after *after*, and those that follow."""

    def series(self, run_id: str, *, attempt: int = 0) -> list[SeriesInfo]:
        """Return the curves that can be read."""

    def curve(
        self,
        run_id: str,
        name: str,
        *,
        agent: str = "",
        attempt: int = 0,
        resolution: int = 1000,
        from_step: float | None = None,
        to_step: float | None = None,
        x: str = "step",
        log_x: bool = False,
        smoothing: float = 0.0,
    ) -> Curve:
        """Return a curve, or a stretch of it, in at most *resolution* buckets with fixed borders; 0 = every point.

        *x* is ``step``, ``time`` (unix seconds) or ``relative`` (seconds since the run was first heard of); *log_x*
        makes buckets of equal ratio; *smoothing* is the weight of the past in a moving average over every point.
        """

    def episodes(
        self, run_id: str, *, kind: str = "training", attempt: int = 0, include_lost: bool = False, last: int = 0
    ) -> Episodes:
        """Return episodes in order."""

    def summaries(self, run_ids: Collection[str]) -> dict[str, Summary]:
        """Return the newest numbers of each run that has sent anything."""

    def telemetry_fault(self) -> str:
        """Return why telemetry can store nothing new at the moment; nothing when it can."""

    def manifest(self, run_id: str) -> Manifest:
        """Return the manifest of an ended run; `NotFound` until it is written."""

    def fleet(self) -> Fleet:
        """Return machines, agents and workers as they stand."""

    def worker(self, name: str) -> Worker:
        """Return what the registry knows of a worker."""

    def teams(self) -> list[Team]:
        """Return every team that was set up."""

    def set_team(self, name: str, terms: Mapping[str, Any]) -> Team:
        """Set up a team, or change those of its terms that are given; None lifts a limit."""

    def drain(self, *, node_id: str = "", agent_id: str = "", draining: bool = True) -> None:
        """Take a node or an agent out of planning, or back in."""

    def invite(self, *, uses: int, ttl_s: float, worker: str) -> tuple[str, Invite]:
        """Return a new invitation for agents: the token, shown this once, and what is known of it."""

    def admitted(self) -> tuple[list[Invite], list[AgentCertificate]]:
        """Return the open invitations and the certificates that have not expired."""

    def revoke_agent(self, *, agent_id: str = "", invite_id: str = "") -> None:
        """Deny an agent, or withdraw an invitation."""

    def secrets(self) -> list[Secret]:
        """Return the secrets that runs of the caller may name; no call returns a value."""

    def set_secret(self, name: str, value: str, team: str) -> Secret:
        """Keep a secret of *team*, or of the caller when no team is named."""

    def delete_secret(self, name: str, team: str) -> None:
        """Forget a secret of *team*, or of the caller."""

    def audit(self, service: str, wanted: AuditFilter, limit: int) -> Stream[AuditEntry]:
        """Yield what was asked of one of `AUDITED` and decided, oldest first; *limit* 0 means all of it."""
