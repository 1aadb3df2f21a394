"""One way to open a database and bring its schema up to date, for SQLite and PostgreSQL."""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolExhausted

from mosaic.errors import BadInput, DatabaseUnavailable


def open_engine(url: str, *, pool_size: int = 5) -> Engine:
    """Return an engine for *url*: ``sqlite:///path`` or ``postgresql://...`` (psycopg 3 is chosen).

    SQLite runs in WAL mode and takes its write lock at BEGIN, so two writers wait for each other
    instead of failing half-way.
    """
    if url.startswith("postgresql://"):
        url = "postgresql+psycopg://" + url.removeprefix("postgresql://")
    if not url.startswith("sqlite"):
        return sqlalchemy.create_engine(url, pool_size=pool_size, max_overflow=5, pool_pre_ping=True)
    engine = sqlalchemy.create_engine(url, connect_args={"timeout": 30, "check_same_thread": False})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_immediate)
    return engine


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """Run one transaction.

    Only data that does not fit is the caller's fault. Whatever else a database refuses, it may grant later:
    it may be a standby that takes no writes, out of connections, or not set up yet.

    Raises:
        DatabaseUnavailable: the database cannot be used now; nothing of the transaction was kept.
        BadInput: the database cannot keep one of the values; nothing of the transaction was kept.

    """
    try:
        with engine.begin() as connection:
            yield connection
    except DataError as error:
        raise BadInput("value", [f"the database cannot keep it: {error.orig}"]) from error
    except IntegrityError:
        raise
    except DBAPIError as error:
        raise DatabaseUnavailable(f"the database does not answer or refuses: {error.orig}") from error
    except PoolExhausted as error:
        raise DatabaseUnavailable(f"every connection to the database is in use: {error}") from error


def migrate(engine: Engine, package: str) -> None:
    """Bring the schema up to date with the migrations in *package*; several processes may call it at once.

    Raises:
        DatabaseUnavailable: the schema is as it was, and *engine* holds no connection.

    """
    try:
        _migrate(engine, package)
    except DatabaseUnavailable:
        engine.dispose()
        raise


def _migrate(engine: Engine, package: str) -> None:
    config = Config()
    with importlib.resources.as_file(importlib.resources.files(package)) as folder:
        config.set_main_option("script_location", str(folder))
        with transaction(engine) as connection:
            if engine.dialect.name == "postgresql":
                # Two replicas starting together must not both create the tables.
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7061726)")
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


def run_migrations(metadata: sqlalchemy.MetaData, version_table: str) -> None:
    """Body of every service's ``env.py``: use the connection that `migrate` hands over."""
    from alembic import context

    connection: Any = context.config.attributes["connection"]
    # Batch mode lets SQLite, which cannot ALTER much, take the same migrations as PostgreSQL.
    context.configure(
        connection=connection, target_metadata=metadata, version_table=version_table, render_as_batch=True
    )
    context.run_migrations()


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # The driver must not open transactions by itself: `_begin_immediate` does.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=30000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_immediate(connection: Connection) -> None:
    if connection.get_execution_options().get("read_only"):
        connection.exec_driver_sql("BEGIN")
    else:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
