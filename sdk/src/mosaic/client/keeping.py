"""What the platform keeps for people besides runs: their secrets, and what was asked and decided."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from mosaic.client.rest import Rest
from mosaic.model.admission import AgentCertificate, Invite
from mosaic.model.audit import AuditEntry
from mosaic.model.codec import from_json
from mosaic.model.secret import Secret

#: The services that keep an audit trail.
AUDITED = ("registry", "scheduler")


class Keeping:
    """A part of `mosaic.client.Mosaic`."""

    _rest: Rest

    def secrets(self) -> list[Secret]:
        """Return the secrets that your runs may name: your own, and those of your teams. No call returns a value."""
        return [from_json(Secret, secret) for secret in self._rest.ask("GET", "secrets")]

    def set_secret(self, name: str, value: str, *, team: str = "") -> Secret:
        """Keep a secret of *team*, or your own, in place of the one of that name.

        Raises:
            Forbidden: the secrets of that team are not yours to change.
        """
        return from_json(Secret, self._rest.ask("PUT", "secrets", name, body={"value": value}, team=team))

    def delete_secret(self, name: str, *, team: str = "") -> None:
        """Forget a secret; runs that wait and name it will not start without it.

        Raises:
            NotFound: there is none of that name.
        """
        self._rest.ask("DELETE", "secrets", name, team=team)

    def invite(self, *, uses: int = 1, ttl_s: float = 3600.0, worker: str = "") -> tuple[str, Invite]:
        """Return an invitation for agents: what they join with, shown this once, and what is known of it.

        Raises:
            BadInput: for too many, or for too long.
        """
        body = {"uses": uses, "ttl_s": ttl_s, "worker": worker}
        told = self._rest.ask("POST", "agents", "invites", body=body)
        return str(told["token"]), from_json(Invite, told["invite"])

    def admitted(self) -> tuple[list[Invite], list[AgentCertificate]]:
        """Return the invitations that are open and the certificates of agents that have not expired."""
        told = self._rest.ask("GET", "agents")
        certificates = [from_json(AgentCertificate, one) for one in told["certificates"]]
        return [from_json(Invite, one) for one in told["invites"]], certificates

    def revoke_agent(self, agent_id: str) -> None:
        """Put an agent out of the fleet at once; it comes back with a new invitation only.

        Raises:
            NotFound: there is none of that name.
        """
        self._rest.ask("DELETE", "agents", agent_id)

    def withdraw_invite(self, invite_id: str) -> None:
        """Let nobody join with that invitation any more.

        Raises:
            NotFound: there is no such invitation.
        """
        self._rest.ask("DELETE", "agents", "invites", invite_id)

    def audit(
        self, service: str, *, team: str = "", actor: str = "", since: datetime | None = None, after: int = 0
    ) -> Iterator[AuditEntry]:
        """Yield what was asked of the ``registry`` or the ``scheduler`` and decided, oldest first."""
        begin = "" if since is None else since.isoformat()
        for told in self._rest.lines("GET", "audit", service, team=team, actor=actor, since=begin, after=after or ""):
            yield from_json(AuditEntry, told)
