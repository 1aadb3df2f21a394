"""The event store as it begins."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "telemetry_episodes",
        sa.Column("run_id", sa.String(128), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("time", sa.Float(), nullable=False),
        sa.Column("number", sa.BigInteger()),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("episode_return", sa.Float()),
        sa.Column("length", sa.BigInteger()),
        sa.Column("step", sa.Float()),
        sa.PrimaryKeyConstraint("run_id", "attempt", "seq"),
    )
    op.create_table(
        "telemetry_facts",
        sa.Column("run_id", sa.String(128), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("time", sa.Float(), nullable=False),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "attempt", "seq"),
    )
    op.create_table(
        "telemetry_frames",
        sa.Column("run_id", sa.String(128), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("first_seq", sa.BigInteger(), nullable=False),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("kinds", sa.Text(), nullable=False),
        sa.Column("first_time", sa.Float(), nullable=False),
        sa.Column("last_time", sa.Float(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "attempt", "first_seq"),
    )
    op.create_table(
        "telemetry_points",
        sa.Column("series_id", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("first_seq", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("step_first", sa.Float(), nullable=False),
        sa.Column("step_last", sa.Float(), nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("series_id", "first_seq"),
    )
    op.create_table(
        "telemetry_rollups",
        sa.Column("series_id", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("level", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("place", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("step_first", sa.Float(), nullable=False),
        sa.Column("step_last", sa.Float(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("numbers", sa.Integer(), nullable=False),
        sa.Column("minimum", sa.Float()),
        sa.Column("maximum", sa.Float()),
        sa.Column("total", sa.Float()),
        sa.PrimaryKeyConstraint("series_id", "level", "place"),
    )
    op.create_table(
        "telemetry_seals",
        sa.Column("run_id", sa.String(128), nullable=False),
        sa.Column("seal", sa.Text(), nullable=False),
        sa.Column("due_at", sa.Float(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("written_revision", sa.Integer(), nullable=False),
        sa.Column("manifest_json", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(80), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("run_id"),
    )
    op.create_table(
        "telemetry_series",
        sa.Column("series_id", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("run_id", sa.String(128), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("points", sa.BigInteger(), nullable=False),
        sa.Column("first_step", sa.Float(), nullable=False),
        sa.Column("last_step", sa.Float(), nullable=False),
        sa.Column("last_value", sa.Float()),
        sa.Column("lowest_value", sa.Float()),
        sa.Column("lowest_step", sa.Float()),
        sa.Column("highest_value", sa.Float()),
        sa.Column("highest_step", sa.Float()),
        sa.Column("open_buckets", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("series_id"),
    )
    op.create_index("telemetry_series_of_stream", "telemetry_series", ["run_id", "attempt"])
    op.create_table(
        "telemetry_streams",
        sa.Column("run_id", sa.String(128), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("heard", sa.Text(), nullable=False),
        sa.Column("counts", sa.Text(), nullable=False),
        sa.Column("marks", sa.Text(), nullable=False),
        sa.Column("first_time", sa.Float()),
        sa.Column("last_time", sa.Float()),
        sa.Column("last_step", sa.Float()),
        sa.PrimaryKeyConstraint("run_id", "attempt"),
    )
    is_stale = sa.text("written_revision < revision")
    op.create_index(
        "telemetry_stale_seals",
        "telemetry_seals",
        ["run_id"],
        postgresql_where=is_stale,
        sqlite_where=is_stale,
    )
    if op.get_bind().dialect.name == "postgresql":
        # These bytes are packed already: trying to compress them again is a third of the insert.
        op.execute("ALTER TABLE telemetry_frames ALTER COLUMN body SET STORAGE EXTERNAL")
        op.execute("ALTER TABLE telemetry_points ALTER COLUMN packed SET STORAGE EXTERNAL")


def downgrade() -> None:
    op.drop_table("telemetry_streams")
    op.drop_table("telemetry_series")
    op.drop_table("telemetry_seals")
    op.drop_table("telemetry_rollups")
    op.drop_table("telemetry_points")
    op.drop_table("telemetry_frames")
    op.drop_table("telemetry_facts")
    op.drop_table("telemetry_episodes")
