"""Inviting agents, giving them certificates, and taking the certificates back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from mosaic.errors import BadInput, NotFound, Refused, did_you_mean
from mosaic.hosting.access import Peer
from mosaic.hosting.audit import by, by_agent
from mosaic.hosting.join_token import JoinToken
from mosaic.hosting.pki import Issued
from mosaic.hosting.rights import require
from mosaic.ids import AgentId, WorkerName, is_id
from mosaic.model.admission import AgentCertificate, Invite
from mosaic.model.identity import Caller, Permission
from mosaic_registry.domain import admission
from mosaic_registry.domain.admission import IssuedCertificate, KeptInvite, Pod
from mosaic_registry.handlers.fleet import forget
from mosaic_registry.ports import Catalog, Draft, Issuer


@dataclass(frozen=True)
class Admitted:
    """Everything about how agents came into the fleet, and how they may."""

    invites: tuple[Invite, ...]
    certificates: tuple[AgentCertificate, ...]


def invite(
    caller: Caller,
    *,
    uses: int,
    ttl_s: float,
    worker: WorkerName,
    catalog: Catalog,
    issuer: Issuer | None,
    now: datetime,
) -> tuple[JoinToken, Invite]:
    """Return a new invitation: what is handed over, and what is known of it.

    Raises:
        BadInput: too many uses, or for too long.
        Refused: this registry issues no certificates.
    """
    _check_may(caller)
    admission.check_invite(uses, ttl_s)
    token = JoinToken.new(_able(issuer).ca())
    kept = KeptInvite(
        invite_id=token.invite_id,
        uses=uses,
        created_at=now,
        expires_at=now + timedelta(seconds=ttl_s),
        created_by=caller.actor,
        worker=worker,
        digest=token.digest,
    )
    with catalog.change() as draft:
        draft.put_invite(kept)
        after = {"uses": uses, "expires_at": kept.expires_at.isoformat(), "worker": worker}
        draft.audit(by(caller, "agents:invite", at=now, target=kept.invite_id, after=after))
    return token, kept.known


def admitted(caller: Caller, *, catalog: Catalog, now: datetime) -> Admitted:
    """Return the invitations that are open and the certificates that have not expired."""
    _check_may(caller)
    with catalog.change() as draft:
        draft.forget_admissions(expired_before=now - timedelta(days=1))
        invites = (one.known for one in draft.invites() if one.uses and now < one.expires_at)
        certificates = (one.known for one in draft.certificates() if now < one.expires_at)
        return Admitted(tuple(invites), tuple(certificates))


def withdraw_invite(caller: Caller, invite_id: str, *, catalog: Catalog, now: datetime) -> None:
    """Let nobody join with that invitation any more.

    Raises:
        NotFound: there is no such invitation.
    """
    _check_may(caller)
    with catalog.change() as draft:
        known = draft.invite(invite_id)
        if known is None:
            raise NotFound(f"there is no invitation {invite_id!r}; `mosaic agents list` lists the open ones")
        draft.put_invite(replace(known, uses=0))
        draft.audit(by(caller, "agents:withdraw", at=now, target=invite_id))


def revoke(caller: Caller, agent_id: AgentId, *, catalog: Catalog, now: datetime) -> None:
    """Deny the certificates of an agent and take it out of the fleet; it comes back with a new invitation only.

    Raises:
        NotFound: no agent of that name has a certificate or stands in the fleet.
    """
    _check_may(caller)
    with catalog.change() as draft:
        certificates = draft.certificates(agent_id)
        agent = draft.agent(agent_id)
        if not certificates and agent is None:
            known = {one.agent_id for one in draft.certificates()} | {one.agent_id for one in draft.agents()}
            raise NotFound(f"there is no agent {agent_id!r}{did_you_mean(agent_id, known)}")
        for one in certificates:
            draft.put_certificate(replace(one, denied_at=one.denied_at or now))
        if agent is not None:
            forget(agent, draft)
        serials = [one.serial for one in certificates]
        draft.audit(by(caller, "agents:revoke", at=now, target=agent_id, after={"denied": serials}))


def join(token: JoinToken, agent_id: str, request: bytes, *, catalog: Catalog, issuer: Issuer, now: datetime) -> Issued:
    """Return a certificate for an agent that shows an invitation.

    Asking again with the same key, because the answer was lost, uses the invitation no second time.

    Raises:
        BadInput: the name is no id, or the request proves nothing.
        NotInvited: with why not.
    """
    _check_id(agent_id)
    issued = issuer.issue(agent_id, request, now=now)
    via = f"invite:{token.invite_id}"
    with catalog.change() as draft:
        kept = draft.invite(token.invite_id)
        before = draft.certificates(AgentId(agent_id))
        is_again = any(one.via == via and one.key_digest == issued.key_digest for one in before)
        after = admission.used(replace(kept, uses=kept.uses + is_again) if kept else None, token, now)
        if not is_again:
            admission.check_name_is_free(AgentId(agent_id), before, now)
        draft.put_invite(after)
        _note(draft, issued, agent_id, via=via, worker=after.worker, now=now)
    return issued


def join_as_pod(agent_id: str, pod: Pod, request: bytes, *, catalog: Catalog, issuer: Issuer, now: datetime) -> Issued:
    """Return a certificate for an agent whose *pod* the cluster vouches for; it is called as the pod is.

    Raises:
        BadInput: the name is no id, or the request proves nothing.
        NotInvited: the agent calls itself otherwise.
    """
    _check_id(agent_id)
    if agent_id != pod.name:
        raise admission.NotInvited(f"the agent of pod {pod.name} is called so too: set MOSAIC_AGENT_AGENT_ID to it")
    issued = issuer.issue(agent_id, request, now=now)
    with catalog.change() as draft:
        _note(draft, issued, agent_id, via=f"kubernetes:{pod.account}", worker=WorkerName(""), now=now)
    return issued


def renew(peer: Peer, request: bytes, *, catalog: Catalog, issuer: Issuer | None, now: datetime) -> Issued:
    """Return a new certificate for an agent that shows one that is good.

    Raises:
        BadInput: the request proves nothing.
        Refused: this registry issues no certificates, or the one shown was denied meanwhile.
    """
    issued = _able(issuer).issue(peer.agent_id, request, now=now)
    with catalog.change() as draft:
        before = draft.certificate(peer.serial)
        if before is not None and before.denied_at is not None:
            raise admission.NotInvited(f"the certificate of {peer.agent_id} was revoked; ask for a new invitation")
        worker = before.worker if before else WorkerName("")
        _note(draft, issued, peer.agent_id, via=f"certificate:{peer.serial}", worker=worker, now=now)
    return issued


def _note(draft: Draft, issued: Issued, agent_id: str, *, via: str, worker: WorkerName, now: datetime) -> None:
    certificate = IssuedCertificate(
        serial=issued.serial,
        agent_id=AgentId(agent_id),
        issued_at=now,
        expires_at=issued.expires,
        via=via,
        worker=worker,
        key_digest=issued.key_digest,
    )
    draft.put_certificate(certificate)
    peer = Peer(agent_id=agent_id, serial=issued.serial)
    action = "agents:renew" if via.startswith("certificate:") else "agents:join"
    draft.audit(by_agent(peer, agent_id, action, at=now, target=agent_id, after={"via": via}))


def _able(issuer: Issuer | None) -> Issuer:
    if issuer is None:
        raise Refused("this registry issues no certificates: set MOSAIC_REGISTRY_CA_KEY_FILE, or get them elsewhere")
    return issuer


def _check_id(agent_id: str) -> None:
    if not is_id(agent_id):
        raise BadInput("agent_id", [f"{agent_id[:128]!r} is not an id"])


def _check_may(caller: Caller) -> None:
    require(caller, Permission.AGENTS_ADMIT, what="agents", missing=NotFound("there are no invitations"))
