"""Create workers, nodes, agents and the revision of the fleet."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "workers",
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("version", sa.String(128), nullable=False),
        sa.Column("resume_grade", sa.String(1), nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("description", sa.JSON, nullable=False),
    )
    op.create_table(
        "nodes",
        sa.Column("node_id", sa.String(128), primary_key=True),
        sa.Column("hostname", sa.String(256), nullable=False),
        sa.Column("cpus", sa.Integer, nullable=False),
        sa.Column("memory_mb", sa.BigInteger, nullable=False),
        sa.Column("gpus", sa.JSON, nullable=False),
        sa.Column("draining", sa.Boolean, nullable=False),
    )
    op.create_table(
        "agents",
        sa.Column("agent_id", sa.String(128), primary_key=True),
        sa.Column("node_id", sa.String(128), sa.ForeignKey("nodes.node_id"), nullable=False),
        sa.Column("worker", sa.String(128), nullable=False),
        sa.Column("worker_version", sa.String(128), nullable=False),
        sa.Column("slots", sa.Integer, nullable=False),
        sa.Column("queue", sa.String(300), nullable=False),
        sa.Column("session_digest", sa.String(64), nullable=False),
        sa.Column("protocol_version", sa.String(32), nullable=False),
        sa.Column("last_heartbeat", sa.Double, nullable=False),
        sa.Column("alive", sa.Boolean, nullable=False),
        sa.Column("draining", sa.Boolean, nullable=False),
    )
    op.create_index("agents_by_heartbeat", "agents", ["alive", "last_heartbeat"])
    revisions = op.create_table(
        "fleet_revision",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("number", sa.BigInteger, nullable=False),
    )
    op.bulk_insert(revisions, [{"id": 1, "number": 0}])


def downgrade() -> None:
    for table in ("fleet_revision", "agents", "nodes", "workers"):
        op.drop_table(table)
