"""Create runs, attempts, their history, the outbox, submits, teams and the ledger."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_BIG_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "runs",
        sa.Column("run_id", sa.String(128), primary_key=True),
        sa.Column("worker", sa.String(128), nullable=False),
        sa.Column("team", sa.String(128), nullable=False),
        sa.Column("user_name", sa.String(128), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("spec", sa.JSON, nullable=False),
        sa.Column("submitted_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("started_at", sa.Double),
        sa.Column("ended_at", sa.Double),
        sa.Column("not_before", sa.Double),
        sa.Column("reason_code", sa.String(64), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("checkpoint", sa.Text, nullable=False),
        sa.Column("checkpoint_at", sa.Double),
        sa.Column("passed_over", sa.Integer, nullable=False),
        sa.Column("evicted_for", sa.JSON, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_runs_revision", "runs", ["revision"])
    op.create_index("runs_by_state", "runs", ["state"])
    op.create_index("runs_by_team", "runs", ["team", "state"])
    op.create_table(
        "attempts",
        sa.Column("run_id", sa.String(128), sa.ForeignKey("runs.run_id"), primary_key=True),
        sa.Column("attempt", sa.Integer, primary_key=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("agent_id", sa.String(128), nullable=False),
        sa.Column("node_id", sa.String(128), nullable=False),
        sa.Column("lease", sa.JSON, nullable=False),
        sa.Column("lease_until", sa.Double, nullable=False),
        sa.Column("borrowed", sa.Boolean, nullable=False),
        sa.Column("ends_by", sa.Double),
        sa.Column("admitted_at", sa.Double, nullable=False),
        sa.Column("claimed_at", sa.Double),
        sa.Column("started_at", sa.Double),
        sa.Column("ended_at", sa.Double),
        sa.Column("wish", sa.String(16), nullable=False),
        sa.Column("control_digest", sa.String(64), nullable=False),
        sa.Column("failure_kind", sa.String(32), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("exit_code", sa.Integer),
        sa.Column("last_seq", sa.BigInteger, nullable=False),
        sa.Column("resumed_from", sa.Text, nullable=False),
        sa.Column("versions", sa.JSON, nullable=False),
    )
    op.create_index("attempts_by_agent", "attempts", ["agent_id", "state"])
    op.create_table(
        "history",
        sa.Column("id", _BIG_ID, primary_key=True, autoincrement=True),
        sa.Column("run_id", sa.String(128), nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("fact", sa.String(32), nullable=False),
        sa.Column("before", sa.String(16), nullable=False),
        sa.Column("after", sa.String(16), nullable=False),
        sa.Column("actor", sa.String(160), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )
    op.create_index("ix_history_run_id", "history", ["run_id"])
    op.create_table(
        "outbox",
        sa.Column("id", _BIG_ID, primary_key=True, autoincrement=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("run_id", sa.String(128), nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("payload", sa.JSON, nullable=False),
    )
    op.create_table(
        "submits",
        sa.Column("team", sa.String(128), primary_key=True),
        sa.Column("key", sa.String(256), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("run_ids", sa.JSON, nullable=False),
    )
    op.create_table(
        "teams",
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("terms", sa.JSON, nullable=False),
    )
    ledger = op.create_table(
        "ledger",
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
    )
    op.bulk_insert(
        ledger,
        [{"name": "revision", "number": 0, "document": {}}, {"name": "usage", "number": 0, "document": {}}],
    )


def downgrade() -> None:
    for table in ("ledger", "teams", "submits", "outbox", "history", "attempts", "runs"):
        op.drop_table(table)
