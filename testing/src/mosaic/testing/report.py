"""What the conformance checks found out, as values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any


class Outcome(str, Enum):
    """How one check ended."""

    PASSED = "passed"
    FAILED = "failed"
    #: The worker does not offer what the check is about, or could not be judged; never a fault.
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True)
class Verdict:
    """What a check concludes: how it ended and, in one sentence, why."""

    outcome: Outcome
    sentence: str


def passed(sentence: str) -> Verdict:
    """Conclude that the worker does what is asked; *sentence* tells what was seen."""
    return Verdict(Outcome.PASSED, sentence)


def failed(sentence: str) -> Verdict:
    """Conclude that it does not; *sentence* tells what was seen and what to change."""
    return Verdict(Outcome.FAILED, sentence)


def not_applicable(sentence: str) -> Verdict:
    """Conclude nothing; *sentence* tells why the worker cannot be judged on this."""
    return Verdict(Outcome.NOT_APPLICABLE, sentence)


def judged(faults: list[str], praise: str) -> Verdict:
    """Fail with every one of *faults*, or pass with *praise* when there is none."""
    return failed("; ".join(faults)) if faults else passed(praise)


@dataclass(frozen=True)
class Check:
    """One check of one worker."""

    name: str
    outcome: Outcome
    sentence: str
    seconds: float


@dataclass(frozen=True)
class Report:
    """Every check of one worker, in the order they were made."""

    worker: str
    #: The interpreter of the environment the worker was checked in.
    python: str
    #: The command the worker was started with, without its arguments.
    launch: tuple[str, ...]
    #: What the reader should know beside the checks, e.g. that a driver had to be generated.
    notes: tuple[str, ...]
    checks: tuple[Check, ...]

    @property
    def is_conformant(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.outcome is Outcome.FAILED)

    def check(self, name: str) -> Check:
        """Return the check called *name*; KeyError when there is none."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values, with ``conformant`` on top."""
        return {"conformant": self.is_conformant, **asdict(self)}
