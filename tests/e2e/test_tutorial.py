"""The tutorial works as it is typed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial" / "first-run.md"
#: What made the environment of this very test.
DONE_ALREADY = ("make setup", "source .venv/bin/activate")


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """That of somebody who stands in a clone with the environment active; the platform is stopped at the end."""
    home = tmp_path_factory.mktemp("tutorial")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {key: value for key, value in os.environ.items() if not key.startswith("MOSAIC_")}
    env |= {"MOSAIC_HOME": str(home / "state"), "PATH": path, "COLUMNS": "120"}
    yield env
    subprocess.run(["mosaic", "down"], env=env, capture_output=True, timeout=150, check=False)


def test_every_command_does_what_the_page_says(environment: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "worker-images").symlink_to(ROOT / "worker-images")
    typed = commands()

    assert typed[:2] == list(DONE_ALREADY)
    said = {line: _type(line, environment, tmp_path) for line in typed[2:]}

    assert "succeeded" in said[_only(typed, "--name first")]
    assert "first seed 1" in said["mosaic metrics first second"]
    assert "second seed 2" in said["mosaic metrics first second"]
    assert 0 == json.loads(said["mosaic manifest first"])["events"]["missing"]
    assert list((tmp_path / "first-run").rglob("*.csv"))
    assert "succeeded" in said[_only(typed, "--continue first")]
    attempts = said["mosaic show long"].partition("attempts")[2].partition("history")[0]
    assert 2 == len(attempts.strip().splitlines())
    assert "succeeded" in attempts


def _only(lines: list[str], part: str) -> str:
    (found,) = [line for line in lines if part in line]
    return found


def _type(line: str, environment: Mapping[str, str], where: Path) -> str:
    done = subprocess.run(
        ["bash", "-c", line], env=environment, cwd=where, capture_output=True, text=True, timeout=300, check=False
    )
    assert 0 == done.returncode, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout
