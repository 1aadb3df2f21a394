"""A gRPC call as a method sees it: who is at the other end, and for whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mosaic.hosting.access import speak_for
from mosaic.ids import TeamName, UserName
from mosaic.model.identity import Caller, Role
from mosaic.testing.certificates import shown


def member(user: str = "ann", **teams: Role) -> Caller:
    """Return somebody with a role in each of *teams*."""
    return Caller(UserName(user), teams={TeamName(team): role for team, role in teams.items()})


def admin(user: str = "ann") -> Caller:
    """Return somebody who may do everything."""
    return Caller(UserName(user), roles=frozenset({Role.ADMIN}))


class Call:
    """A call by the console for *caller*, or by another *peer* for nobody."""

    def __init__(
        self,
        caller: Caller | None = None,
        *,
        peer: str = "service/console",
        wanted: int = 10**9,
        on_look: Callable[[], object] = bool,
    ) -> None:
        """Be active for *wanted* questions, at each of which *on_look* is called."""
        self._caller = caller
        self._peer = peer
        self._wanted = wanted
        self._on_look = on_look

    def auth_context(self) -> Mapping[str, Sequence[bytes]]:
        return {"x509_pem_cert": [shown(self._peer)]} if self._peer else {}

    def invocation_metadata(self) -> Sequence[tuple[str, Any]]:
        return speak_for(self._caller) if self._caller else ()

    def is_active(self) -> bool:
        self._wanted -= 1
        self._on_look()
        return self._wanted >= 0

    def add_callback(self, callback: Callable[[], object]) -> bool:
        return True
