"""What telemetry is told about an ended run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mosaic.lifecycle import is_terminal
from mosaic.model.attempt import Attempt, RunFinished
from mosaic.model.run import Run


def run_finished(run: Run, attempts: Iterable[Attempt]) -> RunFinished:
    """Return *run* and how its attempts ended, without what no manifest shows."""
    # Names of secrets, the environment and digests of tokens stay here.
    public = replace(run, spec=replace(run.spec, secrets={}, environment={}))
    ended = (replace(attempt, control_digest="") for attempt in attempts if is_terminal(attempt.state))
    return RunFinished(public, tuple(ended))
