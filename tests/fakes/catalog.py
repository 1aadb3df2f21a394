"""The registry's store, in memory."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from datetime import datetime

from mosaic.ids import AgentId, NodeId, TeamName, WorkerName
from mosaic.model.audit import AuditEntry, AuditFilter
from mosaic.model.fleet import Fleet, Node, Worker
from mosaic_registry.domain.admission import IssuedCertificate, KeptInvite
from mosaic_registry.domain.fleet import RegisteredAgent


class InMemoryDraft:
    """Works on copies, so that an exception leaves the catalog as it was."""

    def __init__(
        self, workers: dict[WorkerName, Worker], nodes: dict[NodeId, Node], agents: dict[AgentId, RegisteredAgent]
    ) -> None:
        self.worker_by_name, self.node_by_id, self.agent_by_id = copy(workers), copy(nodes), copy(agents)
        self.audited: list[AuditEntry] = []
        self.invite_by_id: dict[str, KeptInvite] = {}
        self.certificate_by_serial: dict[str, IssuedCertificate] = {}

    def worker(self, name: WorkerName) -> Worker | None:
        return self.worker_by_name.get(name)

    def node(self, node_id: NodeId) -> Node | None:
        return self.node_by_id.get(node_id)

    def agent(self, agent_id: AgentId) -> RegisteredAgent | None:
        return self.agent_by_id.get(agent_id)

    def workers(self) -> Sequence[Worker]:
        return [self.worker_by_name[name] for name in sorted(self.worker_by_name)]

    def nodes(self) -> Sequence[Node]:
        return [self.node_by_id[node_id] for node_id in sorted(self.node_by_id)]

    def agents(self) -> Sequence[RegisteredAgent]:
        return [self.agent_by_id[agent_id] for agent_id in sorted(self.agent_by_id)]

    def put_worker(self, worker: Worker) -> None:
        self.worker_by_name[worker.name] = worker

    def put_node(self, node: Node) -> None:
        self.node_by_id[node.node_id] = node

    def put_agent(self, agent: RegisteredAgent) -> None:
        self.agent_by_id[agent.agent_id] = agent

    def remove_agent(self, agent_id: AgentId) -> None:
        self.agent_by_id.pop(agent_id, None)

    def remove_node(self, node_id: NodeId) -> None:
        self.node_by_id.pop(node_id, None)

    def invite(self, invite_id: str) -> KeptInvite | None:
        return self.invite_by_id.get(invite_id)

    def invites(self) -> Sequence[KeptInvite]:
        return sorted(self.invite_by_id.values(), key=lambda one: (one.created_at, one.invite_id))

    def put_invite(self, invite: KeptInvite) -> None:
        self.invite_by_id[invite.invite_id] = invite

    def certificate(self, serial: str) -> IssuedCertificate | None:
        return self.certificate_by_serial.get(serial)

    def certificates(self, agent_id: AgentId | None = None) -> Sequence[IssuedCertificate]:
        ordered = sorted(self.certificate_by_serial.values(), key=lambda one: (one.issued_at, one.serial))
        return [one for one in ordered if agent_id in (None, one.agent_id)]

    def put_certificate(self, certificate: IssuedCertificate) -> None:
        self.certificate_by_serial[certificate.serial] = certificate

    def forget_admissions(self, *, expired_before: datetime) -> None:
        for kept in (self.invite_by_id, self.certificate_by_serial):
            for key in [key for key, one in kept.items() if one.expires_at < expired_before]:
                del kept[key]

    def audit(self, entry: AuditEntry) -> None:
        self.audited.append(entry)


class InMemoryCatalog:
    """A catalog for tests that are not about the database."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._now = InMemoryDraft({}, {}, {})
        self._revision = 0
        self._trail: list[AuditEntry] = []

    @contextmanager
    def change(self) -> Iterator[InMemoryDraft]:
        with self._lock:
            draft = InMemoryDraft(self._now.worker_by_name, self._now.node_by_id, self._now.agent_by_id)
            draft.invite_by_id = copy(self._now.invite_by_id)
            draft.certificate_by_serial = copy(self._now.certificate_by_serial)
            yield draft
            self._now = draft
            self._trail += draft.audited
            self._revision += 1

    def fleet(self) -> Fleet:
        with self._lock:
            now = self._now
            return Fleet(tuple(now.nodes()), tuple(now.agents()), tuple(now.workers()), self._revision)

    def revision(self) -> int:
        return self._revision

    def agent(self, agent_id: AgentId) -> RegisteredAgent | None:
        return self._now.agent(agent_id)

    def worker(self, name: WorkerName) -> Worker | None:
        return self._now.worker(name)

    def worker_names(self) -> Sequence[WorkerName]:
        return sorted(self._now.worker_by_name)

    def node(self, node_id: NodeId) -> Node | None:
        return self._now.node(node_id)

    def touch(self, agent_id: AgentId, session_digest: str, at: datetime) -> bool:
        with self._lock:
            agent = self._now.agent(agent_id)
            if agent is None or not agent.alive or agent.session_digest != session_digest:
                return False
            self._now.put_agent(replace(agent, last_heartbeat=at))
            return True

    def note(self, entry: AuditEntry) -> None:
        self._trail.append(entry)

    def audit_trail(self, wanted: AuditFilter, *, teams: Collection[TeamName] | None, limit: int) -> list[AuditEntry]:
        return self._trail[:limit]

    def is_denied(self, serial: str) -> bool:
        known = self._now.certificate(serial)
        return known is not None and known.denied_at is not None

    def denied(self, now: datetime) -> Sequence[str]:
        return sorted(one.serial for one in self._now.certificates() if one.denied_at and one.expires_at > now)

    def overdue(self, heard_before: datetime) -> Sequence[AgentId]:
        return [agent.agent_id for agent in self._now.agents() if agent.alive and agent.last_heartbeat < heard_before]
