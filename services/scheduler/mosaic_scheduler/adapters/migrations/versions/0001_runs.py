"""Create the ledger of runs."""

from alembic import op

from mosaic_scheduler.adapters.tables import ledger, metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    metadata.create_all(op.get_bind())
    op.bulk_insert(
        ledger,
        [{"name": "revision", "number": 0, "document": {}}, {"name": "usage", "number": 0, "document": {}}],
    )


def downgrade() -> None:
    metadata.drop_all(op.get_bind())
