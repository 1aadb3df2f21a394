from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from mosaic.testing.checks import configuration, identity, repeating, running, stopping
from mosaic.testing.evidence import MidpointCheckpoint, Patience
from mosaic.testing.report import Outcome, Verdict
from mosaic.testing.subject import Subject
from mosaic.worker.trial.process import Finished
from mosaic.worker.trial.transcript import Line, Transcript


def event(kind: str, **payload: object) -> str:
    return json.dumps({"event": kind, "payload": payload, "run_id": "r", "timestamp": 1.0})


GOOD_RUN = (event("run_started"), event("metric", name="loss", step=1, value=0.5), event("run_completed"))


def a_run(
    *texts: str,
    exit_code: int = 0,
    stderr: str = "",
    run_dir: Path = Path("/nowhere"),
    was_killed: bool = False,
    survivors: tuple[int, ...] = (),
) -> Finished:
    transcript = Transcript(Line(text, float(index)) for index, text in enumerate(texts))
    return Finished(exit_code, transcript, stderr, 0.5, run_dir, was_killed, survivors)


def a_subject(**changes: Any) -> Subject:
    told: dict[str, Any] = {
        "name": "corridor",
        "package": "mosaic_corridor",
        "python": "python",
        "env": {},
        "launch": ("mosaic_corridor",),
        "is_driven": False,
        "entry_point": "mosaic_corridor:get_worker_metadata",
        "metadata": {
            "name": "Corridor",
            "version": "1.0.0",
            "description": "walks",
            "author": "someone",
            "homepage": "https://example.org",
            "license": "MIT",
        },
        "capabilities": {"worker_type": "corridor", "supported_paradigms": ["single_agent"], "max_agents": 1},
        "config": {"run_id": "r", "seed": 1},
    }
    return Subject(**{**told, **changes})


@dataclass
class CannedEvidence:
    """Stands in for Evidence: the runs a check asks for are given, not made."""

    subject: Subject = field(default_factory=a_subject)
    short_run: Finished = field(default_factory=lambda: a_run(*GOOD_RUN))
    repeated_run: Finished = field(default_factory=lambda: a_run(*GOOD_RUN))
    other_seed_run: Finished = field(default_factory=lambda: a_run(*GOOD_RUN))
    dry_run: Finished = field(default_factory=a_run)
    stopped_run: tuple[Finished, bool] = field(default_factory=lambda: (a_run(), True))
    faulted_run: tuple[Finished, bool] = field(default_factory=lambda: (a_run(), True))
    resumed_run: Finished = field(default_factory=a_run)
    midpoint: MidpointCheckpoint | None = None
    refused_run: Finished = field(default_factory=a_run)
    patience: Patience = field(default_factory=Patience)

    @property
    def config(self) -> Any:
        return self.subject.config

    def run_with_file(self, _label: str, _content: str | None) -> Finished:
        return self.refused_run


def failed_with(verdict: Verdict, words: str) -> bool:
    return verdict.outcome is Outcome.FAILED and words in verdict.sentence


def judged(check: Any, **evidence: Any) -> Verdict:
    verdict: Verdict = check(CannedEvidence(**evidence))
    return verdict


def test_a_worker_that_tells_all_about_itself_passes() -> None:
    assert Outcome.PASSED is judged(identity.discovery).outcome
    assert Outcome.PASSED is judged(identity.metadata).outcome
    assert Outcome.PASSED is judged(identity.capabilities).outcome


def test_every_fault_of_the_metadata_is_told_at_once() -> None:
    metadata = {**a_subject().metadata, "author": " ", "version": "newest", "license": "Apache"}

    verdict = judged(identity.metadata, subject=a_subject(metadata=metadata))

    assert failed_with(verdict, "author is empty")
    assert failed_with(verdict, "'newest' is not a version number")
    assert failed_with(verdict, "do you mean 'Apache-2.0'?")


def test_an_unknown_word_among_the_capabilities_gets_its_nearest_neighbour() -> None:
    capabilities = {"worker_type": "w", "supported_paradigms": ["sequentiel"], "max_agents": 0}

    verdict = judged(identity.capabilities, subject=a_subject(capabilities=capabilities))

    assert failed_with(verdict, "did you mean 'sequential'?")
    assert failed_with(verdict, "max_agents is 0")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((), "no lifecycle event was printed"),
        (
            (event("heartbeat"), event("run_started"), event("run_completed")),
            "first lifecycle event is heartbeat",
        ),
        ((event("run_started"), event("run_started"), event("run_completed")), "run_started came 2 times"),
        ((event("run_started"),), "0 terminal events (none), not one"),
        ((event("run_started"), event("run_completed"), event("run_failed")), "2 terminal events"),
        (
            (event("run_started"), event("run_completed"), event("metric")),
            "metric was printed after run_completed",
        ),
        ((event("run_started"), event("run_failed")), "exit code 0, but the last word was run_failed"),
    ],
)
def test_a_story_out_of_order_fails(lines: tuple[str, ...], words: str) -> None:
    assert failed_with(judged(running.lifecycle_order, short_run=a_run(*lines)), words)


