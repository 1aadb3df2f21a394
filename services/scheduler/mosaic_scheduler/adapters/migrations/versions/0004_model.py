"""Store runs, attempts and teams as `mosaic.model` names them, and only what must leave in the outbox."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_runs = sa.table("runs", sa.column("run_id", sa.String), sa.column("spec", sa.JSON))
_teams = sa.table("teams", sa.column("name", sa.String), sa.column("terms", sa.JSON))
_outbox = sa.table("outbox", sa.column("kind", sa.String), sa.column("payload", sa.JSON))


def upgrade() -> None:
    op.execute("ALTER TABLE attempts RENAME COLUMN wish TO directive")
    _rewrite(_runs, "run_id", "spec", lambda spec: _renamed(spec, "requirements", "resources"))
    _rewrite(_teams, "name", "terms", lambda terms: _renamed(terms, "max_wall", "max_wall_s"))
    _rename_kind("ring", "dispatch")
    # How a run ended is read from its row when the message leaves.
    op.execute(sa.update(_outbox).where(_outbox.c.kind == "seal").values(kind="run_finished", payload={}))


def downgrade() -> None:
    op.execute("ALTER TABLE attempts RENAME COLUMN directive TO wish")
    _rewrite(_runs, "run_id", "spec", lambda spec: _renamed(spec, "resources", "requirements"))
    _rewrite(_teams, "name", "terms", lambda terms: _renamed(terms, "max_wall_s", "max_wall"))


def _rewrite(table: Any, key: str, column: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    connection = op.get_bind()
    for name, document in connection.execute(sa.select(table.c[key], table.c[column])).all():
        connection.execute(sa.update(table).where(table.c[key] == name).values({column: change(document)}))


def _renamed(document: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if name == old else name: value for name, value in document.items()}


def _rename_kind(old: str, new: str) -> None:
    op.execute(sa.update(_outbox).where(_outbox.c.kind == old).values(kind=new))
