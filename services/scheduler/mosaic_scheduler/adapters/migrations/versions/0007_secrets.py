"""Keep secrets of users and teams, sealed."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "secrets",
        sa.Column("owner", sa.String(140), primary_key=True),
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("key_id", sa.String(16), nullable=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("set_by", sa.String(128), nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("secrets")