def test_a_story_in_order_passes() -> None:
    assert Outcome.PASSED is judged(running.lifecycle_order).outcome


def test_an_event_of_another_run_is_not_clean() -> None:
    stranger = json.dumps({"event": "heartbeat", "payload": {}, "run_id": "other", "timestamp": 1.0})

    verdict = judged(running.stdout_hygiene, short_run=a_run(stranger))

    assert failed_with(verdict, "heartbeat is of run 'other', not 'r'")


def test_torn_lines_are_not_clean() -> None:
    verdict = judged(running.stdout_hygiene, short_run=a_run("tick" + event("heartbeat")))

    assert failed_with(verdict, "other text before the event")


def test_a_run_without_a_manifest_fails(tmp_path: Path) -> None:
    assert failed_with(judged(running.manifest, short_run=a_run(run_dir=tmp_path)), "no analytics.json")


def test_a_manifest_that_lists_what_is_not_there_fails(tmp_path: Path) -> None:
    checkpoints = {"directory": "checkpoints", "format": "json", "files": ["gone.json"]}
    document = {"run_id": "other", "worker_type": "w", "artifacts": {"checkpoints": checkpoints}}
    (tmp_path / "r_analytics.json").write_text(json.dumps(document))

    verdict = judged(running.manifest, short_run=a_run(run_dir=tmp_path))

    assert failed_with(verdict, "is of run 'other'")
    assert failed_with(verdict, "lists 'gone.json', which does not exist")


def test_a_manifest_may_name_its_checkpoints_relative_to_their_directory(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "kept.json").touch()
    checkpoints = {"directory": "checkpoints", "format": "json", "files": ["kept.json"]}
    document = {"run_id": "r", "worker_type": "w", "artifacts": {"checkpoints": checkpoints}}
    (tmp_path / "analytics.json").write_text(json.dumps(document))

    assert Outcome.PASSED is judged(running.manifest, short_run=a_run(run_dir=tmp_path)).outcome


def test_a_long_run_without_heartbeats_fails() -> None:
    assert failed_with(judged(running.heartbeat_cadence), "no heartbeat in 5 s")


def a_watched_run(*beats: float, stopped_at: float = 5.0) -> tuple[Finished, bool]:
    """Return a run that started at 0, whose heartbeats came at *beats*, and that was then told to stop."""
    lines = [Line(event("run_started"), 0.0), *(Line(event("heartbeat"), beat) for beat in beats)]
    return replace(a_run(), stdout=Transcript(lines), signalled_at_s=stopped_at), True


def test_heartbeats_as_often_as_asked_pass() -> None:
    verdict = judged(running.heartbeat_cadence, stopped_run=a_watched_run(1.0, 1.5, 2.0, 4.5))

    assert (Outcome.PASSED, "4 heartbeats, at most 2.5 s apart") == (verdict.outcome, verdict.sentence)


@pytest.mark.parametrize(
    ("beats", "stopped_at", "words"),
    [
        ((1.0,), 5.0, "4.0 s without a heartbeat"),
        ((1.0, 9.0, 17.0), 18.0, "8.0 s without a heartbeat"),
        ((6.0, 6.5), 7.0, "6.0 s without a heartbeat"),
        ((6.0,), 5.0, "no heartbeat in 5 s"),
    ],
    ids=["only one", "seldom", "late", "after the end"],
)
def test_heartbeats_that_come_less_often_than_asked_fail(
    beats: tuple[float, ...], stopped_at: float, words: str
) -> None:
    verdict = judged(running.heartbeat_cadence, stopped_run=a_watched_run(*beats, stopped_at=stopped_at))

    assert failed_with(verdict, words)


def test_heartbeats_of_a_run_that_cannot_be_made_long_are_not_judged() -> None:
    verdict = judged(running.heartbeat_cadence, stopped_run=(a_run(), False))

    assert Outcome.NOT_APPLICABLE is verdict.outcome


