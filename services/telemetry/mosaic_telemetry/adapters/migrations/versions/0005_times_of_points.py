"""Keep when points were printed, so that a curve can be drawn over time; older ones take it from their frames."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_COLUMNS = ("first_time", "last_time")


def upgrade() -> None:
    for column in _COLUMNS:
        op.add_column("telemetry_points", sa.Column(column, sa.Float, nullable=False, server_default="0"))
        op.execute(
            f"UPDATE telemetry_points SET {column} = COALESCE((SELECT f.{column} FROM telemetry_frames f "
            "JOIN telemetry_series s ON f.run_id = s.run_id AND f.attempt = s.attempt "
            "WHERE s.series_id = telemetry_points.series_id AND f.first_seq <= telemetry_points.first_seq "
            "ORDER BY f.first_seq DESC LIMIT 1), 0)"
        )


def downgrade() -> None:
    for column in _COLUMNS:
        op.drop_column("telemetry_points", column)
