"""A fleet for a test session: ``pytest_plugins = ["mosaic.testing.plugin"]`` in the top ``conftest.py``.

The fixture ``mosaic_fleet`` is a `MosaicStack` that lives as long as the session (that of one worker process, with
pytest-xdist). Override the fixture ``mosaic_stack_options`` to choose what is in it::

    @pytest.fixture(scope="session")
    def mosaic_stack_options():
        return {"workers": ["reference", "cleanrl"], "gpus": 2}

The report of a test that fails on any `MosaicStack` ends with what its containers printed last.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import pytest

from mosaic.testing.containers.stack import MosaicStack


@pytest.fixture(scope="session")
def mosaic_stack_options() -> dict[str, Any]:
    """What `MosaicStack` is made with."""
    return {}


@pytest.fixture(scope="session")
def mosaic_fleet(mosaic_stack_options: dict[str, Any]) -> Iterator[MosaicStack]:
    """The platform in containers, shared by the tests of the session."""
    with MosaicStack(**mosaic_stack_options) as stack:
        yield stack


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the containers of the test's stacks printed last."""
    report = yield
    if report.failed:
        for name, value in getattr(item, "funcargs", {}).items():
            if isinstance(value, MosaicStack):
                report.sections.append((f"last words of {name}", value.last_words()))
    return report
