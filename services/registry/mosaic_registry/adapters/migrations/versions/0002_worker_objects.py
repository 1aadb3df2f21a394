"""What a worker's probe printed is stored as objects, not as text."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_WORKERS = sa.table("workers", sa.column("name", sa.String), sa.column("description", sa.JSON))
_NAMES = ("metadata", "capabilities", "config_schema")


def upgrade() -> None:
    for name, description in _descriptions():
        objects = {one: json.loads(description.pop(f"{one}_json", None) or "{}") for one in _NAMES}
        _store(name, {**description, **objects})


def downgrade() -> None:
    for name, description in _descriptions():
        texts = {f"{one}_json": json.dumps(description.pop(one, {})) for one in _NAMES}
        _store(name, {**description, **texts})


def _descriptions() -> list[tuple[str, dict[str, Any]]]:
    rows = op.get_bind().execute(sa.select(_WORKERS.c.name, _WORKERS.c.description)).all()
    return [(name, dict(description)) for name, description in rows]


def _store(name: str, description: dict[str, Any]) -> None:
    op.get_bind().execute(sa.update(_WORKERS).where(_WORKERS.c.name == name).values(description=description))
