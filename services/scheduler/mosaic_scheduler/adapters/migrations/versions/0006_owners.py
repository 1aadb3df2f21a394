"""Telemetry is told once whose every run is: before this it had never heard."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_runs = sa.table("runs", sa.column("run_id"), sa.column("team"), sa.column("user_name"))
_outbox = sa.table(
    "outbox", sa.column("kind"), sa.column("run_id"), sa.column("attempt"), sa.column("payload", sa.JSON)
)
_KIND = "run_accepted"
_AT_ONCE = 1000


def upgrade() -> None:
    connection = op.get_bind()
    found = connection.execute(
        sa.select(_runs.c.run_id, _runs.c.team, _runs.c.user_name).order_by(_runs.c.run_id)
    ).all()
    for first in range(0, len(found), _AT_ONCE):
        told = [
            {"kind": _KIND, "run_id": run_id, "attempt": 0, "payload": {"team": team, "user": user}}
            for run_id, team, user in found[first : first + _AT_ONCE]
        ]
        connection.execute(sa.insert(_outbox), told)


def downgrade() -> None:
    op.execute(sa.delete(_outbox).where(_outbox.c.kind == _KIND))
