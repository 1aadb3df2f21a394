"""The catalog in SQLite or PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from mosaic.hosting.database import transaction
from mosaic.ids import AgentId, NodeId, TeamName, WorkerName
from mosaic.model.audit import AuditEntry, AuditFilter
from mosaic.model.codec import from_json, to_json
from mosaic.model.fleet import Fleet, Node, Worker
from mosaic_registry.adapters.rows import agent_from, agent_row, node_from, node_row, worker_from, worker_row
from mosaic_registry.adapters.tables import agent_certificates, agents, audit, fleet_revision, invites, nodes, workers
from mosaic_registry.domain.admission import IssuedCertificate, KeptInvite
from mosaic_registry.domain.fleet import RegisteredAgent
from mosaic_registry.ports import Draft

#: The channel on which PostgreSQL tells other replicas that the fleet changed.
CHANNEL = "mosaic_fleet"


class SqlDraft:
    """One open transaction on the catalog."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def worker(self, name: WorkerName) -> Worker | None:
        """Return that worker."""
        row = self._one(sa.select(workers).where(workers.c.name == name))
        return worker_from(row) if row else None

    def node(self, node_id: NodeId) -> Node | None:
        """Return that node."""
        row = self._one(sa.select(nodes).where(nodes.c.node_id == node_id))
        return node_from(row) if row else None

    def agent(self, agent_id: AgentId) -> RegisteredAgent | None:
        """Return that agent."""
        row = self._one(sa.select(agents).where(agents.c.agent_id == agent_id))
        return agent_from(row) if row else None

    def workers(self) -> Sequence[Worker]:
        """Return every worker, by name."""
        return [worker_from(row) for row in self._connection.execute(sa.select(workers).order_by("name"))]

    def nodes(self) -> Sequence[Node]:
        """Return every node, by id."""
        return [node_from(row) for row in self._connection.execute(sa.select(nodes).order_by("node_id"))]

    def agents(self) -> Sequence[RegisteredAgent]:
        """Return every agent, by id."""
        return [agent_from(row) for row in self._connection.execute(sa.select(agents).order_by("agent_id"))]

    def put_worker(self, worker: Worker) -> None:
        """Add or replace."""
        self._put(workers, worker_row(worker))

    def put_node(self, node: Node) -> None:
        """Add or replace."""
        self._put(nodes, node_row(node))

    def put_agent(self, agent: RegisteredAgent) -> None:
        """Add or replace."""
        self._put(agents, agent_row(agent))

    def remove_agent(self, agent_id: AgentId) -> None:
        """Forget; an unknown one is forgotten already."""
        self._connection.execute(sa.delete(agents).where(agents.c.agent_id == agent_id))

    def remove_node(self, node_id: NodeId) -> None:
        """Forget; an unknown one is forgotten already."""
        self._connection.execute(sa.delete(nodes).where(nodes.c.node_id == node_id))

    def invite(self, invite_id: str) -> KeptInvite | None:
        """Return that invitation."""
        row = self._one(sa.select(invites).where(invites.c.invite_id == invite_id))
        return from_json(KeptInvite, dict(row._mapping)) if row else None

    def invites(self) -> Sequence[KeptInvite]:
        """Return every invitation, the oldest first."""
        ordered = sa.select(invites).order_by(invites.c.created_at, invites.c.invite_id)
        return [from_json(KeptInvite, dict(row._mapping)) for row in self._connection.execute(ordered)]

    def put_invite(self, invite: KeptInvite) -> None:
        """Add or replace."""
        self._put(invites, to_json(invite))

    def certificate(self, serial: str) -> IssuedCertificate | None:
        """Return that certificate."""
        row = self._one(sa.select(agent_certificates).where(agent_certificates.c.serial == serial))
        return from_json(IssuedCertificate, dict(row._mapping)) if row else None

    def certificates(self, agent_id: AgentId | None = None) -> Sequence[IssuedCertificate]:
        """Return every certificate, or those of one agent, the oldest first."""
        ordered = sa.select(agent_certificates).order_by(agent_certificates.c.issued_at, agent_certificates.c.serial)
        if agent_id is not None:
            ordered = ordered.where(agent_certificates.c.agent_id == agent_id)
        return [from_json(IssuedCertificate, dict(row._mapping)) for row in self._connection.execute(ordered)]

    def put_certificate(self, certificate: IssuedCertificate) -> None:
        """Add or replace."""
        self._put(agent_certificates, to_json(certificate))

    def forget_admissions(self, *, expired_before: datetime) -> None:
        """Remove invitations and certificates that are of no use any more."""
        for table in (invites, agent_certificates):
            self._connection.execute(sa.delete(table).where(table.c.expires_at < expired_before.timestamp()))

    def audit(self, entry: AuditEntry) -> None:
        """Write down what was decided."""
        audit.append(self._connection, entry)

    def _one(self, query: sa.Select[Any]) -> Any:
        return self._connection.execute(query).one_or_none()

    def _put(self, table: sa.Table, row: dict[str, Any]) -> None:
        (key,) = table.primary_key.columns
        updated = self._connection.execute(sa.update(table).where(key == row[key.name]).values(row))
        if not updated.rowcount:
            self._connection.execute(sa.insert(table).values(row))


