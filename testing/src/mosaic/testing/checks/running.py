"""A real run tells its story in order and cleanly, and leaves a manifest."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from mosaic.testing.evidence import Evidence
from mosaic.testing.report import Verdict, failed, judged, not_applicable, passed
from mosaic.worker import WorkerAnalyticsManifest
from mosaic.worker.emitter import TERMINAL_EVENTS
from mosaic.worker.trial.process import Finished
from mosaic.worker.trial.transcript import EVENT_KEYS, LIFECYCLE_EVENTS, payload_of


def lifecycle_order(evidence: Evidence) -> Verdict:
    """One start, then work, then one end, and nothing after it."""
    run = evidence.short_run
    names = run.stdout.lifecycle
    if not names:
        return failed("no lifecycle event was printed; emit them with mosaic.worker.TelemetryEmitter")
    kinds = [event["event"] for event in run.stdout.events]
    faults = [] if names[0] == "run_started" else [f"the first lifecycle event is {names[0]}, not run_started"]
    faults += [f"run_started came {names.count('run_started')} times"] * (names.count("run_started") != 1)
    ends = [name for name in names if name in TERMINAL_EVENTS]
    faults += [f"{len(ends)} terminal events ({', '.join(ends) or 'none'}), not one"] * (len(ends) != 1)
    if ends and kinds[-1] not in TERMINAL_EVENTS:
        faults.append(f"{kinds[-1]} was printed after {ends[-1]}")
    if run.exit_code == 0 and ends and ends[-1] != "run_completed":
        faults.append(f"exit code 0, but the last word was {ends[-1]}")
    return judged(faults, f"{' → '.join(_squeezed(names))}, exit code {run.exit_code}")


def stdout_hygiene(evidence: Evidence) -> Verdict:
    """What looks like an event is one, whole, on a line of its own, and of this run."""
    run = evidence.short_run
    torn = [fault for line in run.stdout.lines if (fault := line.fault())]
    strange = [fault for event in run.stdout.events for fault in _envelope_faults(event, evidence.config)]
    chatter = sum(line.event is None for line in run.stdout.lines)
    faults = [*torn[:3], *list(dict.fromkeys(strange))[:3]]
    return judged(faults, f"{len(run.stdout.events)} events and {chatter} lines of text, none torn")


def manifest(evidence: Evidence) -> Verdict:
    """A manifest says truly what the run left behind."""
    run = evidence.short_run
    path = _manifest_path(run)
    if path is None:
        return failed("no analytics.json, *_analytics.json or analytics_manifest path in the run directory")
    try:
        loaded = WorkerAnalyticsManifest.load(path)
    except Exception as error:
        return failed(f"{path.name} cannot be loaded: {type(error).__name__}: {error}")
    faults = []
    if loaded.run_id != evidence.config["run_id"]:
        faults.append(f"{path.name} is of run {loaded.run_id!r}, not {evidence.config['run_id']!r}")
    faults += [f"it lists {name!r}, which does not exist" for name in _missing_files(loaded, run.run_dir)]
    return judged(faults, f"{path.name} loads and what it lists exists")


def heartbeat_cadence(evidence: Evidence) -> Verdict:
    """A long run says regularly that it is alive."""
    run, was_alive = evidence.stopped_run
    if not was_alive:
        return not_applicable("even a long run ended at once; name its length field total_timesteps or the like")
    asked_s, late_s = evidence.patience.heartbeat_s, evidence.patience.heartbeat_late_s
    stopped_at = run.signalled_at_s or 0.0
    beats = [at_s for at_s in run.stdout.times_of("heartbeat") if at_s <= stopped_at]
    started_at = run.stdout.times_of("run_started")[:1]
    pauses = [later - earlier for earlier, later in pairwise([*started_at, *beats, stopped_at])]
    if beats and max(pauses) <= late_s:
        return passed(f"{len(beats)} heartbeats, at most {max(pauses):.1f} s apart")
    seen = f"{max(pauses):.1f} s without a heartbeat" if beats else f"no heartbeat in {evidence.patience.watch_s:g} s"
    return failed(
        f"{seen} although MOSAIC_HEARTBEAT_S asks for one every {asked_s:g} s; start it with "
        "mosaic.worker.run_worker, or call emitter.heartbeat() in the training loop"
    )


def failure_path(evidence: Evidence) -> Verdict:
    """A failure in the middle of training is told and gives a non-zero exit code."""
    run, was_alive = evidence.faulted_run
    if not was_alive:
        return not_applicable("even a long run ended before a fault could be raised in it")
    if run.was_killed:
        return failed("an exception raised in its main thread did not end it; let it through")
    faults = [] if run.exit_code != 0 else ["exit code 0 after a failure"]
    if run.stdout.terminal != "run_failed":
        faults.append(f"the last word was {run.stdout.terminal or 'missing'}, not run_failed")
    elif not any(payload_of(event).get("error") for event in run.stdout.of_kind("run_failed")):
        faults.append("run_failed carries no error text")
    return judged(faults, f"run_failed and exit code {run.exit_code}")


def _squeezed(names: list[str]) -> list[str]:
    return [name for index, name in enumerate(names) if index == 0 or names[index - 1] != name]


def _envelope_faults(event: dict[str, Any], config: Any) -> list[str]:
    if event["event"] not in LIFECYCLE_EVENTS:
        return []
    faults = [f"{event['event']} has no {key!r}" for key in sorted(EVENT_KEYS - event.keys())]
    if event.get("run_id") != config["run_id"]:
        faults.append(f"{event['event']} is of run {event.get('run_id')!r}, not {config['run_id']!r}")
    if not isinstance(event.get("timestamp"), (int, float)):
        faults.append(f"{event['event']} has the timestamp {event.get('timestamp')!r}, not seconds since 1970")
    return faults


def _manifest_path(run: Finished) -> Path | None:
    told = [payload_of(event).get("analytics_manifest") for event in run.stdout.of_kind("run_completed")]
    candidates = [run.run_dir / "analytics.json", *sorted(run.run_dir.rglob("*analytics.json"))]
    candidates += [run.run_dir / path for path in told if isinstance(path, str)]
    return next((path for path in candidates if path.is_file()), None)


def _missing_files(loaded: WorkerAnalyticsManifest, run_dir: Path) -> list[str]:
    checkpoints = loaded.artifacts.checkpoints
    if checkpoints is None:
        return []
    listed = [*checkpoints.files, checkpoints.best_checkpoint, checkpoints.final_checkpoint]
    roots = (run_dir, run_dir / (checkpoints.directory or "."))
    return [name for name in dict.fromkeys(listed) if name and not any((root / name).exists() for root in roots)]
