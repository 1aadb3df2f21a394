"""Invitations of agents, and the certificates they were given."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "invites",
        sa.Column("invite_id", sa.String(16), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("uses", sa.Integer, nullable=False),
        sa.Column("worker", sa.String(128), nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("created_by", sa.String(200), nullable=False),
    )
    op.create_table(
        "agent_certificates",
        sa.Column("serial", sa.String(40), primary_key=True),
        sa.Column("agent_id", sa.String(128), nullable=False),
        sa.Column("issued_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("via", sa.String(400), nullable=False),
        sa.Column("worker", sa.String(128), nullable=False),
        sa.Column("denied_at", sa.Double, nullable=True),
        sa.Column("key_digest", sa.String(64), nullable=False),
    )
    op.create_index("agent_certificates_by_agent", "agent_certificates", ["agent_id"])


def downgrade() -> None:
    op.drop_table("agent_certificates")
    op.drop_table("invites")
