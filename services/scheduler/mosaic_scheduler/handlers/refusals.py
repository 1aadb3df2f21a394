"""Refusals in the audit trail."""

from __future__ import annotations

from dataclasses import replace

from mosaic.ids import RunId
from mosaic.model.audit import AuditEntry
from mosaic_scheduler.ports import RunStore


def note_refusal(refused: AuditEntry, *, store: RunStore) -> None:
    """Write down what was refused, for the team whose run or terms it was about to read too."""
    with store.read() as work:
        run, teams = work.run(RunId(refused.target)), [team.name for team in work.teams()]
    team = run.spec.team if run else refused.target if refused.target in teams else ""
    store.note(replace(refused, team=team))
