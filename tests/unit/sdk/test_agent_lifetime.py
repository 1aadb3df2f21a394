"""When an agent takes nothing new, and when it goes."""

from __future__ import annotations

from mosaic.agent.control.lifetime import LINGER_S, AgentLifetime


class Watch:
    """A clock that is told."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_without_limits_an_agent_stays_for_good() -> None:
    watch = Watch()
    shift = AgentLifetime(clock=watch)
    shift.note_claim()
    watch.now_s += 1e6

    assert shift.takes_more()
    assert not shift.is_ending(is_idle=True, is_drained=True)
    assert not shift.is_over(is_idle=True)


def test_after_its_runs_an_agent_takes_nothing_new() -> None:
    shift = AgentLifetime(runs=2, clock=Watch())
    shift.note_claim()
    one_claimed = shift.takes_more()
    shift.note_claim()

    assert (True, False) == (one_claimed, shift.takes_more())
    assert shift.is_ending(is_idle=False)


def test_a_claim_under_way_counts() -> None:
    assert not AgentLifetime(runs=1, clock=Watch()).takes_more(underway=1)


def test_an_agent_goes_only_when_it_has_nothing_left_to_do() -> None:
    watch = Watch()
    shift = AgentLifetime(runs=1, clock=watch)
    shift.note_claim()
    shift.is_ending(is_idle=False)
    watch.now_s += LINGER_S

    assert not shift.is_over(is_idle=False)
    assert shift.is_over(is_idle=True)


def test_a_bored_agent_says_so_before_it_goes() -> None:
    watch = Watch()
    shift = AgentLifetime(idle_limit_s=60, clock=watch)
    watch.now_s += 60
    is_ending = shift.is_ending(is_idle=True)
    at_once = shift.is_over(is_idle=True)
    watch.now_s += LINGER_S

    assert (True, False, True) == (is_ending, at_once, shift.is_over(is_idle=True))


def test_work_keeps_boredom_away() -> None:
    watch = Watch()
    shift = AgentLifetime(idle_limit_s=60, clock=watch)
    watch.now_s += 59
    shift.is_ending(is_idle=False)
    watch.now_s += 59

    assert not shift.is_ending(is_idle=True)


def test_an_agent_for_a_few_runs_does_not_outstay_a_drain() -> None:
    assert AgentLifetime(runs=1, clock=Watch()).is_ending(is_idle=True, is_drained=True)
