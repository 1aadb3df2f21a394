"""Every state, every fact: the tables drawn by hand, compared with those in the code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.errors import IllegalTransition
from mosaic.lifecycle import (
    ATTEMPT_TERMINAL,
    ATTEMPT_TRANSITIONS,
    RUN_TERMINAL,
    RUN_TRANSITIONS,
    AttemptFact,
    AttemptState,
    RunFact,
    RunState,
    UpstreamStatus,
    advance,
    is_terminal,
    upstream_outcome,
    upstream_status,
)

# One row per state, one column per fact; "." is illegal, "=" is a fact heard again.
RUN_MATRIX = """
           admitted started  paused  resumed  stop_requested requeued held    succeeded  failed  cancelled
queued     admitted .        .       .        cancelled      =        .       .          failed  cancelled
admitted   =        running  .       .        stopping       queued   paused  succeeded  failed  cancelled
running    .        =        paused  =        stopping       queued   paused  succeeded  failed  cancelled
paused     .        .        =       running  stopping       queued   =       succeeded  failed  cancelled
stopping   .        .        .       .        =              queued   paused  succeeded  failed  cancelled
succeeded  .        .        .       .        .              .        .       =          .       .
failed     .        .        .       .        .              .        .       .          =       .
cancelled  .        .        .       .        =              .        .       .          .       =
"""

ATTEMPT_MATRIX = """
           claimed  started  paused  resumed  stop_requested succeeded  failed  cancelled  preempted  lost
