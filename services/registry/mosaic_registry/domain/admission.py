"""Who may join the fleet, and why not."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta

from mosaic.errors import BadInput, Refused
from mosaic.hosting.join_token import JoinToken
from mosaic.ids import AgentId, WorkerName
from mosaic.model.admission import AgentCertificate, Invite

#: An invitation is for machines that are being set up now.
LONGEST_INVITE = timedelta(days=30)
MOST_USES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptInvite(Invite):
    """An invitation with what proves it."""

    #: SHA-256 of the secret.
    digest: str

    @property
    def known(self) -> Invite:
        """What others may know of it."""
        return Invite(**{field.name: getattr(self, field.name) for field in fields(Invite)})


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedCertificate(AgentCertificate):
    """A certificate with what tells a repeated request from a second one."""

    #: SHA-256 of the public key.
    key_digest: str = ""

    @property
    def known(self) -> AgentCertificate:
        """What others may know of it."""
        return AgentCertificate(**{field.name: getattr(self, field.name) for field in fields(AgentCertificate)})


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod that the cluster vouches for."""

    name: str
    #: Its service account, as ``namespace/name``.
    account: str


class NotInvited(Refused):
    """An agent may not join with what it shows."""

    code = "not_invited"


def check_invite(uses: int, ttl_s: float) -> None:
    """Accept what an invitation may say.

    Raises:
        BadInput: lists what it may not.
    """
    faults = []
    if not 1 <= uses <= MOST_USES:
        faults.append(f"uses is {uses}; it is from 1 to {MOST_USES}")
    if not 0 < ttl_s <= LONGEST_INVITE.total_seconds():
        faults.append(f"ttl is {ttl_s:g} s; it is above 0 and at most {LONGEST_INVITE.days} days")
    if faults:
        raise BadInput("invitation", faults)


def used(kept: KeptInvite | None, shown: JoinToken, now: datetime) -> KeptInvite:
    """Return *kept* with one use less.

    Raises:
        NotInvited: *shown* is not it, it has expired, or it is used up.
    """
    advice = "ask for another with `mosaic agents invite`"
    if kept is None or not hmac.compare_digest(kept.digest, shown.digest):
        raise NotInvited(f"nobody knows the invitation {shown.invite_id}; {advice}")
    if now >= kept.expires_at:
        raise NotInvited(f"the invitation {kept.invite_id} expired at {kept.expires_at:%Y-%m-%d %H:%M} UTC; {advice}")
    if kept.uses < 1:
        raise NotInvited(f"the invitation {kept.invite_id} is used up; {advice}")
    return replace(kept, uses=kept.uses - 1)


def check_name_is_free(agent_id: AgentId, certificates: Iterable[AgentCertificate], now: datetime) -> None:
    """Let nobody join under the name of an agent that is in the fleet.

    Raises:
        NotInvited: *certificates* of it are still good.
    """
    good = [one for one in certificates if is_good(one, now)]
    if good:
        until = max(one.expires_at for one in good)
        raise NotInvited(
            f"there is an agent {agent_id} with a certificate until {until:%Y-%m-%d %H:%M} UTC; choose another "
            f"MOSAIC_AGENT_AGENT_ID, or if it is this one without its home, first `mosaic agents revoke {agent_id}`"
        )


def check_worker(certificate: AgentCertificate | None, worker: WorkerName) -> None:
    """Let an agent present only the worker it was invited for.

    Raises:
        NotInvited: it presents another.
    """
    if certificate is not None and certificate.worker not in ("", worker):
        raise NotInvited(
            f"agent {certificate.agent_id} was invited for the worker {certificate.worker!r} and presents {worker!r}"
        )


def is_good(certificate: AgentCertificate, now: datetime) -> bool:
    """Tell whether it is neither expired nor denied."""
    return certificate.denied_at is None and now < certificate.expires_at