def test_a_failure_that_is_hidden_fails() -> None:
    hidden = (a_run(event("run_started"), event("run_completed")), True)

    verdict = judged(running.failure_path, faulted_run=hidden)

    assert failed_with(verdict, "exit code 0 after a failure")
    assert failed_with(verdict, "the last word was run_completed, not run_failed")


def test_a_failure_that_is_told_passes() -> None:
    told = (a_run(event("run_started"), event("run_failed", error="boom"), exit_code=1), True)

    assert Outcome.PASSED is judged(running.failure_path, faulted_run=told).outcome


def test_a_worker_that_must_be_killed_fails() -> None:
    verdict = judged(stopping.sigterm, stopped_run=(a_run(was_killed=True, exit_code=-9), True))

    assert failed_with(verdict, "did not end within 10 s")


def test_a_worker_that_leaves_processes_behind_fails() -> None:
    verdict = judged(stopping.sigterm, stopped_run=(a_run(exit_code=-15, survivors=(7, 8)), True))

    assert failed_with(verdict, "2 of its processes outlived it")


def test_a_stoppable_worker_must_say_that_it_was_cancelled() -> None:
    subject = a_subject(methods=frozenset({"request_stop"}))

    silent = judged(stopping.sigterm, subject=subject, stopped_run=(a_run(exit_code=-15), True))
    told = judged(stopping.sigterm, subject=subject, stopped_run=(a_run(event("run_cancelled")), True))

    assert failed_with(silent, "its last word must be run_cancelled, not nothing")
    assert Outcome.PASSED is told.outcome


def test_a_plain_worker_may_die_of_the_signal_without_a_word() -> None:
    verdict = judged(stopping.sigterm, stopped_run=(a_run(exit_code=-15), True))

    assert Outcome.PASSED is verdict.outcome


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (a_run(exit_code=0, stderr="fine"), "exit code 0, not 2"),
        (a_run(exit_code=2), "no message on stderr"),
        (
            a_run(exit_code=2, stderr="Traceback (most recent call last)\nKeyError: 'x'"),
            "a traceback instead",
        ),
        (a_run(event("run_started"), exit_code=2, stderr="bad"), "run_started was printed before"),
        (a_run(exit_code=-9, stderr="x", was_killed=True), "still running"),
    ],
)
def test_bad_input_that_is_not_refused_well_fails(run: Finished, words: str) -> None:
    assert failed_with(judged(configuration.refusal_of("not JSON"), refused_run=run), words)


def test_files_left_by_a_refused_run_fail(tmp_path: Path) -> None:
    (tmp_path / "half.json").touch()
    run = a_run(exit_code=2, stderr="bad", run_dir=tmp_path)

    assert failed_with(
        judged(configuration.refusal_of("not JSON"), refused_run=run), "files were left behind: half.json"
    )


def test_a_well_refused_input_passes_with_its_message() -> None:
    run = a_run(exit_code=2, stderr="config.json: is not JSON")

    verdict = judged(configuration.refusal_of("not JSON"), refused_run=run)

    assert Verdict(Outcome.PASSED, "config.json: is not JSON") == verdict


def test_negative_steps_are_not_asked_of_a_worker_without_steps() -> None:
    assert Outcome.NOT_APPLICABLE is judged(configuration.refusal_of("negative steps")).outcome


def test_a_worker_without_dry_run_is_not_judged_on_it() -> None:
    run = a_run(exit_code=2, stderr="error: unrecognized arguments: --dry-run")

    assert Outcome.NOT_APPLICABLE is judged(configuration.dry_run, dry_run=run).outcome


def test_a_dry_run_that_trains_fails() -> None:
    assert failed_with(judged(configuration.dry_run, dry_run=a_run(*GOOD_RUN)), "it trained")


def test_a_seed_that_changes_nothing_fails() -> None:
    assert failed_with(judged(repeating.another_seed), "the seed is not used")


def test_a_seed_that_does_not_repeat_fails_with_the_first_difference() -> None:
    drifted = a_run(event("metric", name="loss", step=1, value=0.25))

    verdict = judged(repeating.same_seed, repeated_run=drifted)

    assert failed_with(verdict, "loss=0.5 at 1 against loss=0.25 at 1")


def test_a_run_without_a_seed_promises_nothing() -> None:
    verdict = judged(repeating.same_seed, subject=a_subject(config={"run_id": "r", "seed": None}))

    assert Outcome.NOT_APPLICABLE is verdict.outcome


WHOLE = [("loss", step, 1.0 / step) for step in range(1, 9)]


