"""Options that several verbs share, and how their values are read."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Iterable
from typing import Annotated, Any

import typer
import yaml

from mosaic.client import Mosaic
from mosaic.errors import BadInput

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text for people.")]
RunArgument = Annotated[str, typer.Argument(help="Run id, or the first characters of it.", show_default=False)]
AttemptOption = Annotated[int, typer.Option("--attempt", help="Only this attempt; 0 = all of them.")]

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
    """Return ``KEY=VALUE`` texts whose values are read as YAML: ``lr=0.1``, ``on=true``, ``sizes=[64,64]``."""
    values = {}
    for key, text in read_pairs(option, pairs).items():
        try:
            values[key] = _number_like(yaml.safe_load(text))
        except yaml.YAMLError as error:
            raise BadInput(option, [f"{key}={text!r} cannot be read: {error}"]) from error
    return values


def _number_like(value: Any) -> Any:
    # YAML 1.1 takes 1e-3 for text because it lacks a dot; nobody who types it means text.
    if isinstance(value, str) and re.fullmatch(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+", value):
        return float(value)
    return value


def read_span(option: str, text: str) -> float:
    """Return the seconds of ``90``, ``90s``, ``15m``, ``2h`` or ``1d``; an empty text is 0.

    Raises:
        BadInput: the text is none of them.
    """
    if not text:
        return 0.0
    match = _SPAN.match(text)
    if match is None:
        raise BadInput(option, [f"{text!r} is not a time; write 90s, 15m, 2h or 1d"])
    return float(match[1]) * _SECONDS[match[2]]


def read_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of ``7``, ``1,2,3`` or ``1..5``; an empty text names none.

    Raises:
        BadInput: the text is none of them.
    """
    seeds: list[int] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        first, dots, last = part.partition("..")
        try:
            seeds += range(int(first), int(last) + 1) if dots else [int(first)]
        except ValueError as error:
            raise BadInput("--seed", [f"{part!r} is not a seed; write 7, 1,2,3 or 1..5"]) from error
    return tuple(seeds)
