"""How an attempt ended, as a table."""

from __future__ import annotations

import pytest

from mosaic.agent.execution.outcome import Ending, Evidence, judge
from mosaic.lifecycle import AttemptFact, FailureKind

CASES = {
    "a clean exit with a last word is a success": (
        Evidence(0, last_word="run_completed"),
        ("succeeded", None),
    ),
    "a clean exit without any life cycle is a success": (Evidence(0), ("succeeded", None)),
    "a worker that says it failed has failed, whatever its exit code": (
        Evidence(0, last_word="run_failed", last_error="diverged"),
        ("failed", "crash"),
    ),
    "exit code 2 is a config error": (Evidence(2), ("failed", "config_error")),
    "exit code 1 is a crash": (Evidence(1), ("failed", "crash")),
    "a signal that nobody sent is a crash": (Evidence(-9), ("failed", "crash")),
    "a segmentation fault is a crash": (Evidence(-11), ("failed", "crash")),
    "SIGKILL while the kernel killed for memory is out of memory": (
        Evidence(-9, oom_killed=True),
        ("failed", "out_of_memory"),
    ),
    "a shell reports the kernel's kill as 137": (
        Evidence(137, oom_killed=True),
        ("failed", "out_of_memory"),
    ),
    "the words of an exhausted GPU are out of memory": (
        Evidence(1, stderr_tail=("torch.OutOfMemoryError: CUDA out of memory.",)),
        ("failed", "out_of_memory"),
    ),
    "what is cancelled is cancelled, however it exits": (
        Evidence(143, ending=Ending.CANCEL, last_word="run_cancelled"),
        ("cancelled", None),
    ),
    "a cancelled worker that had finished succeeded": (
        Evidence(0, ending=Ending.CANCEL, last_word="run_completed"),
        ("succeeded", None),
    ),
    "what is preempted is preempted": (Evidence(-15, ending=Ending.PREEMPT), ("preempted", None)),
    "silence is hung": (Evidence(-9, ending=Ending.HUNG, limit_s=5), ("failed", "hung")),
    "time runs out": (Evidence(-15, ending=Ending.TIME_LIMIT, limit_s=5), ("failed", "time_limit")),
    "what cannot be started is not the worker's fault": (
        Evidence(None, start_fault="no such file"),
        ("failed", "infrastructure"),
    ),
    "what no longer counts is lost": (Evidence(-9, ending=Ending.ABANDON), ("lost", None)),
}


@pytest.mark.parametrize("sentence", CASES)
def test_judgement(sentence: str) -> None:
    evidence, (fact, kind) = CASES[sentence]

    outcome = judge(evidence)

    assert AttemptFact(fact) is outcome.fact
    assert (FailureKind(kind) if kind else None) is outcome.failure_kind


def first_line(evidence: Evidence) -> str:
    return judge(evidence).reason.partition("\n")[0]


def test_what_the_worker_said_goes_before_what_it_printed() -> None:
    tail = ("Traceback (most recent call last):", "KeyError: 'x'")
    evidence = Evidence(1, last_word="run_failed", last_error="diverged", error_type="Diverged", stderr_tail=tail)

    assert "Diverged: diverged" == first_line(evidence)
    assert judge(evidence).reason.endswith("KeyError: 'x'")


@pytest.mark.parametrize("name", ["BadInput", "SystemExit", ""])
def test_names_that_say_nothing_are_left_out(name: str) -> None:
    assert "env_id: no such" == first_line(Evidence(2, last_error="env_id: no such", error_type=name))


def test_an_error_without_a_message_is_told_by_its_place() -> None:
    trace = 'Traceback (most recent call last):\n  File "/a/loop.py", line 7, in run\n    assert x\nAssertionError\n'

    assert "AssertionError at loop.py:7" == first_line(Evidence(1, error_type="AssertionError", traceback=trace))


def test_an_unusual_exit_is_named_with_what_was_said() -> None:
    assert "ValueError: odd (exit code 3)" == first_line(Evidence(3, last_error="odd", error_type="ValueError"))
    assert "no device (ended by SIGABRT)" == first_line(Evidence(-6, stderr_tail=("  what():  no device",)))


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (-11, "ended by SIGSEGV: native code touched memory that is not its own"),
        (143, "ended by SIGTERM: somebody asked it to end; the platform did not"),
        (-10, "ended by SIGUSR1"),
        (-35, "ended by signal 35: it did not say why"),
        (1, "exit code 1: it did not say why"),
    ],
)
def test_an_exit_without_a_word_is_told_by_itself(code: int, sentence: str) -> None:
    assert sentence == judge(Evidence(code)).reason


def test_what_led_to_an_exception_tells_its_kind() -> None:
    """A library may wrap the lack of memory in an error of its own."""
    trace = (
        "Traceback (most recent call last):",
        "MemoryError",
        "The above exception was the direct cause of the following exception:",
        "Traceback (most recent call last):",
        "EnvironmentFailed: in step()",
    )
    survived = (
        "Traceback (most recent call last):",
        "MemoryError",
        "Traceback (most recent call last):",
        "KeyError: 1",
    )

    assert FailureKind.OUT_OF_MEMORY is judge(Evidence(1, stderr_tail=trace)).failure_kind
    assert FailureKind.CRASH is judge(Evidence(1, stderr_tail=survived)).failure_kind


def test_a_full_disk_is_not_the_fault_of_the_run() -> None:
    outcome = judge(Evidence(1, last_error="[Errno 28] No space left on device: 'x'", error_type="OSError"))

    assert FailureKind.INFRASTRUCTURE is outcome.failure_kind
    assert "the disk is full: OSError: [Errno 28] No space left on device: 'x'" == outcome.reason


def test_a_reason_is_bounded_and_keeps_the_end_of_its_context() -> None:
    outcome = judge(Evidence(1, last_error="x" * 9000, stderr_tail=("y" * 500,) * 200 + ("the end",)))

    assert len(outcome.reason) < 4000
    assert outcome.reason.endswith("the end")
