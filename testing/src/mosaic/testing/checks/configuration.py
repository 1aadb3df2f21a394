"""The worker takes the configs it should and refuses the others well."""

from __future__ import annotations

import json
from collections.abc import Callable

from mosaic.testing.evidence import Evidence
from mosaic.testing.report import Verdict, failed, judged, not_applicable, passed
from mosaic.worker.trial.process import Finished
from mosaic.worker.trial.short_config import length_fields, misnested
from mosaic.worker.trial.transcript import clipped

CONFIG_ERROR = 2


def round_trip(evidence: Evidence) -> Verdict:
    """``from_dict`` and ``to_dict`` are each other's inverse, through JSON."""
    if evidence.subject.config_fault:
        return not_applicable(f"its config class could not be found: {evidence.subject.config_fault}")
    config = evidence.config
    return judged(
        list(evidence.subject.round_trip_faults),
        f"{len(config)} fields taken from {evidence.subject.config_source} came back unchanged",
    )


def nested_config(evidence: Evidence) -> Verdict:
    """The config of a whole run request is understood."""
    return _accepted(evidence.nested_run)


def direct_config(evidence: Evidence) -> Verdict:
    """The form that the fleet hands over, and that people write by hand, is understood."""
    return _accepted(evidence.short_run)


def dry_run(evidence: Evidence) -> Verdict:
    """``--dry-run`` checks the config and trains nothing."""
    run = evidence.dry_run
    if run.refused_option("--dry-run"):
        return not_applicable("it has no --dry-run")
    faults = [] if run.exit_code == 0 else [f"it ended with exit code {run.exit_code}: {run.last_words()}"]
    if run.stdout.points():
        faults.append("it trained: metrics or episodes were printed")
    if run.stdout.of_kind("checkpoint_saved"):
        faults.append("it saved a checkpoint")
    return judged(faults, f"checked and ended in {run.seconds:.1f} s")


def _accepted(run: Finished) -> Verdict:
    if run.was_killed:
        return failed(
            f"the short run did not end within {run.seconds:.0f} s; offer a shorter one by get_check_config()"
        )
    if run.exit_code != 0:
        return failed(f"it ended with exit code {run.exit_code}: {run.last_words()}")
    return passed(f"ran to its end in {run.seconds:.1f} s")


def _missing_file(_evidence: Evidence) -> None:
    return None


def _not_json(_evidence: Evidence) -> str:
    return '{"run_id": "check", '


def _wrong_type(evidence: Evidence) -> str:
    field = (length_fields(evidence.subject.schema) or ["seed"])[0]
    return json.dumps({**evidence.config, field: "many"})


def _unknown_field(evidence: Evidence) -> str:
    return json.dumps({**evidence.config, "lerning_rate": 0.1})


def _wrong_nesting(evidence: Evidence) -> str:
    return json.dumps(misnested(evidence.config))


def _empty_run_id(evidence: Evidence) -> str:
    return json.dumps({**evidence.config, "run_id": ""})


def _negative_steps(evidence: Evidence) -> str:
    field = length_fields(evidence.subject.schema)[0]
    return json.dumps({**evidence.config, field: -5})


#: Each kind of bad input and the file that shows it; None stands for no file.
BAD_INPUTS: dict[str, Callable[[Evidence], str | None]] = {
    "missing file": _missing_file,
    "not JSON": _not_json,
    "wrong type": _wrong_type,
    "unknown field": _unknown_field,
    "wrong nesting": _wrong_nesting,
    "empty run_id": _empty_run_id,
    "negative steps": _negative_steps,
}


def refusal_of(kind: str) -> Callable[[Evidence], Verdict]:
    """Return the check that bad input of this *kind* is refused with one clear message."""

    def refusal(evidence: Evidence) -> Verdict:
        if kind == "negative steps" and not length_fields(evidence.subject.schema):
            return not_applicable("no field of its schema says how long a run is")
        run = evidence.run_with_file(f"bad-{kind.replace(' ', '-')}", BAD_INPUTS[kind](evidence))
        return judged(_refusal_faults(run), clipped(run.stderr.replace(f"{run.run_dir.parent}/", ""), 110))

    refusal.__doc__ = f"Bad input ({kind}) ends with exit code 2 and one message, and leaves nothing behind."
    return refusal


def _refusal_faults(run: Finished) -> list[str]:
    faults = []
    if run.was_killed:
        faults.append(f"it was still running after {run.seconds:.0f} s")
    elif run.exit_code != CONFIG_ERROR:
        faults.append(f"exit code {run.exit_code}, not 2")
    if "Traceback (most recent call last)" in run.stderr:
        faults.append(f"a traceback instead of one message: {run.last_words()}")
    if not run.stderr.strip():
        faults.append("no message on stderr")
    if run.stdout.of_kind("run_started"):
        faults.append("run_started was printed before the config was checked")
    if run.files():
        faults.append(f"files were left behind: {', '.join(run.files()[:3])}")
    return faults
