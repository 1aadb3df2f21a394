"""What a log line shows, and what it must not."""

from __future__ import annotations

import contextlib
import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from mosaic.hosting.logs import configure_logs


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _leave_logging_as_it_was() -> Iterator[None]:
    root, settings = logging.getLogger(), structlog.get_config()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = handlers, level
    structlog.configure(**settings)
    structlog.contextvars.clear_contextvars()


def fail_with(password: str) -> None:
    raise ValueError(f"refused a password of {len(password)} letters")


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "file"])
def test_a_traceback_shows_no_local_variables(stream: io.StringIO) -> None:
    configure_logs("scheduler", stream=stream)

    try:
        fail_with("".join(("s3", "cret")))
    except ValueError:
        structlog.get_logger("fresh").exception("submit failed")

    assert "refused a password of 6 letters" in stream.getvalue()
    assert "s3cret" not in stream.getvalue()


def test_a_file_gets_one_json_object_per_line() -> None:
    stream = io.StringIO()
    configure_logs("scheduler", stream=stream)

    structlog.get_logger("plain").info("round planned", admitted=3)

    (line,) = stream.getvalue().splitlines()
    said = json.loads(line)
    assert ("round planned", 3, "scheduler", "info") == tuple(
        said[key] for key in ("event", "admitted", "service", "level")
    )


def test_on_a_full_disk_lines_are_lost_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(OSError), open("/dev/full", "w") as full:
        configure_logs("toy", stream=full, as_json=True)

        for _ in range(3):
            structlog.get_logger("full").warning("nobody reads this")

    assert ("", "") == capfd.readouterr()
