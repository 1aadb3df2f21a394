"""The fleet's CA, from files."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from mosaic.hosting.pki import Authority, Issued


class FleetIssuer:
    """Issues certificates of the CA whose certificate and key stand in one file."""

    def __init__(self, ca_key_file: Path, ca_file: Path) -> None:
        """Read the CA; *ca_file* holds what agents are to believe, which may be more than this CA.

        Raises:
            BadInput: the file holds no CA.
        """
        self._authority = Authority.load(ca_key_file)
        self._ca_file = ca_file

    def ca(self) -> bytes:
        """Return what agents are to believe, as it is sent to them."""
        return self._ca_file.read_bytes()

    def issue(self, agent_id: str, request: bytes, *, now: datetime) -> Issued:
        """Return a certificate that names *agent_id*, for the key of *request*."""
        return self._authority.issue_agent(agent_id, request, now=now)
