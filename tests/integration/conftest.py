"""The last words of the platform go into the report of a test that failed on it."""

from __future__ import annotations

from tests.stack.reports import pytest_runtest_makereport

__all__ = ["pytest_runtest_makereport"]
