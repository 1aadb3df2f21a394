"""Secrets as people see them: whose and when, never what."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mosaic.ids import TeamName, UserName


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret of a team, or of a user when it has no team."""

    name: str
    team: TeamName
    #: Whose it is, or who set that of a team last.
    user: UserName
    updated_at: datetime
