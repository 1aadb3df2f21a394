"""The audit trail over gRPC."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mosaic.hosting.access import caller_of, needs
from mosaic.hosting.audit import AuditTrail, readable
from mosaic.model.audit import AuditFilter
from mosaic.model.identity import Permission
from mosaic.wire.codec import from_wire, to_wire
from mosaic.wire.v1 import audit_pb2 as wire
from mosaic.wire.v1 import audit_pb2_grpc

#: The full name of the service.
AUDIT = "mosaic.wire.v1.Audit"


class AuditApi(audit_pb2_grpc.AuditServicer):
    """Shows what was asked of the scheduler and decided."""

    def __init__(self, trail: AuditTrail) -> None:
        self._trail = trail

    @needs(Permission.AUDIT_READ)
    def ReadAudit(self, request: wire.ReadAuditRequest, context: Any) -> Iterator[wire.AuditEntry]:
        """Stream the entries that the caller may read, oldest first."""
        wanted = from_wire(request, AuditFilter)
        for entry in readable(self._trail, wanted, caller_of(context), request.limit):
            yield to_wire(entry, wire.AuditEntry)
