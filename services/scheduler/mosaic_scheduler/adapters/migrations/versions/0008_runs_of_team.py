"""Find the newest runs of a team without sorting all of them: lists are of the teams that one may see."""

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_index("runs_of_team", "runs", ["team", "run_id"])


def downgrade() -> None:
    op.drop_index("runs_of_team", "runs")
