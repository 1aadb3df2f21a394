"""What went wrong, as one message on standard error: a sentence, or JSON for who asked for JSON."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import typer

from mosaic.errors import BadInput, MosaicError
from mosaic.home import home_directory

#: What Typer raises for options and arguments that are not there, are missing or are none; it does not export it.
_UsageError: Any = typer.BadParameter.__bases__[0]

#: What a person can do about a place that cannot be used.
_ADVICE = {
    errno.EACCES: "choose a place that you may write to",
    errno.EPERM: "choose a place that you may write to",
    errno.EROFS: "choose a place that you may write to",
    errno.ENOTDIR: "name a directory",
    errno.EEXIST: "name a directory",
    errno.EISDIR: "name a file",
    errno.ENAMETOOLONG: "choose a shorter name",
}


class DiskFull(MosaicError):
    """The disk is full."""

    code = "disk_full"


def tell(error: Exception, *, as_json: bool) -> int:
    """Say on standard error what went wrong and return the exit code; what we have no words for is raised again."""
    ours = in_our_words(error)
    if as_json:
        from mosaic.worker.plain import to_json

        print(to_json({"error": {"code": ours.code, "message": str(ours)}}), file=sys.stderr)
    else:
        from mosaic.cli.console import aside, display

        aside.print(f"[bold red]error:[/] {display(ours, aside)}", soft_wrap=True)
    return ours.exit_code


def in_our_words(error: Exception) -> MosaicError:
    """Return *error* as one that says what, which one and what to do.

    The system's refusals become sentences here and nowhere else: a place that cannot be used is bad input, whichever
    verb was about to use it. Everything else that is not ours is a fault in the code, and is raised as it is.
    """
    if isinstance(error, MosaicError):
        return error
    if isinstance(error, _UsageError):
        return BadInput("command line", [error.format_message()])
    if not isinstance(error, OSError) or error.errno is None:
        raise error
    place = os.fspath(error.filename2 or error.filename) if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"{place or 'the disk'} cannot be written: {_why(error)}; free some space and try again")
    if not place:
        raise error
    advice = _ADVICE.get(error.errno, "choose another place")
    is_in_home = Path(os.fsdecode(place)).absolute().is_relative_to(home_directory(os.environ).absolute())
    named = " (MOSAIC_HOME names it)" if is_in_home else ""
    return BadInput(os.fsdecode(place), [f"cannot be used: {_why(error)}; {advice}{named}"])


def _why(error: OSError) -> str:
    # Who makes a directory hears of a file in its place that it exists, which is not what is wrong with it.
    if error.errno == errno.EEXIST:
        return "it is no directory"
    return (error.strerror or str(error)).lower()
