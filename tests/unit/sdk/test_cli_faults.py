"""What goes wrong outside of our code is one sentence with its own exit code, and never a traceback."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mosaic.cli.faults import in_our_words

#: Nobody can make a directory there, root neither.
NOWHERE = "/sys/mosaic"


def typed(*words: str, home: Path | str) -> tuple[int, str]:
    """Run ``mosaic WORDS`` and return its exit code and what it said about its fault."""
    done = subprocess.run(
        [sys.executable, "-m", "mosaic.cli", *words],
        env={**os.environ, "MOSAIC_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file where a directory should be."""
    path = tmp_path / "file"
    path.touch()
    return path


@pytest.mark.parametrize("words", ["up", "up -d", "workers install reference", "demo"])
def test_a_state_directory_that_is_a_file_is_refused_in_a_sentence(file: Path, words: str) -> None:
    exit_code, said = typed(*words.split(), home=file)

    assert (2, 1) == (exit_code, said.count("\n")), said
    assert said.startswith(f"error: {file}")
    assert said.endswith("name a directory (MOSAIC_HOME names it)\n")


@pytest.mark.parametrize("words", ["up", "up -d", "workers install reference", "demo"])
def test_a_state_directory_that_cannot_be_is_refused_in_a_sentence(words: str) -> None:
    exit_code, said = typed(*words.split(), home=f"{NOWHERE}/home")

    assert (2, 1) == (exit_code, said.count("\n")), said
    assert said.startswith(f"error: {NOWHERE}")


def test_who_asks_for_json_gets_it_about_places_as_well(file: Path) -> None:
    exit_code, said = typed("workers", "install", "reference", "--json", home=file)

    assert (2, "bad_input") == (exit_code, json.loads(said.splitlines()[-1])["error"]["code"])


@pytest.mark.parametrize(
    ("error", "exit_code", "sentence"),
    [
        (OSError(errno.EROFS, "Read-only file system", "/a"), 2, "/a: cannot be used: read-only file system; choose"),
        (OSError(errno.EACCES, "Permission denied", "/a"), 2, "choose a place that you may write to"),
        (OSError(errno.EEXIST, "File exists", "/a"), 2, "/a: cannot be used: it is no directory; name a directory"),
        (OSError(errno.ENAMETOOLONG, "File name too long", "/a"), 2, "choose a shorter name"),
        (OSError(errno.ENOSPC, "No space left on device", "/a"), 1, "/a cannot be written: no space left on device"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "the disk cannot be written: no space left"),
        (OSError(errno.ENOENT, "No such file or directory", "/a", None, b"/b"), 2, "/b: cannot be used"),
    ],
)
def test_what_the_system_refuses_is_told_with_what_to_do(error: OSError, exit_code: int, sentence: str) -> None:
    told = in_our_words(error)

    assert exit_code == told.exit_code
    assert sentence in str(told)


@pytest.mark.parametrize("error", [ValueError("a bug"), OSError("without a number"), ConnectionResetError(104, "gone")])
def test_what_we_have_no_words_for_is_a_fault_in_the_code_and_stays_one(error: Exception) -> None:
    with pytest.raises(type(error)):
        in_our_words(error)
