"""What the registry does for the fleet, one function per request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from mosaic.errors import BadInput, NotFound, SessionRejected, WorkerNotFound, did_you_mean
from mosaic.hosting.access import Peer
from mosaic.hosting.audit import by, by_agent
from mosaic.hosting.rights import require
from mosaic.ids import AgentId, NodeId, WorkerName
from mosaic.model.audit import AuditEntry
from mosaic.model.fleet import Announcement, Gpu, Node, Worker
from mosaic.model.identity import Caller, Permission
from mosaic_registry.domain import session
from mosaic_registry.domain.admission import IssuedCertificate, check_worker
from mosaic_registry.domain.announcement import check
from mosaic_registry.domain.catalog import adopt, digest_of, successor
from mosaic_registry.domain.fleet import (
    RegisteredAgent,
    claimed_elsewhere,
    conflicts_with_siblings,
    with_health,
)
from mosaic_registry.domain.protocol import SPOKEN, negotiate
from mosaic_registry.ports import Catalog, Draft


@dataclass(frozen=True)
class Welcome:
    """What a registered agent gets: the version to speak and the token to show."""

    accepted_version: str
    session_token: str


@dataclass(frozen=True)
class HeartbeatAnswer:
    """What the agent is told, and whether anybody else must hear."""

    draining: bool
    #: It came back from the dead, or a GPU's health turned.
    changed_fleet: bool


def register(announcement: Announcement, *, catalog: Catalog, now: datetime, peer: Peer | None = None) -> Welcome:
    """Take an agent into the fleet; a session it had before ends.

    Raises:
        BadInput: every fault of the announcement, or every way in which it contradicts the fleet.
        NoCommonProtocol: agent and registry cannot talk.
        NotInvited: the agent was invited for another worker.

    """
    check(announcement)
    version = negotiate(announcement.protocol_versions)
    token = session.new_token()
    with catalog.change() as draft:
        others = [one for one in draft.agents() if one.alive and one.agent_id != announcement.agent_id]
        _check_certificate(peer, announcement.worker.name, draft, now)
        node = _join_node(announcement, draft, others)
        before = draft.agent(announcement.agent_id)
        worker = replace(announcement.worker, digest=digest_of(announcement.worker), updated_at=now)
        agent = RegisteredAgent(
            agent_id=announcement.agent_id,
            node_id=node.node_id,
            worker=announcement.worker.name,
            worker_version=announcement.worker.version,
            slots=announcement.slots,
            queue=announcement.queue,
            session_digest=session.digest_of(token),
            protocol_version=version,
            last_heartbeat=now,
            draining=before.draining if before else False,
            worker_digest=worker.digest,
        )
        draft.put_node(node)
        draft.put_agent(agent)
        living = [one for one in _with_node_draining(draft) if one.agent_id != agent.agent_id]
        draft.put_worker(adopt(draft.worker(worker.name), worker, living))
        if before and before.node_id != node.node_id:
            _drop_empty_node(before.node_id, draft)
        if before and before.worker != worker.name:
            _call_successor(before.worker, draft)
        after = {"node": node.node_id, "worker": agent.worker, "version": agent.worker_version}
        draft.audit(by_agent(peer, agent.agent_id, "agents:register", at=now, target=agent.agent_id, after=after))
    return Welcome(version, token)


def heartbeat(
    agent_id: AgentId, token: str, gpus: Sequence[Gpu], *, catalog: Catalog, now: datetime
) -> HeartbeatAnswer:
    """Note that an agent lives; only what others must hear makes a new revision.

    Raises:
        SessionRejected: the agent must register again.

    """
    agent = _authenticated(agent_id, token, catalog)
    node = catalog.node(agent.node_id)
    healed = with_health(node, gpus) if node else None
    changed = not agent.alive or healed != node or not catalog.touch(agent_id, agent.session_digest, now)
    if changed:
        _revive(agent, gpus, catalog=catalog, now=now)
    return HeartbeatAnswer(agent.draining or bool(node and node.draining), changed)


def retire(agent_id: AgentId, token: str, *, catalog: Catalog) -> None:
    """Take an agent that asks for it out of planning; what it runs goes on.

    Raises:
        SessionRejected: it is not the agent that says so.

    """
    _authenticated(agent_id, token, catalog)
    with catalog.change() as draft:
        agent = draft.agent(agent_id)
        if agent is not None:
            draft.put_agent(replace(agent, draining=True))
            _call_successor(agent.worker, draft)


def leave(agent_id: AgentId, token: str, *, catalog: Catalog) -> None:
    """Forget an agent that ends on purpose, and its node when nobody else stands on it.

    Raises:
        SessionRejected: it is not the agent that says so.

    """
    _authenticated(agent_id, token, catalog)
    with catalog.change() as draft:
        agent = draft.agent(agent_id)
        if agent is not None:
            forget(agent, draft)


def forget(agent: RegisteredAgent, draft: Draft) -> None:
    """Take *agent* out of the fleet, with its node when nobody else stands on it."""
    draft.remove_agent(agent.agent_id)
    _drop_empty_node(agent.node_id, draft)
    _call_successor(agent.worker, draft)


def describe_worker(name: WorkerName, *, catalog: Catalog) -> Worker:
    """Return the worker of that name.

    Raises:
        WorkerNotFound: with the nearest name that exists.

    """
    worker = catalog.worker(name)
    if worker is None:
        raise WorkerNotFound(name, catalog.worker_names())
    return worker


def drain_node(node_id: NodeId, draining: bool, *, caller: Caller, catalog: Catalog, now: datetime) -> None:
    """Take a node out of planning, or back in; what runs there goes on.

    Raises:
        NotFound: no such node.
        Forbidden: machines are not theirs to drain.

    """
    _check_may_drain(caller, f"node {node_id}")
    with catalog.change() as draft:
        node = draft.node(node_id)
        if node is None:
            raise _unknown("node", node_id, [known.node_id for known in draft.nodes()])
        draft.put_node(replace(node, draining=draining))
        for name in {agent.worker for agent in draft.agents() if agent.node_id == node_id}:
            _call_successor(name, draft)
        draft.audit(_drained(caller, "nodes:drain", node_id, node.draining, draining, now))


def drain_agent(agent_id: AgentId, draining: bool, *, caller: Caller, catalog: Catalog, now: datetime) -> None:
    """Take an agent out of planning, or back in; what it runs goes on.

    Raises:
        NotFound: no such agent.
        Forbidden: machines are not theirs to drain.

    """
    _check_may_drain(caller, f"agent {agent_id}")
    with catalog.change() as draft:
        agent = draft.agent(agent_id)
        if agent is None:
            raise _unknown("agent", agent_id, [known.agent_id for known in draft.agents()])
        draft.put_agent(replace(agent, draining=draining))
        _call_successor(agent.worker, draft)
        draft.audit(_drained(caller, "agents:drain", agent_id, agent.draining, draining, now))


def _check_may_drain(caller: Caller, what: str) -> None:
    require(caller, Permission.FLEET_CHANGE, what=what, missing=NotFound(f"there is no {what}"))


def _drained(caller: Caller, action: str, target: str, before: bool, after: bool, at: datetime) -> AuditEntry:
    return by(caller, action, at=at, target=target, before={"draining": before}, after={"draining": after})


def sweep(*, catalog: Catalog, now: datetime, heartbeat_timeout: timedelta) -> list[AgentId]:
    """Count as dead every agent not heard within its deadline; return those that died now."""
    overdue = catalog.overdue(now - heartbeat_timeout)
    if not overdue:
        return []
    with catalog.change() as draft:
        # Asked again inside the transaction: a heartbeat may have come in between.
        dead = [
            agent
            for agent in map(draft.agent, overdue)
            if agent and agent.alive and agent.last_heartbeat < now - heartbeat_timeout
        ]
        for agent in dead:
            draft.put_agent(replace(agent, alive=False))
        for name in {agent.worker for agent in dead}:
            _call_successor(name, draft)
    return [agent.agent_id for agent in dead]


def forget_dead(*, catalog: Catalog, now: datetime, after: timedelta) -> list[AgentId]:
    """Remove agents that have been dead for so long, and nodes nobody stands on any more."""
    lost = [one for one in catalog.fleet().agents if not one.alive and one.last_heartbeat < now - after]
    if not lost:
        return []
    with catalog.change() as draft:
        gone = [agent for agent in (draft.agent(one.agent_id) for one in lost) if agent and not agent.alive]
        for agent in gone:
            draft.remove_agent(agent.agent_id)
            _drop_empty_node(agent.node_id, draft)
    return [agent.agent_id for agent in gone]


def _authenticated(agent_id: AgentId, token: str, catalog: Catalog) -> RegisteredAgent:
    agent = catalog.agent(agent_id)
    if agent is None or not session.matches(token, agent.session_digest):
        raise SessionRejected(agent_id)
    if agent.protocol_version not in SPOKEN:
        # It joined before this registry was upgraded: when it registers again, it is told what to do.
        raise SessionRejected(agent_id)
    return agent


def _revive(agent: RegisteredAgent, gpus: Iterable[Gpu], *, catalog: Catalog, now: datetime) -> None:
    with catalog.change() as draft:
        current = draft.agent(agent.agent_id)
        if current is None or current.session_digest != agent.session_digest:
            raise SessionRejected(agent.agent_id)
        draft.put_agent(replace(current, alive=True, last_heartbeat=now))
        node = draft.node(current.node_id)
        if node is not None:
            draft.put_node(with_health(node, gpus))


def _check_certificate(peer: Peer | None, worker: WorkerName, draft: Draft, now: datetime) -> None:
    """Let an agent present the worker it was invited for; one whose certificate is from elsewhere can be denied too."""
    if peer is None or peer.expires is None:
        return
    known = draft.certificate(peer.serial)
    check_worker(known, worker)
    if known is None:
        agent_id = AgentId(peer.agent_id)
        seen = IssuedCertificate(serial=peer.serial, agent_id=agent_id, issued_at=now, expires_at=peer.expires)
        draft.put_certificate(seen)


def _join_node(announcement: Announcement, draft: Draft, others: Sequence[RegisteredAgent]) -> Node:
    node = announcement.node
    known = draft.node(node.node_id)
    inhabited = {agent.node_id for agent in others}
    faults = claimed_elsewhere(node, (one for one in draft.nodes() if one.node_id in inhabited))
    is_shared = known is not None and node.node_id in inhabited
    if known is not None and is_shared:
        faults += conflicts_with_siblings(node, known)
    if faults:
        raise BadInput(f"announcement of agent {announcement.agent_id!r}", faults)
    if known is None:
        return replace(node, draining=False)
    return known if is_shared else replace(node, draining=known.draining)


def _call_successor(name: WorkerName, draft: Draft) -> None:
    """Have an agent register again whose announcement counts now that nobody makes the one in the catalog."""
    worker = draft.worker(name)
    heir = successor(worker, _with_node_draining(draft)) if worker else None
    called = draft.agent(heir.agent_id) if heir else None
    if called is not None:
        draft.put_agent(replace(called, session_digest=""))


def _with_node_draining(draft: Draft) -> list[RegisteredAgent]:
    """Return all agents, those on a node that drains as draining."""
    drained = {node.node_id for node in draft.nodes() if node.draining}
    return [replace(one, draining=one.draining or one.node_id in drained) for one in draft.agents()]


def _drop_empty_node(node_id: NodeId, draft: Draft) -> None:
    """Forget a node without agents, unless it drains: what the operator asked for outlives a restart."""
    node = draft.node(node_id)
    if node and not node.draining and all(agent.node_id != node_id for agent in draft.agents()):
        draft.remove_node(node_id)


def _unknown(what: str, name: str, known: Sequence[str]) -> NotFound:
    listing = ", ".join(sorted(known)) or "none"
    return NotFound(f"there is no {what} {name!r}{did_you_mean(name, known)} (known: {listing})")
