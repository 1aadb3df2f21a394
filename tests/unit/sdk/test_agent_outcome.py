"""How an attempt ended, as a table."""

from __future__ import annotations

import pytest

from mosaic.agent.outcome import Ending, Evidence, judge
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


def test_the_reason_of_a_crash_is_what_the_worker_said_last() -> None:
    outcome = judge(Evidence(1, stderr_tail=("Traceback ...", "ValueError: no such env")))

    assert outcome.reason == "Traceback ...\nValueError: no such env (exit code 1)"


def test_a_reason_names_the_signal() -> None:
    assert judge(Evidence(-11)).reason == "ended by SIGSEGV"
