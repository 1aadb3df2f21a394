"""Secrets of users and teams, sealed, in the scheduler's database."""

from __future__ import annotations

from datetime import datetime, timezone

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from mosaic.hosting.database import transaction
from mosaic.ids import TeamName, UserName
from mosaic.model.secret import Secret
from mosaic_scheduler.adapters.tables import secrets
from mosaic_scheduler.domain.secret import SecretOwner
from mosaic_scheduler.ports import Secrets, Vault


class SqlSecrets:
    """Finds what a run means by a name: its user's secret, else its team's, else what is mounted for the team."""

    def __init__(self, engine: Engine, vault: Vault, mounted: Secrets) -> None:
        """Open what *vault* has sealed; look last in *mounted*."""
        self._engine = engine
        self._vault = vault
        self._mounted = mounted

    def value(self, name: str, *, user: UserName, team: TeamName) -> str | None:
        """Return the secret that a run of *user* in *team* means by *name*, or None."""
        with transaction(self._engine.execution_options(read_only=True)) as connection:
            for owner in (SecretOwner(user=user), SecretOwner(team=team)):
                row = connection.execute(_of(owner, name)).one_or_none()
                if row is not None:
                    return self._vault.open(row.key_id, row.sealed, _place(owner.key, name))
        return self._mounted.value(name, user=user, team=team)

    def seal_anew(self) -> int:
        """Seal with the newest key what an older one sealed, and return how many there were."""
        with transaction(self._engine) as connection:
            old = connection.execute(sa.select(secrets).where(secrets.c.key_id != self._vault.newest)).all()
            opened = [(row, self._vault.open(row.key_id, row.sealed, _place(row.owner, row.name))) for row in old]
            for row, value in opened:
                if value is not None:
                    key_id, sealed = self._vault.seal(value, _place(row.owner, row.name))
                    same = (secrets.c.owner == row.owner) & (secrets.c.name == row.name)
                    connection.execute(sa.update(secrets).where(same).values(key_id=key_id, sealed=sealed))
        return sum(value is not None for _, value in opened)


def put(connection: Connection, owner: SecretOwner, secret: Secret, value: str, vault: Vault) -> bool:
    """Keep *value* as *secret*; True when it replaces one."""
    key_id, sealed = vault.seal(value, _place(owner.key, secret.name))
    replaced = remove(connection, owner, secret.name)
    row = {"owner": owner.key, "name": secret.name, "key_id": key_id, "sealed": sealed, "set_by": secret.user}
    connection.execute(sa.insert(secrets).values(**row, updated_at=secret.updated_at.timestamp()))
    return replaced


def remove(connection: Connection, owner: SecretOwner, name: str) -> bool:
    """Forget a secret; False when there is none."""
    same = (secrets.c.owner == owner.key) & (secrets.c.name == name)
    return connection.execute(sa.delete(secrets).where(same)).rowcount > 0


def listed(connection: Connection, owner: SecretOwner) -> list[Secret]:
    """Return the secrets of *owner*, by name."""
    query = sa.select(secrets).where(secrets.c.owner == owner.key).order_by(secrets.c.name)
    return [
        Secret(row.name, owner.team, UserName(row.set_by), datetime.fromtimestamp(row.updated_at, timezone.utc))
        for row in connection.execute(query)
    ]


def _of(owner: SecretOwner, name: str) -> sa.Select[tuple[str, bytes]]:
    chosen = (secrets.c.owner == owner.key) & (secrets.c.name == name)
    return sa.select(secrets.c.key_id, secrets.c.sealed).where(chosen)


def _place(owner: str, name: str) -> str:
    """What is sealed into a value, so that it cannot be given to another owner by moving a row."""
    return f"{owner}/{name}"
