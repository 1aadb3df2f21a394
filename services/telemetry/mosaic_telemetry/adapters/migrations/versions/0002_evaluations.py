"""Mark the episodes of evaluations, and tally the episodes of each attempt."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_KINDS = {(False, False): "training", (False, True): "agent", (True, False): "evaluation"}
_KINDS[True, True] = "evaluation_agent"

_GROUPS = sa.text(
    "SELECT run_id, attempt, evaluation, agent, COUNT(*) AS number, MAX(seq) AS last_seq"
    " FROM telemetry_episodes GROUP BY run_id, attempt, evaluation, agent"
)
_BEST = sa.text(
    "SELECT run_id, attempt, evaluation, agent, episode_return, step, seq FROM ("
    " SELECT *, ROW_NUMBER() OVER"
    " (PARTITION BY run_id, attempt, evaluation, agent ORDER BY episode_return DESC, seq) AS place"
    " FROM telemetry_episodes WHERE episode_return IS NOT NULL) AS ranked WHERE place = 1"
)


def upgrade() -> None:
    op.add_column(
        "telemetry_episodes", sa.Column("evaluation", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.add_column("telemetry_streams", sa.Column("episodes", sa.Text(), nullable=False, server_default="{}"))
    # Workers named an agent so before there was a field for it.
    op.execute("UPDATE telemetry_episodes SET evaluation = true, agent = '' WHERE agent = 'evaluation'")
    _tally(op.get_bind())


def downgrade() -> None:
    op.execute("UPDATE telemetry_episodes SET agent = 'evaluation' WHERE evaluation = true")
    op.drop_column("telemetry_streams", "episodes")
    op.drop_column("telemetry_episodes", "evaluation")


def _tally(connection: sa.Connection) -> None:
    best = {tuple(row[:4]): row[4:] for row in connection.execute(_BEST)}
    streams: dict[tuple[str, int], dict[str, list[tuple[int, int, float | None, float | None, int]]]] = {}
    agents: dict[tuple[str, int], set[str]] = {}
    for run_id, attempt, evaluation, agent, number, last_seq in connection.execute(_GROUPS):
        value, step, seq = best.get((run_id, attempt, evaluation, agent), (None, None, -1))
        kinds = streams.setdefault((run_id, attempt), {})
        kinds.setdefault(_KINDS[bool(evaluation), bool(agent)], []).append((number, last_seq, value, step, seq))
        agents.setdefault((run_id, attempt), set()).update(filter(None, [agent]))
    for (run_id, attempt), kinds in streams.items():
        tallies = {
            "by_kind": {kind: _joined(parts) for kind, parts in sorted(kinds.items())},
            "agents": sorted(agents[run_id, attempt])[:2],
        }
        connection.execute(
            sa.text("UPDATE telemetry_streams SET episodes = :tallies WHERE run_id = :run_id AND attempt = :attempt"),
            {"tallies": json.dumps(tallies), "run_id": run_id, "attempt": attempt},
        )


def _joined(parts: list[tuple[int, int, float | None, float | None, int]]) -> list[float | None]:
    ranked = [part for part in parts if part[2] is not None]
    value, step, seq = max(ranked, key=lambda part: (part[2], -part[4]))[2:] if ranked else (None, None, -1)
    return [sum(part[0] for part in parts), max(part[1] for part in parts), value, step, seq]