admitted   claimed  .        .       .        .              .          .       cancelled  preempted  lost
claimed    =        running  paused  .        stopping       succeeded  failed  cancelled  preempted  lost
running    .        =        paused  =        stopping       succeeded  failed  cancelled  preempted  lost
paused     .        .        =       running  stopping       succeeded  failed  cancelled  preempted  lost
stopping   .        .        .       .        =              succeeded  failed  cancelled  preempted  lost
succeeded  .        .        .       .        .              =          .       .          .          .
failed     .        .        .       .        .              .          =       .          .          .
cancelled  .        .        .       .        .              .          .       =          .          .
preempted  .        .        .       .        .              .          .       .          =          .
lost       .        .        .       .        .              .          .       .          .          =
"""

Cell = tuple[str, str, str]


def cells(matrix: str) -> list[Cell]:
    header, *rows = (row.split() for row in matrix.strip().splitlines())
    return [(row[0], fact, cell) for row in rows for fact, cell in zip(header, row[1:], strict=True)]


def outcome(state: RunState | AttemptState, fact: RunFact | AttemptFact) -> str:
    try:
        after = advance(state, fact)  # type: ignore[type-var]
    except IllegalTransition:
        return "."
    return "=" if after is state else after.value


@pytest.mark.parametrize(("state", "fact", "expected"), cells(RUN_MATRIX))
def test_a_run_does_what_its_matrix_says(state: str, fact: str, expected: str) -> None:
    assert expected == outcome(RunState(state), RunFact(fact))


@pytest.mark.parametrize(("state", "fact", "expected"), cells(ATTEMPT_MATRIX))
def test_an_attempt_does_what_its_matrix_says(state: str, fact: str, expected: str) -> None:
    assert expected == outcome(AttemptState(state), AttemptFact(fact))


def test_the_matrices_leave_no_pair_out() -> None:
    every_run_pair = {(state.value, fact.value) for state in RunState for fact in RunFact}
    every_attempt_pair = {(state.value, fact.value) for state in AttemptState for fact in AttemptFact}

    assert every_run_pair == {(state, fact) for state, fact, _ in cells(RUN_MATRIX)}
    assert every_attempt_pair == {(state, fact) for state, fact, _ in cells(ATTEMPT_MATRIX)}


def test_what_ends_a_run_and_what_ends_an_attempt() -> None:
    assert {"succeeded", "failed", "cancelled"} == {state.value for state in RUN_TERMINAL}
    assert {"succeeded", "failed", "cancelled", "preempted", "lost"} == {state.value for state in ATTEMPT_TERMINAL}


@pytest.mark.parametrize("state", [*RunState, *AttemptState])
def test_a_state_is_terminal_when_nothing_leaves_it(state: RunState | AttemptState) -> None:
    table = RUN_TRANSITIONS if isinstance(state, RunState) else ATTEMPT_TRANSITIONS

    assert is_terminal(state) is all(before is not state for before, _ in table)


@pytest.mark.parametrize("state", [state for state in RunState if state not in RUN_TERMINAL])
def test_every_living_run_can_be_cancelled(state: RunState) -> None:
    assert RunState.CANCELLED is advance(state, RunFact.CANCELLED)


@pytest.mark.parametrize("state", [state for state in AttemptState if state not in ATTEMPT_TERMINAL])
def test_every_living_attempt_can_be_lost(state: AttemptState) -> None:
    assert AttemptState.LOST is advance(state, AttemptFact.LOST)


def test_an_illegal_fact_is_refused_by_name() -> None:
    with pytest.raises(IllegalTransition, match="'started' cannot happen to something that is 'failed'"):
        advance(RunState.FAILED, RunFact.STARTED)


def test_a_fact_about_attempts_says_nothing_about_runs() -> None:
    with pytest.raises(IllegalTransition):
        advance(RunState.ADMITTED, AttemptFact.CLAIMED)


def heard(state: RunState | AttemptState, facts: list[RunFact] | list[AttemptFact]) -> list[RunState | AttemptState]:
    """Return every state met; a fact that cannot be true is refused and changes nothing."""
    met = [state]
    for fact in facts:
        try:
            met.append(advance(met[-1], fact))  # type: ignore[type-var]
        except IllegalTransition:
            met.append(met[-1])
    return met


histories = st.one_of(
    st.tuples(st.just(RunState.QUEUED), st.lists(st.sampled_from(RunFact))),
    st.tuples(st.just(AttemptState.ADMITTED), st.lists(st.sampled_from(AttemptFact))),
)


@given(histories)
def test_nothing_leaves_an_end_whatever_is_heard_later(
    history: tuple[RunState, list[RunFact]] | tuple[AttemptState, list[AttemptFact]],
) -> None:
    met = heard(*history)

    ends = [state for state in met if is_terminal(state)]
    assert len(set(ends)) <= 1
    assert met[len(met) - len(ends) :] == ends


@given(histories)
def test_hearing_each_fact_twice_changes_nothing(
    history: tuple[RunState, list[RunFact]] | tuple[AttemptState, list[AttemptFact]],
) -> None:
    start, facts = history

    twice = [fact for fact in facts for _ in range(2)]

    assert heard(start, facts)[-1] is heard(start, twice)[-1]  # type: ignore[arg-type]


@given(st.permutations([AttemptFact.CLAIMED, AttemptFact.STARTED, AttemptFact.SUCCEEDED, AttemptFact.LOST]))
def test_disorder_may_change_which_end_but_not_that_there_is_one(facts: list[AttemptFact]) -> None:
    assert is_terminal(heard(AttemptState.ADMITTED, facts)[-1])


@pytest.mark.parametrize(
    ("state", "status", "word"),
    [
        (RunState.QUEUED, "INIT", None),
        (RunState.ADMITTED, "HSHK", None),
        (RunState.RUNNING, "EXEC", None),
        (RunState.PAUSED, "PAUSE", None),
        (RunState.STOPPING, "EXEC", None),
        (RunState.SUCCEEDED, "TERM", "succeeded"),
        (RunState.FAILED, "TERM", "failed"),
        (RunState.CANCELLED, "TERM", "canceled"),
        (AttemptState.ADMITTED, "HSHK", None),
        (AttemptState.CLAIMED, "RDY", None),
        (AttemptState.RUNNING, "EXEC", None),
        (AttemptState.PAUSED, "PAUSE", None),
        (AttemptState.STOPPING, "EXEC", None),
        (AttemptState.SUCCEEDED, "TERM", "succeeded"),
        (AttemptState.FAILED, "TERM", "failed"),
        (AttemptState.CANCELLED, "TERM", "canceled"),
        (AttemptState.PREEMPTED, "TERM", "canceled"),
        (AttemptState.LOST, "FAULT", "failed"),
    ],
)
def test_upstream_clients_are_shown_their_own_words(
    state: RunState | AttemptState, status: str, word: str | None
) -> None:
    assert UpstreamStatus(status) is upstream_status(state)
    assert word == upstream_outcome(state)
