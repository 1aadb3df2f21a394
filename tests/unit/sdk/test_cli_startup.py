"""What the ``mosaic`` command imports before it does anything: people wait for every module."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from mosaic.cli.app import app
from mosaic.cli.verbs import VERBS

#: What takes long to import, and none of it is needed to say how the command is used.
HEAVY = {
    *(
        "grpc",
        "google.protobuf",
        "httpx2",
        "pydantic",
        "msgspec",
        "sqlalchemy",
        "alembic",
        "celery",
        "kombu",
        "structlog",
    ),
    *("celery", "kombu", "structlog"),
    *("rich.live", "rich.markdown", "rich.traceback", "pygments", "yaml", "asyncio", "prometheus_client", "numpy"),
    *("mosaic.client", "mosaic.installer.environments", "mosaic.testing", "mosaic_embedded.platform"),
}
#: What speaks to a platform needs this much of it, and no more.
SPEAKING = {"mosaic.client", "httpx2"}


def imported(*words: str, **variables: str) -> set[str]:
    """Return every module that ``mosaic WORDS`` imports."""
    typed = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "mosaic.cli", *words],
        env={**os.environ, "MOSAIC_HOME": "/nonexistent/home", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in typed.stderr, typed.stderr[-2000:]
    found = {line.rpartition("|")[2].strip() for line in typed.stderr.splitlines() if line.startswith("import time:")}
    assert "mosaic.cli.app" in found
    return found


@pytest.mark.parametrize("words", [("--help",), (), ("--version",)])
def test_help_and_version_import_nothing_heavy(words: tuple[str, ...]) -> None:
    assert set() == HEAVY & imported(*words)


@pytest.mark.parametrize("words", ["up --help", "down", "down --help", "demo --help", "simulate --help"])
def test_what_needs_no_platform_imports_nothing_of_one(words: str) -> None:
    assert set() == HEAVY & imported(*words.split())


def test_completing_a_verb_imports_nothing_heavy() -> None:
    asked = {"_MOSAIC_COMPLETE": "complete_bash", "COMP_WORDS": "mosaic re", "COMP_CWORD": "1"}

    assert set() == HEAVY & imported(**asked)


@pytest.mark.parametrize(
    "words", ["runs", "show RUN", "cancel RUN", "follow RUN", "logs RUN", "metrics RUN", "compare RUN", "fleet"]
)
def test_a_verb_imports_no_more_than_it_takes_to_ask_the_platform(words: str) -> None:
    assert set() == (HEAVY - SPEAKING) & imported(*words.split())


def test_a_submit_imports_nothing_that_executes_runs() -> None:
    assert set() == (HEAVY - SPEAKING - {"yaml"}) & imported("submit", "reference")


@pytest.mark.parametrize("name", VERBS)
def test_the_list_of_verbs_says_what_each_says_about_itself(name: str) -> None:
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]

    assert command.help.startswith(VERBS[name].help.removesuffix("."))


def test_ctrl_c_while_the_code_is_still_being_read_is_no_fault(tmp_path: Path) -> None:
    """The signal comes in the middle of the first import that takes its time."""
    # Tests that a shell started in the background hand on that Ctrl-C is ignored; a terminal does not.
    terminal = "import os, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    (tmp_path / "typer.py").write_text(f"{terminal}os.kill(os.getpid(), signal.SIGINT)\n" + "pass\n" * 1000)

    typed = subprocess.run(
        [sys.executable, "-m", "mosaic.cli", "runs"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (130, "", "") == (typed.returncode, typed.stdout, typed.stderr)
