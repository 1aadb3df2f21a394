"""Options that several verbs share, and how their values are read."""

from __future__ import annotations

import getpass
import math
import os
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, ParamSpec, TypeVar

import typer

from mosaic.cli.yaml_values import load
from mosaic.client import Mosaic
from mosaic.errors import BadInput

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text for people.")]
RunArgument = Annotated[str, typer.Argument(help="Run id, or its first or last characters.", show_default=False)]
AttemptOption = Annotated[int, typer.Option("--attempt", help="Only this attempt; 0 = all of them.")]

Given = ParamSpec("Given")
T = TypeVar("T")

#: More than any platform takes in one submit, and few enough to be counted here.
_MOST_SEEDS = 10_000
_LARGEST_SEED = 2**63 - 1
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)\Z")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def connect() -> Mosaic:
    """Return the platform this command speaks to."""
    return Mosaic.connect()


def current_user() -> str:
    """Return who asks: ``MOSAIC_USER``, or the login name."""
    return os.environ.get("MOSAIC_USER") or getpass.getuser()


def current_team() -> str:
    """Return for which team: ``MOSAIC_TEAM``, or the platform's default."""
    return os.environ.get("MOSAIC_TEAM", "")


def read_pairs(option: str, pairs: Iterable[str]) -> dict[str, str]:
    """Return ``KEY=VALUE`` texts as a dictionary.

    Raises:
        BadInput: lists every text that has no ``=``.
    """
    faults = [f"{pair!r} is not KEY=VALUE" for pair in pairs if "=" not in pair]
    if faults:
        raise BadInput(option, faults)
    return dict(pair.split("=", 1) for pair in pairs)


def read_values(option: str, pairs: Iterable[str]) -> dict[str, Any]:
    """Return ``KEY=VALUE`` texts whose values are read as YAML: ``lr=0.1``, ``on=true``, ``sizes=[64,64]``.

    Raises:
        BadInput: lists every text that cannot be read.
    """
    given, faults = read_pairs(option, pairs), Faults()
    values = {key: faults.read(load, f"{option} {key}", text) for key, text in given.items()}
    faults.tell(option)
    return values


def read_span(option: str, text: str) -> float:
    """Return the seconds of ``90``, ``90s``, ``15m``, ``2h`` or ``1d``; an empty text is 0.

    Raises:
        BadInput: the text is none of them.
    """
    if not text:
        return 0.0
    match = _SPAN.match(text)
    if match is None or not math.isfinite(float(match[1])):
        raise BadInput(option, [f"{text!r} is not a time; write 90s, 15m, 2h or 1d"])
    return float(match[1]) * _SECONDS[match[2]]


def read_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of ``7``, ``1,2,3`` or ``1..5``; an empty text names none.

    Raises:
        BadInput: the text is none of them.
    """
    if not text:
        return ()
    seeds: list[int] = []
    for part in text.split(","):
        found = _seed_range(part.strip())
        if len(seeds) + len(found) > _MOST_SEEDS:
            raise BadInput("--seed", [f"{part.strip()!r} is too much at once: at most {_MOST_SEEDS} seeds"])
        seeds += found
    return tuple(seeds)


def _seed_range(text: str) -> range:
    first, dots, last = text.partition("..")
    try:
        begin = int(first)
        end = int(last) if dots else begin
    except ValueError:
        raise BadInput("--seed", [f"{text!r} is not a seed; write 7, 1,2,3 or 1..5"]) from None
    if max(abs(begin), abs(end)) > _LARGEST_SEED:
        raise BadInput("--seed", [f"{text!r} is too large; a seed has at most 63 bits"])
    if end < begin:
        raise BadInput("--seed", [f"{text!r} runs backwards; write {end}..{begin}"])
    return range(begin, end + 1)


class Faults:
    """What is wrong with a command line, gathered so that all of it is said at once."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def read(self, reader: Callable[Given, T], *given: Given.args, **more: Given.kwargs) -> T | None:
        """Return what *reader* makes of the rest; what it refuses is kept, and None returned."""
        try:
            return reader(*given, **more)
        except BadInput as error:
            self._found += [f"{error.source}: {fault}" for fault in error.faults]
            return None

    def add(self, fault: str) -> None:
        """Keep one more fault."""
        self._found.append(fault)

    def tell(self, source: str) -> None:
        """Return if everything could be read.

        Raises:
            BadInput: lists what could not.
        """
        if self._found:
            raise BadInput(source, self._found)
