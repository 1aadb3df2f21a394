"""The last words of the platform, attached to the report of a test that failed on it."""

from __future__ import annotations

from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what every part of the test's `stack` printed last."""
    report = yield
    last_words = getattr(getattr(item, "funcargs", {}).get("stack"), "last_words", None)
    if report.failed and last_words is not None:
        report.sections.append(("last words of the platform", last_words()))
    return report
