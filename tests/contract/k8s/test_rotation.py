"""The runbook changes the password of a database, and changes it again, without anything being in the way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest

from tests.contract.k8s.manifests import ROOT
from tests.servers.answers import plain_postgres_url

RUNBOOK = ROOT / "docs" / "how-to" / "runbook.md"

_SQL = re.compile(r"```sql\n(.*?)```", re.DOTALL)
_OWNERS = "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'"


@pytest.fixture
def registry(postgres_url: str) -> Iterator[str]:
    """The name of a role that owns the database, as the runbook's registry does."""
    name = f"t_{uuid4().hex[:12]}"
    url = plain_postgres_url(postgres_url)
    with ExitStack() as afterwards:
        _execute(url, f"CREATE ROLE {name} LOGIN PASSWORD 'OLD'")
        afterwards.callback(_execute, url, f"DROP ROLE {name}")
        _execute(url, f"ALTER DATABASE {urlsplit(url).path[1:]} OWNER TO {name}")
        afterwards.callback(_execute, url, f"REASSIGN OWNED BY {name} TO CURRENT_USER")
        yield name


def test_a_second_rotation_leaves_the_owner_and_one_way_in(postgres_url: str, registry: str) -> None:
    url = plain_postgres_url(postgres_url)
    page = RUNBOOK.read_text(encoding="utf-8")
    make_second, close_owner, drop_second = (sql.replace("registry", registry) for sql in _SQL.findall(page))
    make_third = make_second.replace(f"{registry}_2", f"{registry}_3")
    _execute(_as(url, registry, "OLD"), "CREATE TABLE first ()")

    _execute(url, make_second)
    _execute(_as(url, f"{registry}_2", "NEW"), "ALTER TABLE first ADD COLUMN seen int; CREATE TABLE second ()")
    _execute(url, close_owner)
    _execute(url, make_third)
    _execute(url, drop_second)
    _execute(_as(url, f"{registry}_3", "NEW"), "ALTER TABLE second ADD COLUMN seen int")

    assert [(registry,)] == _execute(url, _OWNERS)
    with pytest.raises(psycopg.OperationalError, match="not permitted to log in"):
        _execute(_as(url, registry, "OLD"), "SELECT 1")
    _execute(url, f"DROP ROLE {registry}_3")


def _as(url: str, user: str, password: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=f"{user}:{password}@{parts.hostname}:{parts.port}").geturl()


def _execute(url: str, statements: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        done = connection.execute(statements.encode())
        return done.fetchall() if done.description else []
