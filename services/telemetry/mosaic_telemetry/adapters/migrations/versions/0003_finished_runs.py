"""Keep how a run ended as `mosaic.model` has it, under the name that everybody uses."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_INDEX = "telemetry_stale_manifests"
_table = sa.table("telemetry_finished_runs", sa.column("run_id", sa.String), sa.column("finished", sa.Text))


def upgrade() -> None:
    _rename(("telemetry_seals", "seal", "telemetry_stale_seals"), ("telemetry_finished_runs", "finished", _INDEX))
    connection = op.get_bind()
    for run_id, text in connection.execute(sa.select(_table.c.run_id, _table.c.finished)).all():
        document = json.dumps(_finished(json.loads(text)))
        connection.execute(sa.update(_table).where(_table.c.run_id == run_id).values(finished=document))


def downgrade() -> None:
    """Give the names back; what is stored stays as it is, and manifests are not written from it again."""
    _rename(("telemetry_finished_runs", "finished", _INDEX), ("telemetry_seals", "seal", "telemetry_stale_seals"))


def _rename(old: tuple[str, str, str], new: tuple[str, str, str]) -> None:
    op.drop_index(old[2], old[0])
    op.rename_table(old[0], new[0])
    op.execute(f"ALTER TABLE {new[0]} RENAME COLUMN {old[1]} TO {new[1]}")
    is_stale = sa.text("written_revision < revision")
    op.create_index(new[2], new[0], ["run_id"], postgresql_where=is_stale, sqlite_where=is_stale)


def _finished(seal: dict[str, Any]) -> dict[str, Any]:
    if "run" in seal:
        return seal
    ended, submitted = _stamp(seal.get("ended_at")), _stamp(seal.get("submitted_at"))
    first = submitted or ended or 0.0
    attempts = [_attempt(seal["run_id"], attempt, first) for attempt in seal.get("attempts", ())]
    spec: dict[str, Any] = {key: value for key, value in seal.get("spec", {}).items() if value is not None}
    run: dict[str, Any] = {
        "run_id": seal["run_id"],
        "reason_code": seal.get("reason_code", ""),
        "reason": seal.get("reason", ""),
        "spec": spec,
        "state": seal["outcome"],
        "submitted_at": first,
        "updated_at": ended or first,
        "started_at": _stamp(seal.get("started_at")),
        "ended_at": ended,
        "attempt": max((attempt["attempt"] for attempt in attempts), default=0),
    }
    return {"run": run, "attempts": attempts}


def _attempt(run_id: str, attempt: dict[str, Any], first: float) -> dict[str, Any]:
    started, ended = _stamp(attempt.get("started_at")), _stamp(attempt.get("ended_at"))
    gpus = [{"gpu_id": gpu_id} for gpu_id in attempt.pop("gpu_ids", ())]
    return {
        **attempt,
        "run_id": run_id,
        "lease": {"cpus": 0.0, "memory_mb": 0, "gpus": gpus},
        "admitted_at": started or first,
        "lease_until": ended or started or first,
        "started_at": started,
        "ended_at": ended,
    }


def _stamp(moment: str | None) -> float | None:
    return None if moment is None else datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()
