"""The last words of the platform, attached to the report of a test that failed on it."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.stack.stack import Stack


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what every part of the test's `stack` printed last."""
    report = yield
    stack = getattr(item, "funcargs", {}).get("stack")
    if report.failed and isinstance(stack, Stack):
        report.sections.append(("last words of the platform", stack.last_words()))
    return report
