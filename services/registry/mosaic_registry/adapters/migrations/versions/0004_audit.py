"""What was asked and decided is written down."""

from mosaic.hosting.audit import create_audit_tables, drop_audit_tables

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    create_audit_tables("registry")


def downgrade() -> None:
    drop_audit_tables("registry")
