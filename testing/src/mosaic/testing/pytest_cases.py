"""The conformance checks as pytest cases: ``test_conformance = worker_conformance("my_worker")``."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mosaic.testing.conformance import CHECKS, check_worker
from mosaic.testing.report import Outcome, Report


def worker_conformance(
    name: str,
    *,
    python: str = sys.executable,
    config: Mapping[str, Any] | None = None,
    timeout_s: float = 120.0,
    env: Mapping[str, str] | None = None,
) -> Callable[[str], None]:
    """Return a test function with one case for every check of the worker *name*.

    The worker is run when the first case starts, not when tests are collected. A check that
    does not apply passes: it is no fault to offer less.
    """

    @functools.cache
    def report() -> Report:
        return check_worker(name, python=python, config=config, timeout_s=timeout_s, env=env)

    @pytest.mark.parametrize("check", list(CHECKS))
    def test_conformance(check: str) -> None:
        found = report().check(check)
        if found.outcome is Outcome.FAILED:
            pytest.fail(found.sentence, pytrace=False)

    return test_conformance
