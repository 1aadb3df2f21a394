"""Why a run waits: a closed vocabulary, each word with the numbers that make it true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from types import MappingProxyType

Fact = int | float | str | datetime


class ReasonCode(str, Enum):
    """Every answer there is to "why is my run not running?"."""

    NOT_BEFORE = "not_before"  #: its earliest start, or the backoff of a retry, lies ahead
    TEAM_UNKNOWN = "team_unknown"  #: nobody has set up the team
    WORKER_ABSENT = "worker_absent"  #: no agent of the worker has announced itself
    WORKER_AWAY = "worker_away"  #: agents exist, but all are unhealthy or draining
    TOO_BIG = "too_big"  #: no node of the fleet could hold it even when empty
    NODES_FULL = "nodes_full"  #: a node could hold it, none has enough free now
    GPU_MEMORY_FULL = "gpu_memory_full"  #: GPUs have a share left, but not the memory
    SLOTS_FULL = "slots_full"  #: nodes have room, but their agents execute as many attempts as they may
    HELD_BACK = "held_back"  #: there is room, but it is held back for a run that waited too long
    RESERVED = "reserved"  #: a node is being held back for this run
    MAKING_ROOM = "making_room"  #: attempts have been asked to leave for this run
    LENT_OUT = "lent_out"  #: its team's quota is in use by others and cannot be taken back yet
    QUOTA_USED = "quota_used"  #: the team uses its quota and nobody lends
    BORROWING_LIMIT = "borrowing_limit"  #: the team may not borrow more
    LOAN_NOT_RECALLABLE = "loan_not_recallable"  #: only runs that can be asked to leave may borrow
    TEAM_RUNNING_CAP = "team_running_cap"
    USER_RUNNING_CAP = "user_running_cap"
    USER_GPU_CAP = "user_gpu_cap"


#: The sentence of each reason; the names in braces are the facts that a reason of that code carries.
SENTENCES: Mapping[ReasonCode, str] = MappingProxyType(
    {
        ReasonCode.NOT_BEFORE: "does not start before {until:%Y-%m-%d %H:%M:%S} UTC",
        ReasonCode.TEAM_UNKNOWN: "team {team} is not set up here",
        ReasonCode.WORKER_ABSENT: "no agent of worker {worker} has announced itself",
        ReasonCode.WORKER_AWAY: "all {agents} agents of worker {worker} are unhealthy or draining",
        ReasonCode.TOO_BIG: "needs {need:g} {resource} on one node; the largest with {worker} has {most:g}",
        ReasonCode.NODES_FULL: ("needs {need:g} {resource} on one node{beside}; the most free on any is {most:g}"),
        ReasonCode.GPU_MEMORY_FULL: "needs {need:g} MB of memory on a GPU; none with room has that much free",
        ReasonCode.SLOTS_FULL: "all agents of worker {worker} with room execute as many attempts as they may",
        ReasonCode.HELD_BACK: "the room for it is held back on {nodes} nodes for runs that waited longer",
        ReasonCode.RESERVED: "node {node} is held back for it, {when}",
        ReasonCode.MAKING_ROOM: "{leaving} attempts are leaving node {node} to make room for it",
        ReasonCode.LENT_OUT: ("team {team} uses {used:g} of {quota:g} {resource}, {lent:g} lent to team {borrower}"),
        ReasonCode.QUOTA_USED: ("team {team} uses {used:g} of {quota:g} {resource}, and others can lend {lendable:g}"),
        ReasonCode.BORROWING_LIMIT: (
            "team {team} uses {used:g} of {quota:g} {resource} and may borrow {limit:g} at most"
        ),
        ReasonCode.LOAN_NOT_RECALLABLE: (
            "team {team} uses {used:g} of {quota:g} {resource}; only runs whose resume is proven may borrow"
        ),
        ReasonCode.TEAM_RUNNING_CAP: "team {team} runs {running} of at most {cap} runs",
        ReasonCode.USER_RUNNING_CAP: "user {user} of team {team} runs {running} of at most {cap} runs",
        ReasonCode.USER_GPU_CAP: "user {user} of team {team} holds {held:g} of at most {cap:g} GPUs",
    }
)


#: The codes as text, by which a stored reason to wait is told from how an attempt ended.
WAITING_CODES = frozenset(code.value for code in ReasonCode)


@dataclass(frozen=True, slots=True)
class Reason:
    """One word of the vocabulary and the facts it speaks of."""

    code: ReasonCode
    facts: tuple[tuple[str, Fact], ...] = ()

    @classmethod
    def of(cls, code: ReasonCode, **facts: Fact) -> Reason:
        """Return the reason *code* with its *facts* by name."""
        return cls(code, tuple(facts.items()))

    @property
    def numbers(self) -> dict[str, Fact]:
        """The facts by name."""
        return dict(self.facts)

    def sentence(self) -> str:
        """Return the reason in words, without the name of the run."""
        return SENTENCES[self.code].format(**self.numbers)


def essence(reason: Reason) -> tuple[object, ...]:
    """Return what of *reason* stays as it is while amounts come and go: its code, names, and a start that was set."""
    lasting = (fact for name, fact in reason.facts if name != "when" and not isinstance(fact, (int, float)))
    return (reason.code, *lasting)
