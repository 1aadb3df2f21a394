"""Databases whose tables are there already: migrating takes longer than most tests, so it is done once and copied."""

from __future__ import annotations

import functools
import shutil
import tempfile
from pathlib import Path

from mosaic.hosting.database import migrate, open_engine


def migrated_file(migrations: str, path: Path) -> str:
    """Write an SQLite database with the tables of *migrations* to *path* and return its address."""
    shutil.copy(_template(migrations).name, path)
    return f"sqlite:///{path}"


def migrate_once(url: str, migrations: str) -> None:
    """Make the tables and leave no connection behind."""
    engine = open_engine(url)
    migrate(engine, migrations)
    # Closing the last connection folds SQLite's journal in, and lets PostgreSQL copy the database.
    engine.dispose()


@functools.cache
def _template(migrations: str) -> tempfile._TemporaryFileWrapper[bytes]:
    template = tempfile.NamedTemporaryFile(prefix="mosaic-", suffix=".db")  # noqa: SIM115 - lives as long as the cache
    migrate_once(f"sqlite:///{template.name}", migrations)
    return template
