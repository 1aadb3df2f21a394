"""The audit trail over gRPC."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mosaic.hosting.access import asking, needs
from mosaic.hosting.rights import visible_teams
from mosaic.model.audit import AuditFilter
from mosaic.model.identity import Permission
from mosaic.wire.codec import from_wire, to_wire
from mosaic.wire.v1 import audit_pb2 as wire
from mosaic.wire.v1 import audit_pb2_grpc
from mosaic_scheduler.ports import RunStore

#: The full name of the service.
AUDIT = "mosaic.wire.v1.Audit"
_PAGE = 500


class AuditApi(audit_pb2_grpc.AuditServicer):
    """Shows what was asked of the scheduler and decided."""

    def __init__(self, store: RunStore) -> None:
        self._store = store

    @needs(Permission.AUDIT_READ)
    def ReadAudit(self, request: wire.ReadAuditRequest, context: Any) -> Iterator[wire.AuditEntry]:
        """Stream the entries that the caller may read, oldest first."""
        teams = visible_teams(asking(context), Permission.AUDIT_READ)
        wanted, left = from_wire(request, AuditFilter), request.limit or float("inf")
        while left > 0:
            found = self._store.audit_trail(wanted, teams=teams, limit=int(min(left, _PAGE)))
            yield from (to_wire(entry, wire.AuditEntry) for entry in found)
            if len(found) < _PAGE:
                return
            wanted, left = replace(wanted, after=found[-1].seq), left - len(found)