class SqlCatalog:
    """The catalog over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        #: Readers take no write lock in SQLite.
        self._reading = engine.execution_options(read_only=True)
        self._notifies = engine.dialect.name == "postgresql"

    @contextmanager
    def change(self) -> Iterator[Draft]:
        """Open a transaction; changers follow one another, and each leaves the revision one higher."""
        with transaction(self._engine) as connection:
            # Updating the revision first takes the lock that makes changers wait for each other.
            connection.execute(sa.update(fleet_revision).values(number=fleet_revision.c.number + 1))
            yield SqlDraft(connection)
            if self._notifies:
                connection.exec_driver_sql(f"NOTIFY {CHANNEL}")

    def fleet(self) -> Fleet:
        """Return everything, as of one instant."""
        with transaction(self._snapshot_engine()) as connection:
            draft = SqlDraft(connection)
            revision = connection.execute(sa.select(fleet_revision.c.number)).scalar_one()
            return Fleet(tuple(draft.nodes()), tuple(draft.agents()), tuple(draft.workers()), revision)

    def revision(self) -> int:
        """Return the revision alone; cheap."""
        with transaction(self._reading) as connection:
            return int(connection.execute(sa.select(fleet_revision.c.number)).scalar_one())

    def agent(self, agent_id: AgentId) -> RegisteredAgent | None:
        """Return that agent."""
        with transaction(self._reading) as connection:
            return SqlDraft(connection).agent(agent_id)

    def worker(self, name: WorkerName) -> Worker | None:
        """Return that worker."""
        with transaction(self._reading) as connection:
            return SqlDraft(connection).worker(name)

    def worker_names(self) -> Sequence[WorkerName]:
        """Return every worker's name, sorted."""
        with transaction(self._reading) as connection:
            return [WorkerName(name) for name in connection.scalars(sa.select(workers.c.name).order_by("name"))]

    def node(self, node_id: NodeId) -> Node | None:
        """Return that node."""
        with transaction(self._reading) as connection:
            return SqlDraft(connection).node(node_id)

    def touch(self, agent_id: AgentId, session_digest: str, at: datetime) -> bool:
        """Note that the living agent of this session was heard; the revision stays."""
        same_session = (agents.c.agent_id == agent_id) & (agents.c.session_digest == session_digest)
        with transaction(self._engine) as connection:
            touched = connection.execute(
                sa.update(agents).where(same_session & agents.c.alive).values(last_heartbeat=at.timestamp())
            )
        return touched.rowcount == 1

    def is_denied(self, serial: str) -> bool:
        """Tell whether that certificate was denied; cheap."""
        meant = (agent_certificates.c.serial == serial) & agent_certificates.c.denied_at.is_not(None)
        with transaction(self._reading) as connection:
            return connection.scalar(sa.select(agent_certificates.c.serial).where(meant)) is not None

    def denied(self, now: datetime) -> Sequence[str]:
        """Return the serials of denied certificates that have not expired, sorted."""
        table = agent_certificates.c
        meant = table.denied_at.is_not(None) & (table.expires_at > now.timestamp())
        with transaction(self._reading) as connection:
            return list(connection.scalars(sa.select(table.serial).where(meant).order_by(table.serial)))

    def overdue(self, heard_before: datetime) -> Sequence[AgentId]:
        """Return living agents last heard before that time."""
        late = agents.c.alive & (agents.c.last_heartbeat < heard_before.timestamp())
        with transaction(self._reading) as connection:
            return [AgentId(agent_id) for agent_id in connection.scalars(sa.select(agents.c.agent_id).where(late))]

    def note(self, entry: AuditEntry) -> None:
        """Write down what was decided; the revision stays."""
        with transaction(self._engine) as connection:
            audit.append(connection, entry)

    def audit_trail(self, wanted: AuditFilter, *, teams: Collection[TeamName] | None, limit: int) -> list[AuditEntry]:
        """Return the first *limit* entries that are *wanted*, oldest first."""
        with transaction(self._reading) as connection:
            return audit.read(connection, wanted, teams=teams, limit=limit)

    def _snapshot_engine(self) -> Engine:
        """PostgreSQL's default isolation would let each of several queries see another instant."""
        return self._reading.execution_options(isolation_level="REPEATABLE READ") if self._notifies else self._reading
