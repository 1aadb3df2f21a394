"""What was asked and decided is written down."""

from mosaic.hosting.audit import create_audit_tables, drop_audit_tables

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    create_audit_tables("scheduler")


def downgrade() -> None:
    drop_audit_tables("scheduler")