@pytest.mark.parametrize(
    ("resumed", "outcome", "words"),
    [
        (WHOLE[4:], Outcome.PASSED, "grade A"),
        ([("loss", step, 1.0 / step + 0.001) for step in range(5, 9)], Outcome.PASSED, "grade B"),
        (WHOLE, Outcome.FAILED, "grade C"),
        ([("loss", step, 50.0) for step in range(5, 9)], Outcome.FAILED, "unlike the uninterrupted run"),
        ([], Outcome.FAILED, "unlike the uninterrupted run"),
    ],
)
def test_a_continuation_is_graded_by_how_exact_it_is(resumed: Any, outcome: Outcome, words: str) -> None:
    verdict = repeating.graded(WHOLE, 4, resumed)

    assert outcome is verdict.outcome
    assert words in verdict.sentence


def test_what_is_unlike_is_named_by_its_series_with_both_means_and_the_rule() -> None:
    whole = [*WHOLE, *(("return", step, 10.0 * step) for step in range(1, 9))]
    resumed = [
        *(("loss", step, 50.0) for step in range(5, 9)),
        *(("return", step, 10.0 * step) for step in range(5, 9)),
    ]

    said = repeating.graded(whole, 4, resumed).sentence

    assert "series 'loss' has a mean of 50 after the checkpoint and of 0.158631 in the uninterrupted run" in said
    assert "series 'return'" not in said
    assert repeating.RULE_OF_GRADE_B in said


def test_a_series_that_ends_with_the_checkpoint_is_named() -> None:
    said = repeating.graded([*WHOLE, ("norm", 8, 1.0)], 4, WHOLE[4:]).sentence

    assert "series 'norm' has 1 values in the uninterrupted run and none after the checkpoint" in said


SIMILAR = [("loss", step, 1.0 / step + 0.001) for step in range(5, 9)]


@pytest.mark.parametrize(
    ("declared", "resumed", "outcome", "words"),
    [
        (None, WHOLE[4:], Outcome.PASSED, "declare resume_grade='A'"),
        ("A", WHOLE[4:], Outcome.PASSED, "grade A"),
        ("B", WHOLE[4:], Outcome.PASSED, "grade A"),
        ("A", SIMILAR, Outcome.FAILED, "grade B, but resume_grade='A' is declared: declare 'B'"),
        ("B", SIMILAR, Outcome.PASSED, "grade B"),
        ("B", WHOLE, Outcome.FAILED, "grade C"),
    ],
)
def test_a_declared_grade_is_held_against_the_measured_one(
    declared: str | None, resumed: Any, outcome: Outcome, words: str
) -> None:
    verdict = repeating.graded(WHOLE, 4, resumed, declared=declared)

    assert outcome is verdict.outcome
    assert words in verdict.sentence


def test_a_grade_that_nothing_proves_is_a_fault() -> None:
    subject = a_subject(capabilities={"worker_type": "x", "resume_grade": "A"})

    assert failed_with(judged(repeating.resume, subject=subject), "resume_grade='A' is declared, but nothing proves it")


def test_a_grade_is_one_of_three_letters() -> None:
    subject = a_subject(capabilities={"worker_type": "x", "supported_paradigms": ("training",), "resume_grade": "D"})

    assert failed_with(judged(identity.capabilities, subject=subject), "resume_grade is 'D'; it is A, B, C or None")


def _episodes(first_index: int, *returns: float) -> list[Any]:
    return [(f"episode {first_index + at} total_reward", at, value) for at, value in enumerate(returns)]


@pytest.mark.parametrize(
    ("resumed", "outcome"),
    [
        (_episodes(2, 20.0, 40.0), Outcome.PASSED),
        (_episodes(7, 30.0, 22.0, 33.0), Outcome.PASSED),
        (_episodes(2, 400.0, 410.0), Outcome.FAILED),
    ],
    ids=["other returns", "another number of episodes", "returns of another policy"],
)
def test_a_continuation_is_judged_by_all_its_episodes_together(resumed: Any, outcome: Outcome) -> None:
    whole = _episodes(0, 9.0, 11.0, 40.0, 20.0)

    assert outcome is repeating.graded(whole, 2, resumed).outcome


def test_a_worker_that_cannot_resume_has_grade_c_and_no_fault() -> None:
    verdict = judged(repeating.resume)

    assert Outcome.NOT_APPLICABLE is verdict.outcome
    assert "grade C" in verdict.sentence


def test_a_resumable_worker_must_save_something_midway() -> None:
    verdict = judged(repeating.resume, subject=a_subject(methods=frozenset({"resume_from"})))

    assert failed_with(verdict, "saved no checkpoint before its end")
