"""The end of an attempt: its last lines and its terminal report, finished together or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mosaic.agent.execution.artifacts import Artifact
from mosaic.agent.execution.attempt_store import AttemptHome, Checkpoint, FinalReport
from mosaic.agent.execution.outcome import Outcome
from mosaic.agent.telemetry.stream import Stream
from mosaic.model.attempt import Launch, Report

_REASON_LETTERS = 4000


def compose(
    launch: Launch,
    stream: Stream,
    outcome: Outcome,
    *,
    exit_code: int | None,
    checkpoint: Checkpoint | None,
    artifacts: Sequence[Artifact],
    placement: Mapping[str, Any],
) -> FinalReport:
    """Return the terminal report and the lines that close *stream*: what was found, and how it ended."""
    outcome = replace(outcome, reason=stream.mask(outcome.reason)[:_REASON_LETTERS])
    closing = [stream.line("artifact", _describe(artifact)) for artifact in artifacts]
    failure_kind = outcome.failure_kind.value if outcome.failure_kind else None
    ended = {
        "outcome": outcome.fact.value,
        "exit_code": exit_code,
        "failure_kind": failure_kind,
        "reason": outcome.reason or None,
        **placement,
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
        versions=placement.get("versions", {}),
    )
    return FinalReport(report, tuple(closing))


def finalize(home: AttemptHome, stream: Stream, final_report: FinalReport) -> None:
    """Save *final_report* and append the closing lines that are not in the spool yet.

    May be called again after it failed, or after the agent died in it: the outcome is the same.

    Raises:
        OSError: the disk is full.
    """
    home.save_final_report(final_report)
    missing = final_report.report.last_seq - stream.spool.last_seq
    if missing > 0:
        stream.append(b"".join(final_report.closing[-missing:]))
    stream.spool.flush()


def _describe(artifact: Artifact) -> dict[str, Any]:
    described = {
        "path": artifact.path,
        "kind": artifact.kind,
        "sha256": artifact.sha256,
        "size_bytes": artifact.size_bytes,
    }
    return described if artifact.content is None else {**described, "content": artifact.content}
