"""The registry's tables. Times are seconds since 1970 in UTC, so SQLite and PostgreSQL agree on them."""

from __future__ import annotations

import sqlalchemy as sa

from mosaic.hosting.audit import AuditTable

metadata = sa.MetaData()

workers = sa.Table(
    "workers",
    metadata,
    sa.Column("name", sa.String(128), primary_key=True),
    sa.Column("version", sa.String(128), nullable=False),
    sa.Column("resume_grade", sa.String(1), nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
    #: The rest of what the worker's probe said.
    sa.Column("description", sa.JSON, nullable=False),
)

nodes = sa.Table(
    "nodes",
    metadata,
    sa.Column("node_id", sa.String(128), primary_key=True),
    sa.Column("hostname", sa.String(256), nullable=False),
    sa.Column("cpus", sa.Integer, nullable=False),
    sa.Column("memory_mb", sa.BigInteger, nullable=False),
    sa.Column("gpus", sa.JSON, nullable=False),
    sa.Column("draining", sa.Boolean, nullable=False),
)

agents = sa.Table(
    "agents",
    metadata,
    sa.Column("agent_id", sa.String(128), primary_key=True),
    sa.Column("node_id", sa.String(128), sa.ForeignKey("nodes.node_id"), nullable=False),
    sa.Column("worker", sa.String(128), nullable=False),
    sa.Column("worker_version", sa.String(128), nullable=False),
    sa.Column("slots", sa.Integer, nullable=False),
    sa.Column("queue", sa.String(300), nullable=False),
    sa.Column("session_digest", sa.String(64), nullable=False),
    sa.Column("protocol_version", sa.String(32), nullable=False),
    sa.Column("last_heartbeat", sa.Double, nullable=False),
    sa.Column("alive", sa.Boolean, nullable=False),
    sa.Column("draining", sa.Boolean, nullable=False),
    sa.Column("worker_digest", sa.String(64), nullable=False, server_default=""),
    sa.Index("agents_by_heartbeat", "alive", "last_heartbeat"),
)

#: One row: the revision of the fleet. Whoever changes the fleet locks it first.
fleet_revision = sa.Table(
    "fleet_revision",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("number", sa.BigInteger, nullable=False),
)

audit = AuditTable("registry", metadata)
invites = sa.Table(
    "invites",
    metadata,
    sa.Column("invite_id", sa.String(16), primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("uses", sa.Integer, nullable=False),
    sa.Column("worker", sa.String(128), nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("expires_at", sa.Double, nullable=False),
    sa.Column("created_by", sa.String(200), nullable=False),
)

agent_certificates = sa.Table(
    "agent_certificates",
    metadata,
    sa.Column("serial", sa.String(40), primary_key=True),
    sa.Column("agent_id", sa.String(128), nullable=False),
    sa.Column("issued_at", sa.Double, nullable=False),
    sa.Column("expires_at", sa.Double, nullable=False),
    sa.Column("via", sa.String(400), nullable=False),
    sa.Column("worker", sa.String(128), nullable=False),
    sa.Column("denied_at", sa.Double, nullable=True),
    sa.Column("key_digest", sa.String(64), nullable=False),
    sa.Index("agent_certificates_by_agent", "agent_id"),
)

users = sa.Table(
    "users",
    metadata,
    sa.Column("name", sa.String(128), primary_key=True),
    sa.Column("display_name", sa.String(200), nullable=False),
    sa.Column("email", sa.String(200), nullable=False),
    sa.Column("active", sa.Boolean, nullable=False),
    sa.Column("roles", sa.JSON, nullable=False),
    sa.Column("owner_team", sa.String(128), nullable=True),
    sa.Column("password_hash", sa.String(256), nullable=False),
)

members = sa.Table(
    "members",
    metadata,
    sa.Column("team", sa.String(128), primary_key=True),
    sa.Column("user", sa.String(128), sa.ForeignKey("users.name"), primary_key=True),
    sa.Column("role", sa.String(32), nullable=False),
    sa.Index("members_by_user", "user"),
)

credentials = sa.Table(
    "credentials",
    metadata,
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
    sa.Index("credentials_by_user", "user"),
)

#: Whom an identity provider means by whom.
provider_identities = sa.Table(
    "provider_identities",
    metadata,
    sa.Column("issuer", sa.String(500), primary_key=True),
    sa.Column("subject", sa.String(255), primary_key=True),
    sa.Column("user", sa.String(128), sa.ForeignKey("users.name"), nullable=False),
)

sign_in_failures = sa.Table(
    "sign_in_failures",
    metadata,
    sa.Column("key", sa.String(300), primary_key=True),
    sa.Column("count", sa.Integer, nullable=False),
    sa.Column("last_at", sa.Double, nullable=False),
)
