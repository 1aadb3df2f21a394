"""The end of an attempt: its last lines and its terminal report, finished together or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mosaic.agent.artifacts import Artifact
from mosaic.agent.ledger import AttemptHome, Checkpoint, Farewell
from mosaic.agent.outcome import Outcome
from mosaic.agent.ports import Launch, Report
from mosaic.agent.stream import Stream

_REASON_LETTERS = 4000


def compose(
    launch: Launch,
    stream: Stream,
    outcome: Outcome,
    *,
    exit_code: int | None,
    checkpoint: Checkpoint | None,
    artifacts: Sequence[Artifact],
    whereabouts: Mapping[str, Any],
) -> Farewell:
    """Return the terminal report and the lines that close *stream*: what was found, and how it ended."""
    outcome = replace(outcome, reason=stream.mask(outcome.reason)[:_REASON_LETTERS])
    closing = [stream.line("artifact", _describe(artifact)) for artifact in artifacts]
    failure_kind = outcome.failure_kind.value if outcome.failure_kind else None
    ended = {
        "outcome": outcome.fact.value,
        "exit_code": exit_code,
        "failure_kind": failure_kind,
        "reason": outcome.reason or None,
        **whereabouts,
    }
    closing.append(stream.line("attempt_ended", ended))
    report = Report(
        launch.run_id,
        launch.attempt,
        launch.control_token,
        outcome.fact.value,
        failure_kind=failure_kind or "",
        reason=outcome.reason,
        exit_code=exit_code,
        last_seq=stream.spool.last_seq + len(closing),
        checkpoint=checkpoint.path if checkpoint else "",
        checkpoint_at=checkpoint.saved_at if checkpoint else None,
        versions=whereabouts.get("versions", {}),
    )
    return Farewell(report, tuple(closing))


def close_books(home: AttemptHome, stream: Stream, farewell: Farewell) -> None:
    """Save *farewell* and append the closing lines that are not in the spool yet.

    May be called again after it failed, or after the agent died in it: the outcome is the same.

    Raises:
        OSError: the disk is full.
    """
    home.save_farewell(farewell)
    missing = farewell.report.last_seq - stream.spool.last_seq
    if missing > 0:
        stream.append(b"".join(farewell.closing[-missing:]))
    stream.spool.flush()


def _describe(artifact: Artifact) -> dict[str, Any]:
    described = {
        "path": artifact.path,
        "kind": artifact.kind,
        "sha256": artifact.sha256,
        "size_bytes": artifact.size_bytes,
    }
    return described if artifact.content is None else {**described, "content": artifact.content}
