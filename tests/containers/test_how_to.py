"""What the how-to page promises to those who test their own code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "test-against-a-fleet.md"

CONFTEST = """
import pytest

pytest_plugins = ["mosaic.testing.plugin"]

@pytest.fixture(scope="session")
def mosaic_stack_options():
    return {"only_brokers": True}
"""

TESTS = """
def test_finds_the_brokers(mosaic_fleet):
    assert mosaic_fleet.amqp_url.startswith("amqp://")

def test_fails(mosaic_fleet):
    assert not mosaic_fleet.redis_url
"""


def test_the_first_example_of_the_page_passes_as_it_stands(tmp_path: Path) -> None:
    example = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    (tmp_path / "test_example.py").write_text(example, encoding="utf-8")

    done = _pytest(tmp_path)

    assert 0 == done.returncode, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_the_fixture_is_shared_and_a_failure_shows_what_the_containers_printed(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "test_mine.py").write_text(TESTS, encoding="utf-8")

    done = _pytest(tmp_path)

    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "last words of mosaic_fleet" in done.stdout
    for broker in ("rabbitmq", "redis", "postgres"):
        assert 1 == done.stdout.count(f"----- {broker}\n")


def _pytest(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
