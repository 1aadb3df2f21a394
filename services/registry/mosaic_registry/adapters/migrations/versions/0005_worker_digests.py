"""Agents have the digest of the worker that they announced."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    with op.batch_alter_table("agents") as agents:
        agents.add_column(sa.Column("worker_digest", sa.String(64), nullable=False, server_default=""))


def downgrade() -> None:
    with op.batch_alter_table("agents") as agents:
        agents.drop_column("worker_digest")
