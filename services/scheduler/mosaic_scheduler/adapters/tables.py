"""The scheduler's tables. Times are seconds since 1970 in UTC, so SQLite and PostgreSQL agree on them."""

from __future__ import annotations

import sqlalchemy as sa

from mosaic.hosting.audit import AuditTable

metadata = sa.MetaData()

_BIG_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("run_id", sa.String(128), primary_key=True),
    sa.Column("worker", sa.String(128), nullable=False),
    sa.Column("team", sa.String(128), nullable=False),
    sa.Column("user_name", sa.String(128), nullable=False),
    sa.Column("name", sa.String(128), nullable=False, server_default=""),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("spec", sa.JSON, nullable=False),
    sa.Column("submitted_at", sa.Double, nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
    sa.Column("started_at", sa.Double),
    sa.Column("ended_at", sa.Double),
    sa.Column("not_before", sa.Double),
    sa.Column("reason_code", sa.String(64), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("checkpoint", sa.Text, nullable=False),
    sa.Column("checkpoint_at", sa.Double),
    sa.Column("passed_over", sa.Integer, nullable=False),
    sa.Column("evicted_for", sa.JSON, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False, index=True),
    sa.Index("runs_by_state", "state"),
    sa.Index("runs_by_team", "team", "state"),
    # The newest of a team, without sorting all of them.
    sa.Index("runs_of_team", "team", "run_id"),
    sa.Index("runs_by_name", "name"),
    # PostgreSQL keeps the primary key in the order of a locale, in which a prefix is no range.
    sa.Index("runs_by_prefix", "run_id", postgresql_ops={"run_id": "varchar_pattern_ops"}),
)

attempts = sa.Table(
    "attempts",
    metadata,
    sa.Column("run_id", sa.String(128), sa.ForeignKey("runs.run_id"), primary_key=True),
    sa.Column("attempt", sa.Integer, primary_key=True),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("agent_id", sa.String(128), nullable=False),
    sa.Column("node_id", sa.String(128), nullable=False),
    sa.Column("lease", sa.JSON, nullable=False),
    sa.Column("lease_until", sa.Double, nullable=False),
    sa.Column("borrowed", sa.Boolean, nullable=False),
    sa.Column("ends_by", sa.Double),
    sa.Column("admitted_at", sa.Double, nullable=False),
    sa.Column("claimed_at", sa.Double),
    sa.Column("started_at", sa.Double),
    sa.Column("ended_at", sa.Double),
    sa.Column("directive", sa.String(16), nullable=False),
    sa.Column("control_digest", sa.String(64), nullable=False),
    sa.Column("failure_kind", sa.String(32), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("exit_code", sa.Integer),
    sa.Column("last_seq", sa.BigInteger, nullable=False),
    sa.Column("resumed_from", sa.Text, nullable=False),
    sa.Column("versions", sa.JSON, nullable=False),
    sa.Index("attempts_by_agent", "agent_id", "state"),
)

history = sa.Table(
    "history",
    metadata,
    sa.Column("id", _BIG_ID, primary_key=True, autoincrement=True),
    sa.Column("run_id", sa.String(128), nullable=False, index=True),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("fact", sa.String(32), nullable=False),
    sa.Column("before", sa.String(16), nullable=False),
    sa.Column("after", sa.String(16), nullable=False),
    sa.Column("actor", sa.String(160), nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
)

outbox = sa.Table(
    "outbox",
    metadata,
    sa.Column("id", _BIG_ID, primary_key=True, autoincrement=True),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("run_id", sa.String(128), nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("payload", sa.JSON, nullable=False),
)

submits = sa.Table(
    "submits",
    metadata,
    sa.Column("team", sa.String(128), primary_key=True),
    sa.Column("key", sa.String(256), primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("run_ids", sa.JSON, nullable=False),
)

teams = sa.Table(
    "teams",
    metadata,
    sa.Column("name", sa.String(128), primary_key=True),
    sa.Column("terms", sa.JSON, nullable=False),
)

#: One row each: ``revision`` (the last one given) and ``usage`` (decayed use as JSON).
ledger = sa.Table(
    "ledger",
    metadata,
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("document", sa.JSON, nullable=False),
)

secrets = sa.Table(
    "secrets",
    metadata,
    #: ``user/NAME`` or ``team/NAME``.
    sa.Column("owner", sa.String(140), primary_key=True),
    sa.Column("name", sa.String(128), primary_key=True),
    sa.Column("key_id", sa.String(16), nullable=False),
    sa.Column("sealed", sa.LargeBinary, nullable=False),
    sa.Column("set_by", sa.String(128), nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
)

audit = AuditTable("scheduler", metadata)
