"""Let PostgreSQL find runs by the beginning of their id, whatever its locale."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_index("runs_by_prefix", "runs", ["run_id"], postgresql_ops={"run_id": "varchar_pattern_ops"})


def downgrade() -> None:
    op.drop_index("runs_by_prefix", "runs")
