"""Moving runs and attempts along their life cycle, with the history that each move leaves."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from mosaic.lifecycle import AttemptFact, RunFact, advance, is_terminal
from mosaic_scheduler.domain.entries import AttemptEntry, HistoryEntry, RunEntry


def move_run(
    entry: RunEntry, fact: RunFact, *, at: datetime, actor: str, detail: str = "", **changes: Any
) -> tuple[RunEntry, HistoryEntry]:
    """Return *entry* after *fact*, with *changes* to its other fields, and the line of history.

    Raises:
        IllegalTransition: the fact cannot be true of the run as it stands.
    """
    after = advance(entry.state, fact)
    if is_terminal(after):
        changes.setdefault("ended_at", at)
    moved = replace(entry, state=after, updated_at=at, **changes)
    note = HistoryEntry(entry.run_id, moved.attempt, at, fact.value, entry.state.value, after.value, actor, detail)
    return moved, note


def move_attempt(entry: AttemptEntry, fact: AttemptFact, *, at: datetime, **changes: Any) -> AttemptEntry:
    """Return *entry* after *fact*, with *changes* to its other fields.

    Raises:
        IllegalTransition: the fact cannot be true of the attempt as it stands.
    """
    after = advance(entry.state, fact)
    if is_terminal(after):
        changes.setdefault("ended_at", at)
    return replace(entry, state=after, **changes)
