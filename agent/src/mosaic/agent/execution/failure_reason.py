"""Which line of a dead worker's stderr says why it died: pure.

Libraries print warnings, progress bars and notes to stderr as well, and often last. None of these is ever taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: A sentence is one line, and not longer than this.
SENTENCE_LETTERS = 500

_TRACEBACK = re.compile(r"Traceback \(most recent call last\):")
_MODULE = re.compile(r"^(?:[a-z_]\w*\.)+(?=_?[A-Z]\w*(?::|$))", re.MULTILINE)
_FRAME = re.compile(r'\s+File "(?:.*/)?([^/"]+)", line (\d+)')
_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
#: What tools put before the lines of others: Ray the process, Python the bars of an exception group.
_PREFIX = re.compile(r"^\([^()]*\bpid=\d+[^()]*\) ?|^ +[|+] ?(?:-+ ?)?")
#: Heads of tracebacks after which a process goes on; what they tell is never why it ended.
_SURVIVED = re.compile(r"^(Exception ignored |Error in (atexit|sys\.excepthook)|--- Logging error ---)")
_CHAINED = re.compile(r"^(The above exception was the direct cause|During handling of the above exception)")
_IN_THREAD = re.compile(r"^Exception in thread ")
_IN_PROCESS = re.compile(r"^Process \S+:$")
#: What a process raises because the one that it talked to has died.
_LOST_CONTACT = re.compile(r"^(EOFError|BrokenPipeError|ConnectionResetError)\b")
_NOISE = re.compile(
    r"\d+%\||\d+/\d+ \[|\bit/s\b"  # progress bars
    r"|Warning\b|\b(WARN|WARNING|INFO|DEBUG)\b|^[WI]\d{4} |: [WI] |\bdeprecated\b"
    r"|^SIGTERM handler is not set|^Fatal Python error: (Aborted|Segmentation fault)|^Extension modules:"
)
_ERROR = re.compile(
    r"error|exception|fatal|fail|abort|panic|cannot|can't|could not|unable|denied|refused|invalid|no such|not found"
    r"|no module|missing|terminate called|what\(\):|killed",
    re.IGNORECASE,
)
_WHAT = re.compile(r"^\s*what\(\):\s*")


@dataclass(frozen=True)
class _Raised:
    """One exception of a traceback."""

    #: The line above the traceback.
    head: str
    sentence: str


def raised(stderr: Iterable[str]) -> str:
    """Return the line of the exception that ended the process, nothing if none is told.

    Of chained exceptions it is the one raised last; those of the main thread go before those of others.
    """
    told = [one for one in _exceptions(stderr) if one.sentence and not _SURVIVED.match(one.head)]
    told = [one for one in told if not _IN_THREAD.match(one.head)] or told
    if not told:
        return ""
    in_child = [one for one in told if _IN_PROCESS.match(one.head)]
    is_echo = in_child and _LOST_CONTACT.match(told[-1].sentence)
    return (in_child if is_echo else told)[-1].sentence


def causes(stderr: Iterable[str]) -> list[str]:
    """Return the lines of the exception told last and of those that led to it."""
    found: list[str] = []
    for one in reversed(_exceptions(stderr)):
        found.append(one.sentence)
        if not _CHAINED.match(one.head):
            break
    return found


def complaint(stderr: Iterable[str]) -> str:
    """Return the last line that looks like an error, nothing if none does."""
    errors = [line for line in _plain(stderr) if _is_telling(line) and _ERROR.search(line)]
    return sentence(_WHAT.sub("", errors[-1])) if errors else ""


def last_line(stderr: Iterable[str]) -> str:
    """Return the last line if it may be an answer to why, nothing if it is noise."""
    lines = [line for line in _plain(stderr) if line.strip()]
    return sentence(lines[-1]) if lines and _is_telling(lines[-1]) else ""


def sentence(text: str) -> str:
    """Return the line of *text* that tells what it is about; a list of faults becomes one line."""
    first, *rest = [line.strip() for line in text.strip().splitlines() if line.strip()] or [""]
    if rest and all(line.startswith("- ") for line in rest):
        first = f"{first}: {'; '.join(line[2:] for line in rest)}"
    elif rest and first.endswith(":"):
        first = f"{first} {rest[0]}"
    return first if len(first) <= SENTENCE_LETTERS else first[: SENTENCE_LETTERS - 1] + "…"


def _plain(stderr: Iterable[str]) -> list[str]:
    return [_PREFIX.sub("", _COLOUR.sub("", line)) for line in stderr]


def _exceptions(stderr: Iterable[str]) -> list[_Raised]:
    lines = _plain(stderr)
    return [_read(lines, at) for at, line in enumerate(lines) if _TRACEBACK.search(line)]


def _read(lines: Sequence[str], at: int) -> _Raised:
    head = next((line for line in reversed(lines[:at]) if line.strip()), "")
    # The frames are indented; what follows them is the exception.
    end = next((n for n in range(at + 1, len(lines)) if lines[n].strip() and not lines[n][0].isspace()), len(lines))
    told = sentence(_MODULE.sub("", "\n".join(lines[end : end + 2])))
    frames = [frame for line in lines[at:end] if (frame := _FRAME.match(line))]
    if told.isidentifier() and frames:
        # One without a message, as of ``assert``: where says more than what.
        told = f"{told} at {frames[-1][1]}:{frames[-1][2]}"
    return _Raised(head.strip(), told)


def _is_telling(line: str) -> bool:
    is_frame = line[:1].isspace() and not _WHAT.match(line)
    return bool(line.strip()) and not is_frame and not _NOISE.search(line)
