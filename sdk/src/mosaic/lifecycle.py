"""The life of a run and of each attempt at it, as data.

A run is what a person asked for; an attempt is one execution of it on one agent. A retry, a
preemption or a lost machine ends the attempt and gives the run a new one, so a terminal state is
never left and every reader can trust "finished". Legality is decided by the two tables here and
nowhere else; `docs/reference/lifecycle.md` is drawn from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import TypeVar

from mosaic.errors import IllegalTransition


class RunState(str, Enum):
    """Where a run stands; members are listed in the order a healthy run meets them."""

    QUEUED = "queued"  #: accepted; waits for capacity, or for its next attempt
    ADMITTED = "admitted"  #: capacity is reserved; the worker has not spoken yet
    RUNNING = "running"  #: the worker itself has reported a start
    PAUSED = "paused"  #: a person stopped it; it keeps its lease for as long as its attempt lives
    STOPPING = "stopping"  #: asked to stop; it may still be writing a checkpoint
    SUCCEEDED = "succeeded"  #: the worker finished and said so
    FAILED = "failed"  #: no attempt is left, or none would help
    CANCELLED = "cancelled"  #: a person ended it


class RunFact(str, Enum):
    """What can become true of a run."""

    ADMITTED = "admitted"
    STARTED = "started"
    PAUSED = "paused"
    RESUMED = "resumed"
    STOP_REQUESTED = "stop_requested"
    REQUEUED = "requeued"  #: the attempt ended, another one will follow
    HELD = "held"  #: the attempt ended while a person wanted it paused; another one follows when it is resumed
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class AttemptState(str, Enum):
    """Where one execution of a run stands."""

    ADMITTED = "admitted"  #: the lease is recorded; the dispatch may not have arrived
    CLAIMED = "claimed"  #: one agent, and only one, may execute it
    RUNNING = "running"  #: the worker has reported a start
    PAUSED = "paused"  #: its processes are stopped, its lease is kept
    STOPPING = "stopping"  #: asked to end; killed after its grace
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"  #: ended in favour of another run; a new attempt follows
    LOST = "lost"  #: its lease ran out; how it ended is unknown


class AttemptFact(str, Enum):
    """What an agent, a person or the lease clock can say about an attempt."""

    CLAIMED = "claimed"
    STARTED = "started"
    PAUSED = "paused"
    RESUMED = "resumed"
    STOP_REQUESTED = "stop_requested"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"
    LOST = "lost"


class FailureKind(str, Enum):
    """How an attempt came to its end without success; each has a retry budget of its own."""

    CONFIG_ERROR = "config_error"  #: the worker refused its config; it would again
    CRASH = "crash"  #: the worker ended with an error
    OUT_OF_MEMORY = "out_of_memory"  #: killed for using more memory than there is
    HUNG = "hung"  #: no line and no heartbeat for its limit
    LOST_AGENT = "lost_agent"  #: its agent or its node went away
    PREEMPTED = "preempted"  #: it made room for another run
    INFRASTRUCTURE = "infrastructure"  #: disk, network, driver: ours, not the run's
    TIME_LIMIT = "time_limit"  #: it used up its wall time


def _run_table() -> dict[tuple[RunState, RunFact], RunState]:
    state, fact = RunState, RunFact
    table = {
        (state.QUEUED, fact.ADMITTED): state.ADMITTED,
        (state.ADMITTED, fact.STARTED): state.RUNNING,
        (state.RUNNING, fact.PAUSED): state.PAUSED,
        (state.PAUSED, fact.RESUMED): state.RUNNING,
        # A run that nobody executes ends at once; the others are asked to stop first.
        (state.QUEUED, fact.STOP_REQUESTED): state.CANCELLED,
        (state.QUEUED, fact.CANCELLED): state.CANCELLED,
        # A requeued run may turn out to have no attempt left.
        (state.QUEUED, fact.FAILED): state.FAILED,
    }
    for active in (state.ADMITTED, state.RUNNING, state.PAUSED):
        table[active, fact.STOP_REQUESTED] = state.STOPPING
    for active in (state.ADMITTED, state.RUNNING, state.PAUSED, state.STOPPING):
        table[active, fact.REQUEUED] = state.QUEUED
        table[active, fact.HELD] = state.PAUSED
        table[active, fact.SUCCEEDED] = state.SUCCEEDED
        table[active, fact.FAILED] = state.FAILED
        table[active, fact.CANCELLED] = state.CANCELLED
    return table


def _attempt_table() -> dict[tuple[AttemptState, AttemptFact], AttemptState]:
    state, fact = AttemptState, AttemptFact
    table = {
        (state.ADMITTED, fact.CLAIMED): state.CLAIMED,
        (state.CLAIMED, fact.STARTED): state.RUNNING,
        (state.CLAIMED, fact.PAUSED): state.PAUSED,
        (state.RUNNING, fact.PAUSED): state.PAUSED,
        (state.PAUSED, fact.RESUMED): state.RUNNING,
    }
    for active in (state.CLAIMED, state.RUNNING, state.PAUSED):
        table[active, fact.STOP_REQUESTED] = state.STOPPING
    for active in (state.CLAIMED, state.RUNNING, state.PAUSED, state.STOPPING):
        table[active, fact.SUCCEEDED] = state.SUCCEEDED
        table[active, fact.FAILED] = state.FAILED
    for active in (state.ADMITTED, state.CLAIMED, state.RUNNING, state.PAUSED, state.STOPPING):
        table[active, fact.CANCELLED] = state.CANCELLED
        table[active, fact.PREEMPTED] = state.PREEMPTED
        table[active, fact.LOST] = state.LOST
    return table


#: (state, fact) -> next state of a run.
RUN_TRANSITIONS: Mapping[tuple[RunState, RunFact], RunState] = MappingProxyType(_run_table())

#: (state, fact) -> next state of an attempt.
ATTEMPT_TRANSITIONS: Mapping[tuple[AttemptState, AttemptFact], AttemptState] = MappingProxyType(_attempt_table())

#: States that nothing leaves. Derived from the tables, never written by hand.
RUN_TERMINAL = frozenset(RunState) - {before for before, _ in RUN_TRANSITIONS}
ATTEMPT_TERMINAL = frozenset(AttemptState) - {before for before, _ in ATTEMPT_TRANSITIONS}

StateT = TypeVar("StateT", RunState, AttemptState)


def advance(state: StateT, fact: RunFact | AttemptFact) -> StateT:
    """Return the state of a run or an attempt after *fact*.

    Hearing a fact again changes nothing, because brokers redeliver: a fact whose outcome the
    state already is, leaves it as it is.

    Raises:
        IllegalTransition: the fact cannot be true of something in *state*.

    """
    table: Mapping[tuple[object, object], StateT]
    table = RUN_TRANSITIONS if isinstance(state, RunState) else ATTEMPT_TRANSITIONS  # type: ignore[assignment]
    after = table.get((state, fact))
    if after is not None:
        return after
    if any(outcome is state for (_, known), outcome in table.items() if known is fact):
        return state
    raise IllegalTransition(state.value, fact.value)


def is_terminal(state: RunState | AttemptState) -> bool:
    """Tell whether nothing more can happen to a run or attempt in *state*."""
    return state in RUN_TERMINAL or state in ATTEMPT_TERMINAL


class UpstreamStatus(str, Enum):
    """The run states of upstream MOSAIC, which its clients know."""

    INIT = "INIT"
    HSHK = "HSHK"
    RDY = "RDY"
    EXEC = "EXEC"
    PAUSE = "PAUSE"
    FAULT = "FAULT"
    TERM = "TERM"


#: What an upstream client is shown for each attempt state; TERM goes with `upstream_outcome`.
UPSTREAM_STATUS: Mapping[AttemptState, UpstreamStatus] = MappingProxyType(
    {
        AttemptState.ADMITTED: UpstreamStatus.HSHK,
        AttemptState.CLAIMED: UpstreamStatus.RDY,
        AttemptState.RUNNING: UpstreamStatus.EXEC,
        AttemptState.PAUSED: UpstreamStatus.PAUSE,
        AttemptState.STOPPING: UpstreamStatus.EXEC,
        AttemptState.SUCCEEDED: UpstreamStatus.TERM,
        AttemptState.FAILED: UpstreamStatus.TERM,
        AttemptState.CANCELLED: UpstreamStatus.TERM,
        AttemptState.PREEMPTED: UpstreamStatus.TERM,
        AttemptState.LOST: UpstreamStatus.FAULT,
    }
)


def upstream_status(state: RunState | AttemptState) -> UpstreamStatus:
    """Return what an upstream client would call *state*; a queued run is ``INIT``."""
    if isinstance(state, AttemptState):
        return UPSTREAM_STATUS[state]
    return UpstreamStatus.INIT if state is RunState.QUEUED else UPSTREAM_STATUS[AttemptState(state.value)]


def upstream_outcome(state: RunState | AttemptState) -> str | None:
    """Return upstream's outcome word (``canceled`` with one l) for an ended run, else None."""
    if not is_terminal(state):
        return None
    return {"succeeded": "succeeded", "cancelled": "canceled", "preempted": "canceled"}.get(state.value, "failed")
