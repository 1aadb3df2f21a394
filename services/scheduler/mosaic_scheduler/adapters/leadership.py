"""Of several schedulers that share a database, one plans."""

from __future__ import annotations

import contextlib

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

#: Any number will do, as long as every scheduler uses the same.
_LOCK = 6_061_964


class SoleLeader:
    """For SQLite: the database is on this machine and one process uses it."""

    def holds(self) -> bool:
        """Tell that this process plans."""
        return True

    def release(self) -> None:
        """Nothing is held."""


class AdvisoryLock:
    """For PostgreSQL: who holds the session lock plans; when its connection dies, another takes it."""

    def __init__(self, engine: Engine) -> None:
        """Compete on *engine* with a connection of its own."""
        self._engine = engine
        self._connection: Connection | None = None

    def holds(self) -> bool:
        """Tell whether this process holds the lock, taking it if it is free."""
        try:
            if self._connection is None:
                connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
                if not connection.execute(text(f"SELECT pg_try_advisory_lock({_LOCK})")).scalar_one():
                    connection.close()
                    return False
                self._connection = connection
            # A lock whose connection is gone is held by nobody: ask before believing it.
            self._connection.execute(text("SELECT 1"))
        except SQLAlchemyError:
            self.release()
            return False
        return True

    def release(self) -> None:
        """Give the lock up."""
        if self._connection is not None:
            with contextlib.suppress(SQLAlchemyError):
                self._connection.invalidate()
                self._connection.close()
            self._connection = None
