"""How an attempt ended, judged from what the agent saw: pure."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from enum import Enum

from mosaic.agent.execution.failure_reason import causes, complaint, last_line, raised, sentence
from mosaic.lifecycle import AttemptFact, FailureKind


class Ending(Enum):
    """Why the agent itself ended a child."""

    CANCEL = "cancel"
    PREEMPT = "preempt"
    HUNG = "hung"
    TIME_LIMIT = "time_limit"
    MEMORY = "memory"
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
    #: What the worker gave as its error, as the type of it, and as where it was raised.
    last_error: str = ""
    error_type: str = ""
    traceback: str = ""
    #: The newest lines of its stderr, none of them empty.
    stderr_tail: tuple[str, ...] = ()
    #: The kernel killed something of ours for memory while it ran.
    oom_killed: bool = False
    #: Why it could not be started.
    start_fault: str = ""
    #: Why it was not: what was asked for is refused, and would be again.
    refusal: str = ""
    limit_s: float = 0.0
    #: Why it was ended for the memory that it used.
    memory: str = ""


@dataclass(frozen=True)
class Outcome:
    """The terminal fact about an attempt."""

    fact: AttemptFact
    failure_kind: FailureKind | None = None
    #: The first line says why; what it was taken from follows on further lines.
    reason: str = ""


_EXIT_CONFIG_ERROR = 2
#: Added to the number of a signal by shells, and by workers that end themselves after one.
_EXIT_SIGNALLED = 128
#: Words of an exception that say what kind of failure it was, whatever the exception is called.
_KNOWN_CAUSES = (
    (
        re.compile(r"CUDA out of memory|CUDA error: out of memory|CUBLAS_STATUS_ALLOC_FAILED|RESOURCE_EXHAUSTED"),
        FailureKind.OUT_OF_MEMORY,
        "out of GPU memory",
    ),
    (
        re.compile(
            r"MemoryError\b|Cannot allocate memory|can't allocate memory|std::bad_alloc"
            # What the loader of libraries says then; a place that forbids execution adds its own words.
            r"|failed to map segment from shared object$"
        ),
        FailureKind.OUT_OF_MEMORY,
        "out of memory",
    ),
    (re.compile(r"No space left on device|Disk quota exceeded"), FailureKind.INFRASTRUCTURE, "the disk is full"),
)
#: What a signal that the agent did not send usually means.
_SIGNALS = {
    signal.SIGKILL: "somebody or the kernel killed it; the kernel does when memory runs out",
    signal.SIGSEGV: "native code touched memory that is not its own",
    signal.SIGBUS: "native code touched memory that is gone; a full /dev/shm does this",
    signal.SIGILL: "native code used an instruction that this CPU does not have",
    signal.SIGFPE: "native code divided by zero",
    signal.SIGABRT: "native code gave up",
    signal.SIGTERM: "somebody asked it to end; the platform did not",
    signal.SIGINT: "somebody interrupted it; the platform did not",
}
#: Errors whose name says nothing to whoever reads the sentence.
_NAMELESS = frozenset({"", "BadInput", "SystemExit"})
#: How much of stderr follows the sentence.
_CONTEXT_LINES = 40
_CONTEXT_LETTERS = 3000


def judge(evidence: Evidence) -> Outcome:
    """Return how the attempt ended."""
    if evidence.refusal:
        return _failed(FailureKind.CONFIG_ERROR, evidence.refusal)
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
    if ending is Ending.MEMORY:
        return _failed(FailureKind.OUT_OF_MEMORY, evidence.memory)
    facts = {Ending.CANCEL: AttemptFact.CANCELLED, Ending.PREEMPT: AttemptFact.PREEMPTED}
    return Outcome(facts.get(ending, AttemptFact.LOST))


def _judge_clean_exit(evidence: Evidence) -> Outcome:
    if evidence.last_word == "run_failed":
        why = _told(evidence) or "the worker said that it failed, then exited with 0"
        return _failed(FailureKind.CRASH, why, evidence)
    if evidence.last_word == "run_cancelled":
        return _failed(FailureKind.CRASH, "the worker cancelled itself; nobody had asked it to")
    return Outcome(AttemptFact.SUCCEEDED)


def _judge_failure(evidence: Evidence) -> Outcome:
    code = evidence.exit_code
    if evidence.oom_killed and code in (-signal.SIGKILL, _EXIT_SIGNALLED + signal.SIGKILL):
        killed = "out of memory: the kernel killed it, since it used more memory than there is"
        return _failed(FailureKind.OUT_OF_MEMORY, killed, evidence)
    why = _why(evidence)
    if code == _EXIT_CONFIG_ERROR:
        return _failed(FailureKind.CONFIG_ERROR, why or "the worker refused its config (exit code 2)", evidence)
    led_to_it = causes(evidence.traceback.splitlines() or evidence.stderr_tail) if why else []
    for words, kind, name in _KNOWN_CAUSES:
        if any(map(words.search, (why, *led_to_it))):
            return _failed(kind, f"{name}: {why}", evidence)
    return _failed(FailureKind.CRASH, why or _describe_exit(code), evidence)


def _failed(kind: FailureKind, why: str, evidence: Evidence | None = None) -> Outcome:
    context = _context(evidence) if evidence else ""
    return Outcome(AttemptFact.FAILED, kind, f"{why}\n{context}" if context and context != why else why)


def _why(evidence: Evidence) -> str:
    """Return the sentence that says why, nothing if the exit code is all there is."""
    number = _signal_of(evidence.exit_code)
    told = _told(evidence)
    # A process says why before it aborts, but not before somebody else ends it.
    if not told and number in (None, signal.SIGABRT):
        told = raised(evidence.stderr_tail) or complaint(evidence.stderr_tail)
    if told:
        return told if evidence.exit_code in (1, _EXIT_CONFIG_ERROR) else f"{told} ({_exit(evidence.exit_code)})"
    last = last_line(evidence.stderr_tail) if number is None else ""
    if evidence.exit_code == _EXIT_CONFIG_ERROR:
        return last
    return f"{_exit(evidence.exit_code)}; its last words: {last}" if last else ""


def _told(evidence: Evidence) -> str:
    """Return what the worker itself gave as its error."""
    name, error = evidence.error_type, sentence(evidence.last_error)
    if not error:
        return raised(evidence.traceback.splitlines()) or name
    return error if name in _NAMELESS or error.startswith(name) else f"{name}: {error}"


def _context(evidence: Evidence) -> str:
    error = evidence.last_error.splitlines()
    context = evidence.stderr_tail or tuple(evidence.traceback.splitlines())
    lines = [*(error if len(error) > 1 else ()), *context[-_CONTEXT_LINES:]]
    return "\n".join(lines)[-_CONTEXT_LETTERS:].strip()


def _signal_of(code: int | None) -> signal.Signals | None:
    number = -(code or 0) if (code or 0) < 0 else (code or 0) - _EXIT_SIGNALLED
    return signal.Signals(number) if number in set(signal.Signals) else None


def _describe_exit(code: int | None) -> str:
    number = _signal_of(code)
    meaning = _SIGNALS.get(number) if number else "it did not say why"
    return f"{_exit(code)}: {meaning}" if meaning else _exit(code)


def _exit(code: int | None) -> str:
    if code is None:
        return "it never started"
    number = _signal_of(code)
    if number is not None:
        return f"ended by {number.name}"
    return f"exit code {code}" if code >= 0 else f"ended by signal {-code}"
