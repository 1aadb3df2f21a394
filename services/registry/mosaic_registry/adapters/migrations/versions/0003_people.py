"""Create users, their roles in teams, their credentials, and whom identity providers mean by whom."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("display_name", sa.String(200), nullable=False),
        sa.Column("email", sa.String(200), nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("roles", sa.JSON, nullable=False),
        sa.Column("owner_team", sa.String(128), nullable=True),
        sa.Column("password_hash", sa.String(256), nullable=False),
    )
    op.create_table(
        "members",
        sa.Column("team", sa.String(128), primary_key=True),
        sa.Column("user", sa.String(128), sa.ForeignKey("users.name"), primary_key=True),
        sa.Column("role", sa.String(32), nullable=False),
    )
    op.create_index("members_by_user", "members", ["user"])
    op.create_table(
        "credentials",
        sa.Column("credential_id", sa.String(32), primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("user", sa.String(128), sa.ForeignKey("users.name"), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("scopes", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("last_used_at", sa.Double, nullable=True),
        sa.Column("address", sa.String(64), nullable=False),
    )
    op.create_index("credentials_by_user", "credentials", ["user"])
    op.create_table(
        "provider_identities",
        sa.Column("issuer", sa.String(500), primary_key=True),
        sa.Column("subject", sa.String(255), primary_key=True),
        sa.Column("user", sa.String(128), sa.ForeignKey("users.name"), nullable=False),
    )
    op.create_table(
        "sign_in_failures",
        sa.Column("key", sa.String(300), primary_key=True),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("last_at", sa.Double, nullable=False),
    )


def downgrade() -> None:
    for table in ("sign_in_failures", "provider_identities", "credentials", "members", "users"):
        op.drop_table(table)
