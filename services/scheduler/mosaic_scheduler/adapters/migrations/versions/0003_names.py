"""Keep the name of a run in a column of its own, so that runs are found by it."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("runs", sa.Column("name", sa.String(128), nullable=False, server_default=""))
    # Names had no limit before, and an index entry has one.
    runs = sa.table("runs", sa.column("name", sa.String), sa.column("spec", sa.JSON))
    op.execute(sa.update(runs).values(name=sa.func.substr(runs.c.spec["name"].as_string(), 1, 128)))
    op.create_index("runs_by_name", "runs", ["name"])


def downgrade() -> None:
    op.drop_index("runs_by_name", "runs")
    op.drop_column("runs", "name")
