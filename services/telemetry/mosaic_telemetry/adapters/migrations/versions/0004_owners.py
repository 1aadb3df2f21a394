"""Know whose each run is. The scheduler tells it of every run, also of those from before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "telemetry_owners",
        sa.Column("run_id", sa.String(128), primary_key=True),
        sa.Column("team", sa.String(128), nullable=False),
        sa.Column("user_name", sa.String(128), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("telemetry_owners")
