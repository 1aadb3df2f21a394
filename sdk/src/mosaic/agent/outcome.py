"""How an attempt ended, judged from what the agent saw: pure."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from enum import Enum

from mosaic.lifecycle import AttemptFact, FailureKind


class Ending(Enum):
    """Why the agent itself ended a child."""

    CANCEL = "cancel"
    PREEMPT = "preempt"
    HUNG = "hung"
    TIME_LIMIT = "time_limit"
    ABANDON = "abandon"  #: the attempt no longer counts; nobody is told


@dataclass(frozen=True)
class Evidence:
    """All that the judgement may look at."""

    #: Negative when a signal ended the child; None when it never started.
    exit_code: int | None
    #: What the agent did to it, if anything.
    ending: Ending | None = None
    #: The last lifecycle line of the worker that closes a run, if any.
    last_word: str | None = None
    #: What the worker gave as its error.
    last_error: str = ""
    #: The newest lines of its stderr.
    stderr_tail: tuple[str, ...] = ()
    #: The kernel killed something of ours for memory while it ran.
    oom_killed: bool = False
    #: Why it could not be started.
    start_fault: str = ""
    limit_s: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """The terminal fact about an attempt."""

    fact: AttemptFact
    failure_kind: FailureKind | None = None
    reason: str = ""


_EXIT_CONFIG_ERROR = 2
_MEMORY_WORDS = re.compile(r"\b(MemoryError|OutOfMemoryError|CUDA out of memory|Cannot allocate memory)\b")


def judge(evidence: Evidence) -> Outcome:
    """Return how the attempt ended."""
    if evidence.start_fault:
        return _failed(FailureKind.INFRASTRUCTURE, f"the worker could not be started: {evidence.start_fault}")
    if evidence.ending is not None:
        return _ended_by_us(evidence, evidence.ending)
    if evidence.exit_code == 0:
        return _judge_clean_exit(evidence)
    return _judge_failure(evidence)


def _ended_by_us(evidence: Evidence, ending: Ending) -> Outcome:
    # A worker that reached its end before the signal did has succeeded, whatever was wanted of it.
    if evidence.exit_code == 0 and evidence.last_word == "run_completed" and ending is not Ending.ABANDON:
        return Outcome(AttemptFact.SUCCEEDED)
    if ending is Ending.HUNG:
        return _failed(FailureKind.HUNG, f"it said nothing but that it lives for {evidence.limit_s:g} s")
    if ending is Ending.TIME_LIMIT:
        return _failed(FailureKind.TIME_LIMIT, f"it ran longer than its limit of {evidence.limit_s:g} s")
    facts = {Ending.CANCEL: AttemptFact.CANCELLED, Ending.PREEMPT: AttemptFact.PREEMPTED}
    return Outcome(facts.get(ending, AttemptFact.LOST))


def _judge_clean_exit(evidence: Evidence) -> Outcome:
    if evidence.last_word == "run_failed":
        return _failed(FailureKind.CRASH, _why(evidence, "the worker said that it failed, then exited with 0"))
    if evidence.last_word == "run_cancelled":
        return _failed(FailureKind.CRASH, "the worker cancelled itself; nobody had asked it to")
    return Outcome(AttemptFact.SUCCEEDED)


def _judge_failure(evidence: Evidence) -> Outcome:
    code = evidence.exit_code
    if code == _EXIT_CONFIG_ERROR:
        return _failed(FailureKind.CONFIG_ERROR, _why(evidence, "the worker refused its config (exit code 2)"))
    if evidence.oom_killed and code in (-signal.SIGKILL, 128 + signal.SIGKILL):
        return _failed(FailureKind.OUT_OF_MEMORY, "the kernel killed it: it used more memory than there is")
    if _MEMORY_WORDS.search("\n".join((evidence.last_error, *evidence.stderr_tail))):
        return _failed(FailureKind.OUT_OF_MEMORY, _why(evidence, "it ran out of memory"))
    return _failed(FailureKind.CRASH, _why(evidence, _describe_exit(code)))


def _failed(kind: FailureKind, reason: str) -> Outcome:
    return Outcome(AttemptFact.FAILED, kind, reason)


def _why(evidence: Evidence, fallback: str) -> str:
    said = evidence.last_error or "\n".join(evidence.stderr_tail).strip()
    return f"{said} ({_describe_exit(evidence.exit_code)})" if said else fallback


def _describe_exit(code: int | None) -> str:
    if code is None:
        return "it never started"
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended by signal {-code}"
