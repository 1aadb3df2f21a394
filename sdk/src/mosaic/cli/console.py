"""Where the command prints: the answer, and what is said beside it."""

from __future__ import annotations

import re
from typing import Any

from rich.console import Console
from rich.markup import escape

#: Whoever reads a pipe or a file wants rows whole, however long they are.
_UNBOUND = 100_000


class _Out(Console):
    def __init__(self, **settings: Any) -> None:
        super().__init__(highlight=False, **settings)
        if not self.is_terminal:
            self.width = _UNBOUND

    def on_broken_pipe(self) -> None:
        # Whoever runs the command decides what a reader's leaving means; rich would call it a failure.
        raise BrokenPipeError


def new_console(*, stderr: bool = False) -> Console:
    """Return a console for what standard output, or standard error, is now."""
    return _Out(stderr=stderr)


out = new_console()
#: For what is said beside the answer, so that a pipe gets the answer alone.
aside = new_console(stderr=True)

#: What colours text, and does no more.
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
#: What a terminal obeys, and what turns the direction of reading. Tabs and line ends are harmless; carriage returns
#: never get past rich.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def display(text: object, console: Console = out) -> str:
    """Return what a user or a worker wrote for use in markup.

    Nothing in it is taken for markup. On a terminal nothing in it reaches further than its letters: colours are left
    out, and every other control character is spelt.
    """
    plain_text = str(text)
    if console.is_terminal:
        plain_text = _CONTROL.sub(lambda found: ascii(found[0])[1:-1], _COLOUR.sub("", plain_text))
    return escape(plain_text)
