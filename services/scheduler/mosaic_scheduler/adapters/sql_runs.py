"""Runs in SQLite or PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy import Connection, Engine
from sqlalchemy.dialects import postgresql, sqlite

from mosaic.hosting.database import transaction
from mosaic.ids import AgentId, RunId, TeamName, UserName
from mosaic.lifecycle import ATTEMPT_TERMINAL, RUN_TERMINAL, AttemptState, RunState
from mosaic.model.attempt import Attempt
from mosaic.model.audit import AuditEntry, AuditFilter
from mosaic.model.codec import from_json, to_json
from mosaic.model.run import Change, Run, RunFilter
from mosaic.model.secret import Secret
from mosaic.model.team import Team
from mosaic_scheduler.adapters import rows, sql_secrets
from mosaic_scheduler.adapters.tables import attempts, audit, history, ledger, outbox, runs, submits, teams
from mosaic_scheduler.domain.secret import SecretOwner
from mosaic_scheduler.domain.snapshot import Usage
from mosaic_scheduler.ports import OutboxKind, OutboxMessage, RunTransaction, Vault

Row = Mapping[str, Any]

#: Schedulers that share a database wake each other on this PostgreSQL channel.
CHANNEL = "mosaic_scheduler"

_RUN_ENDED = sorted(state.value for state in RUN_TERMINAL)
_ATTEMPT_ENDED = sorted(state.value for state in ATTEMPT_TERMINAL)


_IS_PARKED = outbox.c.kind == OutboxKind.PARKED.value


class SqlRuns:
    """Keeps runs, attempts, history, outbox, teams and usage."""

    def __init__(self, engine: Engine) -> None:
        """Use *engine*, whose schema is up to date."""
        self._engine = engine
        self._reader = engine.execution_options(read_only=True)

    @contextmanager
    def read(self) -> Iterator[RunTransaction]:
        """Open a transaction that only reads."""
        with transaction(self._reader) as connection:
            yield _SqlTransaction(connection)

    @contextmanager
    def write(self) -> Iterator[RunTransaction]:
        """Open a transaction; the row lock on the revision makes writers follow one another."""
        with transaction(self._engine) as connection:
            bump = sa.update(ledger).where(ledger.c.name == "revision").values(number=ledger.c.number + 1)
            revision = connection.execute(bump.returning(ledger.c.number)).scalar_one()
            work = _SqlTransaction(connection, revision)
            yield work
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql(f"NOTIFY {CHANNEL}")

    def extend_leases(self, held: Collection[tuple[RunId, int]], until: datetime) -> None:
        """Move the end of these leases; no revision changes, so nobody wakes."""
        if held:
            chosen = sa.tuple_(attempts.c.run_id, attempts.c.attempt).in_(list(held))
            with transaction(self._engine) as connection:
                connection.execute(sa.update(attempts).where(chosen).values(lease_until=until.timestamp()))

    def save_usage(self, usage: Usage) -> None:
        """Write decayed use; no revision changes, so nobody wakes."""
        document = rows.usage_to_json(usage)
        with transaction(self._engine) as connection:
            connection.execute(sa.update(ledger).where(ledger.c.name == "usage").values(document=document))

    def outbox(self, limit: int, after: int = 0) -> list[OutboxMessage]:
        """Return messages that are to be sent, oldest first, from the one after *after* on."""
        leaving = sa.select(outbox).where(outbox.c.id > after, ~_IS_PARKED)
        with transaction(self._reader) as connection:
            found = connection.execute(leaving.order_by(outbox.c.id).limit(limit)).mappings()
            return [
                OutboxMessage(OutboxKind(row["kind"]), RunId(row["run_id"]), row["attempt"], row["payload"], row["id"])
                for row in found
            ]

    def sent(self, message_ids: Collection[int]) -> None:
        """Forget messages that have left."""
        if message_ids:
            with transaction(self._engine) as connection:
                connection.execute(sa.delete(outbox).where(outbox.c.id.in_(list(message_ids))))

    def park(self, message: OutboxMessage, reason: str) -> None:
        """Keep *message*, with the reason, but send it no more."""
        kept = {"kind": message.kind.value, "payload": dict(message.payload), "reason": reason[:1000]}
        parked = sa.update(outbox).where(outbox.c.id == message.message_id)
        with transaction(self._engine) as connection:
            connection.execute(parked.values(kind=OutboxKind.PARKED.value, payload=kept))

    def parked(self) -> int:
        """Return how many messages are parked."""
        with transaction(self._reader) as connection:
            count = sa.select(sa.func.count()).select_from(outbox).where(_IS_PARKED)
            return int(connection.execute(count).scalar_one())

    def unpark(self) -> None:
        """Send what was parked again."""
        with transaction(self._engine) as connection:
            for row in connection.execute(sa.select(outbox).where(_IS_PARKED)).mappings().all():
                was = row["payload"]
                restored = sa.update(outbox).where(outbox.c.id == row["id"])
                connection.execute(restored.values(kind=was["kind"], payload=was["payload"]))

    def note(self, entry: AuditEntry) -> None:
        """Write down what was decided; no revision changes, so nobody wakes."""
        with transaction(self._engine) as connection:
            audit.append(connection, entry)

    def audit_trail(self, wanted: AuditFilter, *, teams: Collection[TeamName] | None, limit: int) -> list[AuditEntry]:
        """Return the first *limit* entries that are *wanted*, oldest first."""
        with transaction(self._reader) as connection:
            return audit.read(connection, wanted, teams=teams, limit=limit)

    def ping(self) -> None:
        """Raise `DatabaseUnavailable` unless the database answers."""
        with transaction(self._reader) as connection:
            connection.execute(sa.select(sa.literal(1)))


class _SqlTransaction:
    """The store inside one database transaction."""

    def __init__(self, connection: Connection, revision: int = 0) -> None:
        self._connection = connection
        self._revision = revision

    def run(self, run_id: RunId) -> Run | None:
        row = self._one(sa.select(runs).where(runs.c.run_id == run_id))
        return from_json(Run, row) if row else None

    def runs_like(self, part: str, *, teams: Collection[TeamName] | None = None) -> list[Run]:
        # Not a range: what lies between two texts depends on the locale of the database.
        begins, ends = (match(part, autoescape=True) for match in (runs.c.run_id.startswith, runs.c.run_id.endswith))
        found = _of_teams(sa.select(runs).where(begins | ends).limit(2), teams)
        return [from_json(Run, row) for row in self._all(found)]

    def attempt(self, run_id: RunId, attempt: int) -> Attempt | None:
        row = self._one(sa.select(attempts).where(attempts.c.run_id == run_id, attempts.c.attempt == attempt))
        return from_json(Attempt, row) if row else None

    def attempts(self, run_id: RunId) -> list[Attempt]:
        found = sa.select(attempts).where(attempts.c.run_id == run_id).order_by(attempts.c.attempt)
        return [from_json(Attempt, row) for row in self._all(found)]

    def history(self, run_id: RunId) -> list[Change]:
        found = sa.select(history).where(history.c.run_id == run_id).order_by(history.c.id)
        return [from_json(Change, row) for row in self._all(found)]

    def list_runs(
        self, wanted: RunFilter, *, limit: int, before: str, teams: Collection[TeamName] | None = None
    ) -> list[Run]:
        found = sa.select(runs).order_by(runs.c.run_id.desc()).limit(limit)
        if before:
            found = found.where(runs.c.run_id < before)
        if wanted.states:
            found = found.where(runs.c.state.in_(sorted(state.value for state in wanted.states)))
        for column, value in (
            (runs.c.team, wanted.team),
            (runs.c.user_name, wanted.user),
            (runs.c.worker, wanted.worker),
            (runs.c.name, wanted.name),
        ):
            if value:
                found = found.where(column == value)
        for label, value in wanted.labels.items():
            found = found.where(runs.c.spec["labels"][label].as_string() == value)
        if teams is None:
            chosen = self._all(found)
        else:
            # Team by team: each is read in order from an index, and no database sorts all runs of several.
            several = (self._all(found.where(runs.c.team == team)) for team in teams)
            chosen = sorted((row for some in several for row in some), key=lambda row: row["run_id"], reverse=True)
        return [from_json(Run, row) for row in chosen[:limit]]

    def revision(self) -> int:
        return int(self._connection.execute(sa.select(ledger.c.number).where(ledger.c.name == "revision")).scalar_one())

    def changed_since(
        self, revision: int, *, teams: Collection[TeamName] | None = None
    ) -> list[tuple[Run, Attempt | None]]:
        newer = sa.select(runs).where(runs.c.revision > revision).order_by(runs.c.revision, runs.c.run_id)
        return self._with_attempts(_of_teams(newer, teams))

    def active(self) -> list[tuple[Run, Attempt | None]]:
        return self._with_attempts(
            sa.select(runs).where(runs.c.state.not_in(_RUN_ENDED)).order_by(runs.c.revision, runs.c.run_id)
        )

    def overdue(self, now: datetime) -> list[Attempt]:
        found = sa.select(attempts).where(
            attempts.c.lease_until < now.timestamp(), attempts.c.state.not_in(_ATTEMPT_ENDED)
        )
        return [from_json(Attempt, row) for row in self._all(found)]

    def unclaimed(self, admitted_before: datetime) -> list[Attempt]:
        found = sa.select(attempts).where(
            attempts.c.state == AttemptState.ADMITTED.value,
            attempts.c.admitted_at < admitted_before.timestamp(),
        )
        return [from_json(Attempt, row) for row in self._all(found)]

    def held_by(self, agent_id: AgentId) -> list[Attempt]:
        found = sa.select(attempts).where(attempts.c.agent_id == agent_id, attempts.c.state.not_in(_ATTEMPT_ENDED))
        return [from_json(Attempt, row) for row in self._all(found)]

    def count_queued(self, team: TeamName) -> Mapping[UserName, int]:
        found = (
            sa.select(runs.c.user_name, sa.func.count())
            .where(runs.c.team == team, runs.c.state == RunState.QUEUED.value)
            .group_by(runs.c.user_name)
        )
        return {UserName(user): count for user, count in self._connection.execute(found)}

    def save_run(self, entry: Run) -> Run:
        entry = replace(entry, revision=self._revision)
        self._upsert(runs, rows.run_to_row(entry))
        return entry

    def save_reasons(self, reasons: Mapping[RunId, tuple[str, str]]) -> None:
        code, reason = sa.bindparam("new_code", type_=sa.String), sa.bindparam("new_reason", type_=sa.Text)
        is_different = (runs.c.reason_code != code) | (runs.c.reason != reason)
        update = (
            sa.update(runs)
            .where(runs.c.run_id == sa.bindparam("waiting"), runs.c.state == RunState.QUEUED.value, is_different)
            .values(reason_code=code, reason=reason, revision=self._revision)
        )
        values = [{"waiting": key, "new_code": told[0], "new_reason": told[1]} for key, told in reasons.items()]
        if values:
            self._connection.execute(update, values)

    def save_attempt(self, entry: Attempt) -> None:
        self._upsert(attempts, to_json(entry))

    def add_history(self, entries: Iterable[Change]) -> None:
        values = [to_json(entry) for entry in entries]
        if values:
            self._connection.execute(sa.insert(history), values)

    def send_later(self, message: OutboxMessage) -> OutboxMessage:
        insert = sa.insert(outbox).values(
            kind=message.kind.value, run_id=message.run_id, attempt=message.attempt, payload=dict(message.payload)
        )
        message_id = self._connection.execute(insert.returning(outbox.c.id)).scalar_one()
        return replace(message, message_id=message_id)

    def runs_of_key(self, team: TeamName, key: str) -> tuple[str, list[RunId]] | None:
        row = self._one(sa.select(submits).where(submits.c.team == team, submits.c.key == key))
        return (row["digest"], [RunId(run_id) for run_id in row["run_ids"]]) if row else None

    def remember_key(self, team: TeamName, key: str, digest: str, run_ids: Sequence[RunId]) -> None:
        values = {"team": team, "key": key, "digest": digest, "run_ids": list(run_ids)}
        self._connection.execute(sa.insert(submits).values(values))

    def teams(self) -> list[Team]:
        return [from_json(Team, row["terms"]) for row in self._all(sa.select(teams).order_by(teams.c.name))]

    def save_team(self, team: Team) -> None:
        self._upsert(teams, {"name": team.name, "terms": to_json(team)})

    def usage(self) -> Usage:
        row = self._one(sa.select(ledger).where(ledger.c.name == "usage"))
        return rows.usage_from_json(row["document"] if row else {})

    def audit(self, entry: AuditEntry) -> None:
        audit.append(self._connection, entry)

    def put_secret(self, owner: SecretOwner, secret: Secret, value: str, vault: Vault) -> bool:
        return sql_secrets.put(self._connection, owner, secret, value, vault)

    def remove_secret(self, owner: SecretOwner, name: str) -> bool:
        return sql_secrets.remove(self._connection, owner, name)

    def secrets(self, owner: SecretOwner) -> list[Secret]:
        return sql_secrets.listed(self._connection, owner)

    def _with_attempts(self, chosen: sa.Select[Any]) -> list[tuple[Run, Attempt | None]]:
        entries = [from_json(Run, row) for row in self._all(chosen)]
        found: dict[tuple[str, int], Attempt] = {}
        keys = [(entry.run_id, entry.attempt) for entry in entries if entry.attempt]
        for start in range(0, len(keys), 500):
            pick = sa.tuple_(attempts.c.run_id, attempts.c.attempt).in_(keys[start : start + 500])
            for row in self._all(sa.select(attempts).where(pick)):
                found[row["run_id"], row["attempt"]] = from_json(Attempt, row)
        return [(entry, found.get((entry.run_id, entry.attempt))) for entry in entries]

    def _upsert(self, table: sa.Table, row: dict[str, Any]) -> None:
        dialect = postgresql if self._connection.dialect.name == "postgresql" else sqlite
        insert = dialect.insert(table).values(row)
        keys = [column.name for column in table.primary_key]
        changed = {name: insert.excluded[name] for name in row if name not in keys}
        self._connection.execute(insert.on_conflict_do_update(index_elements=keys, set_=changed))

    def _one(self, query: sa.Select[Any]) -> Row | None:
        return cast("Row | None", self._connection.execute(query).mappings().one_or_none())

    def _all(self, query: sa.Select[Any]) -> Sequence[Row]:
        return cast("Sequence[Row]", self._connection.execute(query).mappings().all())


def _of_teams(query: sa.Select[Any], teams: Collection[TeamName] | None) -> sa.Select[Any]:
    return query if teams is None else query.where(runs.c.team.in_(sorted(teams)))
