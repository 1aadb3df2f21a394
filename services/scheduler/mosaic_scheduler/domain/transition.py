"""Moving runs and attempts along their life cycle, with the history that each move leaves."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from mosaic.lifecycle import AttemptFact, RunFact, advance, is_terminal
from mosaic.model.attempt import Attempt, Directive
from mosaic.model.run import Change, Run


def move_run(
    run: Run, fact: RunFact, *, at: datetime, actor: str, detail: str = "", **changes: Any
) -> tuple[Run, Change]:
    """Return *run* after *fact*, with *changes* to its other fields, and the line of history.

    Raises:
        IllegalTransition: the fact cannot be true of the run as it stands.
    """
    after = advance(run.state, fact)
    if is_terminal(after):
        changes.setdefault("ended_at", at)
    moved = replace(run, state=after, updated_at=at, **changes)
    note = Change(run.run_id, moved.attempt, at, fact.value, run.state.value, after.value, actor, detail)
    return moved, note


def move_attempt(attempt: Attempt, fact: AttemptFact, *, at: datetime, **changes: Any) -> Attempt:
    """Return *attempt* after *fact*, with *changes* to its other fields.

    Raises:
        IllegalTransition: the fact cannot be true of the attempt as it stands.
    """
    after = advance(attempt.state, fact)
    if is_terminal(after):
        changes.setdefault("ended_at", at)
    return replace(attempt, state=after, **changes)


def request_of(directive: Directive) -> str:
    """Return what the history of a run calls it when a person asks for *directive*."""
    return f"{directive.value}_requested"


def placed(run: Run, attempt: Attempt | None) -> Run:
    """Return *run* with where the attempt that counts executes."""
    if attempt is None:
        return run
    return replace(run, agent_id=attempt.agent_id, node_id=attempt.node_id, gpu_ids=attempt.lease.gpu_ids)
