"""The tables of the event store, for SQLite and PostgreSQL alike."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    false,
)

metadata = MetaData()

_Id = String(128)

streams = Table(
    "telemetry_streams",
    metadata,
    Column("run_id", _Id, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("heard", Text, nullable=False),
    Column("counts", Text, nullable=False),
    Column("marks", Text, nullable=False),
    Column("first_time", Float),
    Column("last_time", Float),
    Column("last_step", Float),
    #: Tallies of its episodes.
    Column("episodes", Text, nullable=False, server_default="{}"),
)

frames = Table(
    "telemetry_frames",
    metadata,
    Column("run_id", _Id, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("first_seq", BigInteger, primary_key=True),
    Column("last_seq", BigInteger, nullable=False),
    Column("kinds", Text, nullable=False),
    Column("first_time", Float, nullable=False),
    Column("last_time", Float, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

facts = Table(
    "telemetry_facts",
    metadata,
    Column("run_id", _Id, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("time", Float, nullable=False),
    Column("kind", String(64), nullable=False),
    Column("payload", Text, nullable=False),
)

episodes = Table(
    "telemetry_episodes",
    metadata,
    Column("run_id", _Id, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("time", Float, nullable=False),
    Column("number", BigInteger),
    Column("agent", Text, nullable=False),
    Column("episode_return", Float),
    Column("length", BigInteger),
    Column("step", Float),
    Column("evaluation", Boolean, nullable=False, server_default=false()),
)

series = Table(
    "telemetry_series",
    metadata,
    Column("series_id", BigInteger, primary_key=True, autoincrement=False),
    Column("run_id", _Id, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("points", BigInteger, nullable=False),
    Column("first_step", Float, nullable=False),
    Column("last_step", Float, nullable=False),
    Column("last_value", Float),
    Column("lowest_value", Float),
    Column("lowest_step", Float),
    Column("highest_value", Float),
    Column("highest_step", Float),
    Column("open_buckets", Text, nullable=False),
    Index("telemetry_series_of_stream", "run_id", "attempt"),
)

points = Table(
    "telemetry_points",
    metadata,
    Column("series_id", BigInteger, primary_key=True, autoincrement=False),
    Column("first_seq", BigInteger, primary_key=True, autoincrement=False),
    Column("step_first", Float, nullable=False),
    Column("step_last", Float, nullable=False),
    #: The steps, then the values, as little-endian doubles.
    Column("packed", LargeBinary, nullable=False),
    #: When the first and the last of the points were printed.
    Column("first_time", Float, nullable=False, server_default="0"),
    Column("last_time", Float, nullable=False, server_default="0"),
)

rollups = Table(
    "telemetry_rollups",
    metadata,
    Column("series_id", BigInteger, primary_key=True, autoincrement=False),
    Column("level", Integer, primary_key=True, autoincrement=False),
    Column("place", BigInteger, primary_key=True, autoincrement=False),
    Column("step_first", Float, nullable=False),
    Column("step_last", Float, nullable=False),
    Column("points", Integer, nullable=False),
    Column("numbers", Integer, nullable=False),
    Column("minimum", Float),
    Column("maximum", Float),
    Column("total", Float),
)

#: Whose each run is; a run that is not here is shown only to who may see every run.
owners = Table(
    "telemetry_owners",
    metadata,
    Column("run_id", _Id, primary_key=True),
    Column("team", _Id, nullable=False),
    Column("user_name", _Id, nullable=False),
)

finished_runs = Table(
    "telemetry_finished_runs",
    metadata,
    Column("run_id", _Id, primary_key=True),
    Column("finished", Text, nullable=False),
    Column("due_at", Float, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("written_revision", Integer, nullable=False),
    Column("manifest_json", Text, nullable=False),
    Column("digest", String(80), nullable=False),
    Column("path", Text, nullable=False),
)

#: The few ended runs that wait for a manifest, among those of all runs there ever were.
_is_stale = finished_runs.c.written_revision < finished_runs.c.revision
stale_manifests = Index(
    "telemetry_stale_manifests", finished_runs.c.run_id, postgresql_where=_is_stale, sqlite_where=_is_stale
)
