"""Without what an extra brings, the SDK says which extra that is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mosaic.worker

_SOURCES = Path(mosaic.worker.__file__).parents[2]


def imported(module: str) -> subprocess.CompletedProcess[str]:
    """Import *module* where nothing but Python and the sources is installed."""
    code = f"import sys; sys.path.insert(0, {str(_SOURCES)!r}); import {module}"
    return subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("mosaic.client", "client"),
        ("mosaic.cli.__main__", "cli"),
        ("mosaic.statistics", "statistics"),
        ("mosaic.comparison", "client,statistics"),
    ],
)
def test_a_missing_extra_is_named(module: str, extra: str) -> None:
    tried = imported(module)

    assert 1 == tried.returncode
    assert tried.stderr.rstrip().endswith(f"it comes with an extra of the SDK: pip install 'mosaic-sdk[{extra}]'")


def test_the_worker_side_needs_no_extra() -> None:
    assert 0 == imported("mosaic.worker").returncode
