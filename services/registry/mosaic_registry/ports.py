"""What the registry needs from the world."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from mosaic.hosting.pki import Issued
from mosaic.ids import AgentId, NodeId, TeamName, UserName, WorkerName
from mosaic.model.audit import AuditEntry, AuditFilter
from mosaic.model.fleet import Fleet, Node, Worker
from mosaic_registry.domain.admission import IssuedCertificate, KeptInvite, Pod
from mosaic_registry.domain.credential import KeptCredential
from mosaic_registry.domain.fleet import RegisteredAgent
from mosaic_registry.domain.guessing import Failures
from mosaic_registry.domain.people import Account

Clock = Callable[[], datetime]


class Draft(Protocol):
    """Reads and writes that happen together or not at all, under a new revision."""

    def worker(self, name: WorkerName) -> Worker | None:
        """Return that worker."""

    def node(self, node_id: NodeId) -> Node | None:
        """Return that node."""

    def agent(self, agent_id: AgentId) -> RegisteredAgent | None:
        """Return that agent."""

    def workers(self) -> Sequence[Worker]:
        """Return every worker, by name."""

    def nodes(self) -> Sequence[Node]:
        """Return every node, by id."""

    def agents(self) -> Sequence[RegisteredAgent]:
        """Return every agent, by id."""

    def put_worker(self, worker: Worker) -> None:
        """Add or replace."""

    def put_node(self, node: Node) -> None:
        """Add or replace."""

    def put_agent(self, agent: RegisteredAgent) -> None:
        """Add or replace."""

    def remove_agent(self, agent_id: AgentId) -> None:
        """Forget; an unknown one is forgotten already."""

    def remove_node(self, node_id: NodeId) -> None:
        """Forget; an unknown one is forgotten already."""

    def invite(self, invite_id: str) -> KeptInvite | None:
        """Return that invitation."""

    def invites(self) -> Sequence[KeptInvite]:
        """Return every invitation, the oldest first."""

    def put_invite(self, invite: KeptInvite) -> None:
        """Add or replace."""

    def certificate(self, serial: str) -> IssuedCertificate | None:
        """Return that certificate."""

    def certificates(self, agent_id: AgentId | None = None) -> Sequence[IssuedCertificate]:
        """Return every certificate, or those of one agent, the oldest first."""

    def put_certificate(self, certificate: IssuedCertificate) -> None:
        """Add or replace."""

    def forget_admissions(self, *, expired_before: datetime) -> None:
        """Remove invitations and certificates that are of no use any more."""

    def audit(self, entry: AuditEntry) -> None:
        """Write down what was decided."""


class Catalog(Protocol):
    """The store. Every method raises `DatabaseUnavailable` when the database does not answer."""

    def change(self) -> AbstractContextManager[Draft]:
        """Open a transaction; changers follow one another, and each leaves the revision one higher."""

    def fleet(self) -> Fleet:
        """Return everything, as of one instant."""

    def revision(self) -> int:
        """Return the revision alone; cheap."""

    def agent(self, agent_id: AgentId) -> RegisteredAgent | None:
        """Return that agent."""

    def worker(self, name: WorkerName) -> Worker | None:
        """Return that worker."""

    def worker_names(self) -> Sequence[WorkerName]:
        """Return every worker's name, sorted."""

    def node(self, node_id: NodeId) -> Node | None:
        """Return that node."""

    def touch(self, agent_id: AgentId, session_digest: str, at: datetime) -> bool:
        """Note that the living agent of this session was heard; the revision stays.

        False means that nothing was noted: the agent is gone, counts as dead, or has a newer session.
        """

    def note(self, entry: AuditEntry) -> None:
        """Write down what was decided and changes nothing else, such as a refusal; the revision stays."""

    def audit_trail(self, wanted: AuditFilter, *, teams: Collection[TeamName] | None, limit: int) -> list[AuditEntry]:
        """Return the first *limit* entries of *teams* (None = of everything) that are *wanted*, oldest first."""

    def is_denied(self, serial: str) -> bool:
        """Tell whether that certificate was denied; cheap."""

    def denied(self, now: datetime) -> Sequence[str]:
        """Return the serials of denied certificates that have not expired, sorted."""

    def overdue(self, heard_before: datetime) -> Sequence[AgentId]:
        """Return living agents last heard before that time."""


class Issuer(Protocol):
    """Issues certificates in the name of the fleet."""

    def ca(self) -> bytes:
        """Return what agents are to believe, as it is sent to them."""

    def issue(self, agent_id: str, request: bytes, *, now: datetime) -> Issued:
        """Return a certificate that names *agent_id*, for the key of *request*.

        Raises:
            BadInput: the request proves nothing.
        """


class PodTokens(Protocol):
    """Knows the pods of a cluster by the tokens they show."""

    def pod_of(self, token: str, now: datetime) -> Pod:
        """Return the pod that *token* stands for.

        Raises:
            NotInvited: it stands for none that may join.
            Unavailable: the cluster's keys cannot be read now.
        """


class PeopleView(Protocol):
    """Reads, as of one instant."""

    def account(self, name: UserName) -> Account | None:
        """Return that account."""

    def accounts(self, team: TeamName | None = None) -> Sequence[Account]:
        """Return every account by name, or those that have a role in *team* or belong to it."""

    def credential(self, credential_id: str) -> KeptCredential | None:
        """Return that credential."""

    def credentials(self, user: UserName) -> Sequence[KeptCredential]:
        """Return every credential of *user*, the oldest first."""

    def identity(self, issuer: str, subject: str) -> UserName | None:
        """Return whom a provider means by *subject*."""

    def failures(self, key: str) -> Failures | None:
        """Return the wrong passwords under that key."""


class PeopleDraft(PeopleView, Protocol):
    """Reads and writes that happen together or not at all."""

    def put_account(self, account: Account) -> None:
        """Add or replace."""

    def put_credential(self, credential: KeptCredential) -> None:
        """Add or replace."""

    def remove_credential(self, credential_id: str) -> None:
        """Forget; an unknown one is forgotten already."""

    def put_identity(self, issuer: str, subject: str, user: UserName) -> None:
        """Add."""

    def put_failures(self, failures: Failures) -> None:
        """Add or replace."""

    def forget_failures(self, key: str) -> None:
        """Forget."""

    def audit(self, entry: AuditEntry) -> None:
        """Write down what was decided."""


class People(Protocol):
    """The store of people. Every method raises `DatabaseUnavailable` when the database does not answer."""

    def read(self) -> AbstractContextManager[PeopleView]:
        """Open a transaction that only reads."""

    def change(self) -> AbstractContextManager[PeopleDraft]:
        """Open a transaction; changers follow one another."""

    def touch(self, credential_id: str, at: datetime) -> None:
        """Note when a credential was used."""

    def forget(self, *, expired_before: datetime, failed_before: datetime) -> None:
        """Remove credentials and wrong passwords that are of no use any more."""


class Passwords(Protocol):
    """Makes and checks hashes of passwords; both take long on purpose."""

    def hash(self, password: str) -> str:
        """Return what is kept instead of *password*."""

    def is_right(self, password: str, kept: str) -> bool:
        """Tell whether it is the password of which *kept* is the hash; of an empty one none is."""
