"""People in SQLite or PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from mosaic.hosting.database import transaction
from mosaic.ids import TeamName, UserName
from mosaic.model.audit import AuditEntry
from mosaic.model.codec import from_json, to_json
from mosaic_registry.adapters.tables import audit, credentials, members, provider_identities, sign_in_failures, users
from mosaic_registry.domain.credential import KeptCredential
from mosaic_registry.domain.guessing import Failures
from mosaic_registry.domain.people import Account

ValueT = TypeVar("ValueT")

#: Any number that nobody else locks.
_CHANGERS = 7061727


class SqlPeopleDraft:
    """One open transaction on people."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def account(self, name: UserName) -> Account | None:
        """Return that account."""
        return next(iter(self._accounts(users.c.name == name)), None)

    def accounts(self, team: TeamName | None = None) -> Sequence[Account]:
        """Return every account by name, or those that have a role in *team* or belong to it."""
        if team is None:
            return self._accounts(sa.true())
        named = sa.select(members.c.user).where(members.c.team == team)
        return self._accounts(users.c.name.in_(named) | (users.c.owner_team == team))

    def credential(self, credential_id: str) -> KeptCredential | None:
        """Return that credential."""
        found = self._connection.execute(sa.select(credentials).where(credentials.c.credential_id == credential_id))
        row = found.one_or_none()
        return _value(KeptCredential, row) if row else None

    def credentials(self, user: UserName) -> Sequence[KeptCredential]:
        """Return every credential of *user*, the oldest first."""
        query = sa.select(credentials).where(credentials.c.user == user)
        ordered = query.order_by(credentials.c.created_at, credentials.c.credential_id)
        return [_value(KeptCredential, row) for row in self._connection.execute(ordered)]

    def identity(self, issuer: str, subject: str) -> UserName | None:
        """Return whom a provider means by *subject*."""
        meant = (provider_identities.c.issuer == issuer) & (provider_identities.c.subject == subject)
        name = self._connection.scalar(sa.select(provider_identities.c.user).where(meant))
        return UserName(name) if name else None

    def failures(self, key: str) -> Failures | None:
        """Return the wrong passwords under that key."""
        found = self._connection.execute(sa.select(sign_in_failures).where(sign_in_failures.c.key == key))
        row = found.one_or_none()
        return _value(Failures, row) if row else None

    def put_account(self, account: Account) -> None:
        """Add or replace."""
        row = to_json(account)
        teams = row.pop("teams")
        self._put(users, row)
        self._connection.execute(sa.delete(members).where(members.c.user == account.name))
        if teams:
            rows = [{"team": team, "user": account.name, "role": role} for team, role in teams.items()]
            self._connection.execute(sa.insert(members), rows)

    def put_credential(self, credential: KeptCredential) -> None:
        """Add or replace."""
        self._put(credentials, to_json(credential))

    def remove_credential(self, credential_id: str) -> None:
        """Forget; an unknown one is forgotten already."""
        self._connection.execute(sa.delete(credentials).where(credentials.c.credential_id == credential_id))

    def put_identity(self, issuer: str, subject: str, user: UserName) -> None:
        """Add."""
        row = {"issuer": issuer, "subject": subject, "user": user}
        self._connection.execute(sa.insert(provider_identities).values(row))

    def put_failures(self, failures: Failures) -> None:
        """Add or replace."""
        self._put(sign_in_failures, to_json(failures))

    def forget_failures(self, key: str) -> None:
        """Forget."""
        self._connection.execute(sa.delete(sign_in_failures).where(sign_in_failures.c.key == key))

    def audit(self, entry: AuditEntry) -> None:
        """Write down what was decided."""
        audit.append(self._connection, entry)

    def _accounts(self, which: sa.ColumnElement[bool]) -> list[Account]:
        rows = self._connection.execute(sa.select(users).where(which).order_by(users.c.name)).all()
        of_them = members.c.user.in_([row.name for row in rows]) if len(rows) == 1 else sa.true()
        teams: dict[str, dict[str, str]] = {}
        for member in self._connection.execute(sa.select(members).where(of_them)) if rows else ():
            teams.setdefault(member.user, {})[member.team] = member.role
        return [from_json(Account, {**row._mapping, "teams": teams.get(row.name, {})}) for row in rows]

    def _put(self, table: sa.Table, row: dict[str, Any]) -> None:
        (key,) = table.primary_key.columns
        updated = self._connection.execute(sa.update(table).where(key == row[key.name]).values(row))
        if not updated.rowcount:
            self._connection.execute(sa.insert(table).values(row))


class SqlPeople:
    """People over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        #: Readers take no write lock in SQLite.
        self._reading = engine.execution_options(read_only=True)
        self._is_postgresql = engine.dialect.name == "postgresql"

    @contextmanager
    def read(self) -> Iterator[SqlPeopleDraft]:
        """Open a transaction that only reads."""
        with transaction(self._reading) as connection:
            yield SqlPeopleDraft(connection)

    @contextmanager
    def change(self) -> Iterator[SqlPeopleDraft]:
        """Open a transaction; changers follow one another."""
        with transaction(self._engine) as connection:
            # Two admins who remove each other at the same time must not both succeed.
            if self._is_postgresql:
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CHANGERS})")
            yield SqlPeopleDraft(connection)

    def touch(self, credential_id: str, at: datetime) -> None:
        """Note when a credential was used."""
        this = credentials.c.credential_id == credential_id
        with transaction(self._engine) as connection:
            connection.execute(sa.update(credentials).where(this).values(last_used_at=at.timestamp()))

    def forget(self, *, expired_before: datetime, failed_before: datetime) -> None:
        """Remove credentials and wrong passwords that are of no use any more."""
        with transaction(self._engine) as connection:
            connection.execute(sa.delete(credentials).where(credentials.c.expires_at < expired_before.timestamp()))
            old = sign_in_failures.c.last_at < failed_before.timestamp()
            connection.execute(sa.delete(sign_in_failures).where(old))


def _value(kind: type[ValueT], row: Any) -> ValueT:
    return from_json(kind, row._mapping)
