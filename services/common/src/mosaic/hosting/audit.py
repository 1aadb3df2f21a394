"""The audit trail of a service: an append-only table, written in the transaction of the change that it tells.

Its head is one row that each writer locks, so that the chain is one chain, however many processes write.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy import Connection

from mosaic.errors import BadInput, Forbidden, NotFound, SessionRejected, Unauthenticated
from mosaic.hosting.access import CONSOLE, Peer, caller_of
from mosaic.hosting.rights import visible_teams
from mosaic.ids import TeamName
from mosaic.model.audit import ActorKind, AuditEntry, AuditFilter
from mosaic.model.identity import Caller, Permission

_PAGE = 500
#: Characters of a text that others chose.
_LONGEST = 256
#: What is a refusal of the one who asks.
_REFUSALS = (Forbidden, NotFound, SessionRejected, Unauthenticated)


def by(caller: Caller, action: str, *, at: datetime, **facts: Any) -> AuditEntry:
    """Return that *caller* asked for *action*."""
    entry = AuditEntry(at, caller.actor, action, **facts)
    return replace(entry, via=caller.via, request_id=caller.request_id, address=caller.address)


def by_agent(peer: Peer | None, agent_id: str, action: str, *, at: datetime, **facts: Any) -> AuditEntry:
    """Return that an agent, which calls itself *agent_id*, asked for *action*."""
    name, via = (peer.agent_id, f"certificate:{peer.serial}") if peer else (agent_id, "")
    return AuditEntry(at, f"agent:{name}", action, kind=ActorKind.AGENT, via=via, **facts)


def refused_at_the_door(peer: Peer, context: Any, method: str, error: Forbidden) -> AuditEntry:
    """Return that whoever calls *method*, whatever it is about, was refused."""
    now, action = datetime.now(timezone.utc), error.permission
    if peer.service == CONSOLE:
        entry = by(caller_of(context), action, at=now, target=method)
    elif peer.agent_id:
        entry = by_agent(peer, peer.agent_id, action, at=now, target=method)
    else:
        via = f"certificate:{peer.serial}"
        entry = AuditEntry(now, f"service:{peer.service}", action, method, kind=ActorKind.SERVICE, via=via)
    return replace(entry, allowed=False, reason=f"{error.code}: {error}")


@contextmanager
def refusals_noted(
    asked: AuditEntry, note: Callable[[AuditEntry], None], *, is_out_of_sight: bool = False
) -> Iterator[None]:
    """Let *note* write down that what was *asked* is refused, when it is.

    What names a thing that *is_out_of_sight* is answered as if it were misspelt, and is a refusal all the same.
    """
    try:
        yield
    except (*_REFUSALS, BadInput) as error:
        if is_out_of_sight or not isinstance(error, BadInput):
            note(replace(asked, allowed=False, reason=f"{error.code}: {error}"))
        raise


class AuditTrail(Protocol):
    """What the audit trail of a service is read from."""

    def audit_trail(self, wanted: AuditFilter, *, teams: Collection[TeamName] | None, limit: int) -> list[AuditEntry]:
        """Return the first *limit* entries of *teams* (None = of everything) that are *wanted*, oldest first."""


def readable(trail: AuditTrail, wanted: AuditFilter, caller: Caller, limit: int = 0) -> Iterator[AuditEntry]:
    """Yield the entries that are *wanted* and *caller* may read, oldest first; *limit* 0 means all of them."""
    teams, left = visible_teams(caller, Permission.AUDIT_READ), limit or sys.maxsize
    while left > 0:
        found = trail.audit_trail(wanted, teams=teams, limit=min(left, _PAGE))
        yield from found
        if len(found) < _PAGE:
            return
        wanted, left = replace(wanted, after=found[-1].seq), left - len(found)


class AuditTable:
    """The trail of one service in its database."""

    def __init__(self, service: str, metadata: sa.MetaData) -> None:
        """Declare the tables of *service* in *metadata*."""
        self._service = service
        self.entries, self.head = _tables(service, metadata)
        # Built once: every change of the platform passes here.
        self._lock = sa.select(self.head).with_for_update()
        self._insert = sa.insert(self.entries)
        self._move = sa.update(self.head).values(seq=sa.bindparam("new_seq"), hash=sa.bindparam("new_hash"))

    def append(self, connection: Connection, entry: AuditEntry) -> AuditEntry:
        """Write *entry* behind the last one; it is there when the transaction of *connection* is."""
        last = connection.execute(self._lock).one()
        entry = replace(_bounded(entry), service=self._service, seq=last.seq + 1)
        entry = replace(entry, hash=entry.chained(last.hash))
        connection.execute(self._insert, _row(entry))
        connection.execute(self._move, {"new_seq": entry.seq, "new_hash": entry.hash})
        return entry

    def read(
        self, connection: Connection, wanted: AuditFilter, *, teams: Collection[TeamName] | None, limit: int
    ) -> list[AuditEntry]:
        """Return the first *limit* entries of *teams* (None = of everything) that are *wanted*, oldest first."""
        table = self.entries.c
        query = sa.select(self.entries).where(table.seq > wanted.after).order_by(table.seq).limit(limit)
        if teams is not None:
            query = query.where(table.team.in_(sorted(teams)))
        if wanted.team:
            query = query.where(table.team == wanted.team)
        if wanted.actor:
            query = query.where(table.actor.in_([wanted.actor, f"user:{wanted.actor}"]))
        if wanted.since is not None:
            query = query.where(table.time >= _micros(wanted.since))
        return [self._entry(row) for row in connection.execute(query).mappings()]

    def _entry(self, row: sa.RowMapping) -> AuditEntry:
        fields: dict[str, Any] = {column.name: row[column] for column in self.entries.c}
        del fields["time"], fields["kind"]
        moment = datetime.fromtimestamp(row["time"] // 1_000_000, timezone.utc)
        moment = moment.replace(microsecond=row["time"] % 1_000_000)
        return AuditEntry(time=moment, kind=ActorKind(row["kind"]), service=self._service, **fields)


def create_audit_tables(service: str) -> None:
    """Make the tables, with their first head: the body of a migration."""
    from alembic import op

    metadata = sa.MetaData()
    _, head = _tables(service, metadata)
    connection = op.get_bind()
    metadata.create_all(connection)
    connection.execute(sa.insert(head).values(only=1, seq=0, hash=""))
    for statement in _append_only(f"{service}_audit", connection.dialect.name):
        connection.exec_driver_sql(statement)


def drop_audit_tables(service: str) -> None:
    """Undo `create_audit_tables`."""
    from alembic import op

    op.drop_table(f"{service}_audit")
    op.drop_table(f"{service}_audit_head")
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"DROP FUNCTION {service}_audit_keep()")


def _tables(service: str, metadata: sa.MetaData) -> tuple[sa.Table, sa.Table]:
    entries = sa.Table(
        f"{service}_audit",
        metadata,
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        #: Microseconds since 1970 in UTC.
        sa.Column("time", sa.BigInteger, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("actor", "kind", "via", "action", "target", "team")),
        sa.Column("allowed", sa.Boolean, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("reason", "request_id", "address")),
        *(sa.Column(name, sa.JSON, nullable=False) for name in ("before", "after")),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Index(f"{service}_audit_by_team", "team", "seq"),
        sa.Index(f"{service}_audit_by_actor", "actor", "seq"),
    )
    head = sa.Table(
        f"{service}_audit_head",
        metadata,
        sa.Column("only", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    return entries, head


def _append_only(table: str, dialect: str) -> list[str]:
    """Return what makes the database itself refuse to change or take out an entry."""
    told = "the audit trail is only ever appended to"
    if dialect == "postgresql":
        body, keep = f"BEGIN RAISE EXCEPTION '{told}'; END", f"{table}_keep()"
        return [
            f"CREATE FUNCTION {keep} RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$",
            f"CREATE TRIGGER {table}_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} EXECUTE FUNCTION {keep}",
        ]
    return [
        f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} BEGIN SELECT RAISE(ABORT, '{told}'); END"
        for verb in ("UPDATE", "DELETE")
    ]


def _row(entry: AuditEntry) -> dict[str, Any]:
    names = ("seq", "actor", "via", "action", "target", "team", "allowed", "reason", "request_id", "address", "hash")
    return {
        **{name: getattr(entry, name) for name in names},
        "time": _micros(entry.time),
        "kind": entry.kind.value,
        "before": dict(entry.before),
        "after": dict(entry.after),
    }


def _micros(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000)


def _bounded(entry: AuditEntry) -> AuditEntry:
    """Texts that a caller chose cannot fill the trail, and hold nothing that a database refuses."""
    names = ("actor", "via", "target", "team", "reason", "request_id", "address")
    texts: dict[str, Any] = {name: _safe(getattr(entry, name)) for name in names}
    return replace(entry, **texts)


def _safe(text: str) -> str:
    kept = text[:_LONGEST].replace("\0", "\ufffd")
    return kept.encode("utf-8", "replace").decode()
