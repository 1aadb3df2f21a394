"""Generated pages say what the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

GENERATOR = Path(__file__).parents[2] / "docs" / "generate.py"


def test_the_generated_reference_is_fresh() -> None:
    finished = subprocess.run(
        [sys.executable, str(GENERATOR), "--check"], capture_output=True, text=True, timeout=60, check=False
    )

    assert finished.stderr == ""
    assert finished.returncode == 0
