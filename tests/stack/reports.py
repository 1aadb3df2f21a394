"""The last words of the platform, attached to the report of a test that failed on it."""

from __future__ import annotations

from collections.abc import Callable, Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what every part of the test's `stack` printed last."""
    report = yield
    last_words = getattr(getattr(item, "funcargs", {}).get("stack"), "last_words", None)
    if report.failed and last_words is not None:
        report.sections.append(("last words of the platform", _said_by(last_words)))
    return report


def _said_by(last_words: Callable[[], str]) -> str:
    # An error in here would hide the one to report. A platform that did not end well cannot be asked any more.
    try:
        return last_words()
    except Exception as error:
        return repr(error)
