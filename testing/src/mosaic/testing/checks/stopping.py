"""The worker ends when it is asked to."""

from __future__ import annotations

from mosaic.testing.evidence import Evidence
from mosaic.testing.report import Verdict, judged, not_applicable


def sigterm(evidence: Evidence) -> Verdict:
    """SIGTERM ends the run within the grace period; a Stoppable worker says that it was cancelled."""
    run, was_alive = evidence.stopped_run
    if not was_alive:
        return not_applicable("even a long run ended before the signal was sent; name its length field total_timesteps")
    if run.was_killed:
        return judged([f"it did not end within {evidence.patience.grace_s:g} s and had to be killed"], "")
    faults = []
    if run.survivors:
        faults.append(f"{len(run.survivors)} of its processes outlived it: stop what you start")
    if "request_stop" in evidence.subject.methods and run.stdout.terminal != "run_cancelled":
        faults.append(f"with request_stop its last word must be run_cancelled, not {run.stdout.terminal or 'nothing'}")
    if run.stdout.terminal == "run_failed":
        faults.append("a stop is not a failure: emit run_cancelled")
    told = run.stdout.terminal or "no last word (it does not offer request_stop)"
    saved = len(run.stdout.of_kind("checkpoint_saved"))
    return judged(faults, f"ended {run.seconds:.1f} s after the signal: {told}, {saved} checkpoints kept")
