"""What every test gets: a clean environment and, for those that ask, real servers."""

from __future__ import annotations

import gc
import os

import hypothesis
import pytest
import structlog

from tests.servers.fixtures import (
    _module_impatient_rabbitmq,
    _module_postgres,
    _module_rabbitmq,
    _module_redis,
    database_template,
    impatient_rabbitmq_server,
    migrated_url,
    postgres_server,
    postgres_url,
    rabbitmq_server,
    rabbitmq_url,
    redis_server,
    redis_url,
    shared_servers,
)

__all__ = [
    "_module_impatient_rabbitmq",
    "_module_postgres",
    "_module_rabbitmq",
    "_module_redis",
    "database_template",
    "impatient_rabbitmq_server",
    "migrated_url",
    "postgres_server",
    "postgres_url",
    "rabbitmq_server",
    "rabbitmq_url",
    "redis_server",
    "redis_url",
    "shared_servers",
]

_NEEDS_A_SERVER = frozenset(name for name in __all__ if not name.startswith("_"))

# How long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("house", deadline=None, max_examples=60)
hypothesis.settings.load_profile("house")

# The renderer structlog starts with draws every local variable of every frame: seconds and gigabytes for one traceback.
structlog.configure(
    processors=[structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)]
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a real server, so that ``-m "not integration"`` leaves the quick tests."""
    for item in items:
        if _NEEDS_A_SERVER.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.integration)


def pytest_collection_finish() -> None:
    """Leave what collecting made out of every later search for garbage: there is much of it, and none is."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_settings_leak_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own MOSAIC_* variables must not decide whether a test passes."""
    for name in list(os.environ):
        if name.startswith("MOSAIC_") and not name.startswith("MOSAIC_TEST_"):
            monkeypatch.delenv(name)
