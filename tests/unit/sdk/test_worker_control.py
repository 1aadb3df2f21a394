"""A stop takes effect at once where nothing is lost, and waits where it would leave something half done."""

from __future__ import annotations

import pytest

from mosaic.worker.library import control
from mosaic.worker.library.control import Control, StopRequested


def test_a_stop_waits_for_the_end_of_what_must_not_be_disturbed() -> None:
    run = Control()
    done: list[str] = []

    def work() -> None:
        with run.undisturbed():
            run.request_stop()
            done.append("whole")
        done.append("too much")

    with pytest.raises(StopRequested), run.nothing_to_lose():
        work()
    assert ["whole"] == done


def test_a_stop_is_immediate_again_afterwards() -> None:
    run = Control()

    def work() -> None:
        with run.undisturbed():
            pass
        run.request_stop()

    with pytest.raises(StopRequested), run.nothing_to_lose():
        work()


def test_what_must_not_be_disturbed_changes_nothing_where_a_stop_would_only_be_noted() -> None:
    run = Control()

    with run.undisturbed():
        run.request_stop()

    assert run.is_stopping


def test_a_stop_is_overdue_when_its_patience_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Control()
    assert not run.is_overdue()

    monkeypatch.setattr(control, "BOUNDARY_PATIENCE_S", -1.0)
    run.request_stop()

    assert run.is_overdue()
    assert not run.is_overdue(by_s=60.0)
