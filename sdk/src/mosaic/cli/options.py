"""Options that several verbs share, and how their values are read."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

import typer

from mosaic.errors import BadInput, NotFound

if TYPE_CHECKING:
    from mosaic.client import Mosaic, Run

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text for people.")]
RunArgument = Annotated[str, typer.Argument(help="Run id, the start or end of one, or a name.", show_default=False)]
RunArguments = Annotated[list[str], typer.Argument(help="Run ids, the start or end of one, or names.")]
AttemptOption = Annotated[int, typer.Option("--attempt", help="Only this attempt; 0 = all of them.")]

Given = ParamSpec("Given")
T = TypeVar("T")

#: More than any platform takes in one submit, and few enough to be counted here.
_MOST_SEEDS = 10_000
#: Runs that one name may mean at once.
_MOST_OF_A_NAME = 1000
_LARGEST_SEED = 2**63 - 1
#: More steps than any training has, and few enough to be counted.
_LARGEST_COUNT = 10**15
_COUNT = re.compile(r"\d[\d_]*(\.\d+)?([eE]\+?\d{1,3})?\Z", re.ASCII)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)\Z")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def connect() -> Mosaic:
    """Return the platform this command speaks to."""
    # What speaks to it takes long to import; verbs that may answer by themselves need not wait for that.
    from mosaic.client import Mosaic

    return Mosaic.connect()


def current_team() -> str:
    """Return for which team: ``MOSAIC_TEAM``, or the platform's default."""
    return os.environ.get("MOSAIC_TEAM", "")


def runs_named(platform: Mosaic, names: Iterable[str], *, all_of_a_name: bool = True) -> list[Run]:
    """Return every run that *names* mean: ids, parts of them, or names, which may be those of several runs.

    Raises:
        BadInput: something could mean several runs.
        NotFound: lists what means none.
    """
    found: dict[str, Run] = {}
    unknown = []
    for name in names:
        try:
            found |= {run.run_id: run for run in _runs_of(platform, name, all_of_a_name=all_of_a_name)}
        except NotFound as error:
            unknown.append(str(error))
    if unknown:
        raise NotFound("\n".join([*unknown, *(["nothing was done to the others"] if found else [])]))
    return list(found.values())


def _runs_of(platform: Mosaic, name: str, *, all_of_a_name: bool) -> list[Run]:
    try:
        return [platform.run(name).run]
    except BadInput:
        named = platform.runs(name=name, limit=_MOST_OF_A_NAME) if all_of_a_name else []
        if len(named) < 2:
            raise  # parts of ids are never guessed at
        return named[::-1]  # the oldest first, as they would be typed


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

    A key with dots, as in ``algo_params.gamma=0.9``, is that of a setting within others; `assign` puts it there.

    Raises:
        BadInput: lists every text that cannot be read.
    """
    # Few verbs take values, and reading YAML takes longer to import than most of them do.
    from mosaic.cli.yaml_values import load

    given, faults = read_pairs(option, pairs), Faults()
    values = {key: faults.read(load, f"{option} {key}", text) for key, text in given.items()}
    faults.raise_if_any(option)
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
    """Return the seeds of ``7``, ``1,2,3`` or ``1..5``.

    Raises:
        BadInput: the text is none of them.
    """
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


def assign(option: str, config: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return *config* with *values*, where the dots of a key lead into objects; *config* itself stays as it is.

    Raises:
        BadInput: a key leads into something that holds no settings.
    """
    assigned, faults = dict(config), Faults()
    for key, value in values.items():
        faults.read(_put, option, assigned, key, value)
    faults.raise_if_any("submit")
    return assigned


def _put(option: str, config: dict[str, Any], key: str, value: Any) -> None:
    *way, last = key.split(".")
    if not all((*way, last)):
        raise BadInput(option, [f"{key!r} lacks a name beside one of its dots"])
    place = config
    for name in way:
        inner = place.get(name)
        if inner is not None and not isinstance(inner, Mapping):
            raise BadInput(option, [f"{key!r} leads into {name}, which is {inner!r} and holds no settings"])
        # A copy, since what was given belongs to whoever gave it.
        place[name] = dict(inner or {})
        place = place[name]
    place[last] = value


def read_count(option: str, value: Any) -> int:
    """Return the whole number of ``100000``, ``100_000`` or ``1e5``.

    Raises:
        BadInput: it is none, or not even 1.
    """
    text = str(value).strip()
    number = Decimal(text) if _COUNT.match(text) else None
    if number is None or not 1 <= number <= _LARGEST_COUNT or number != int(number):
        raise BadInput(option, [f"{text[:40]!r} is no number of steps; write 100000, 100_000 or 1e5, and at least 1"])
    return int(number)


def read_limit(option: str, value: Any) -> timedelta:
    """Return a time limit, as `read_span` reads it; none at all is no limit.

    Raises:
        BadInput: it is no time, or 0.
    """
    seconds = read_span(option, str(value) or "nothing")
    if not seconds:
        raise BadInput(option, [f"{value!r} is no time at all; leave it out for no limit"])
    try:
        return timedelta(seconds=seconds)
    except OverflowError:
        raise BadInput(option, [f"{value!r} is longer than anybody can wait"]) from None


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

    def add_all(self, faults: Iterable[str]) -> None:
        """Keep more faults."""
        self._found += faults

    def raise_if_any(self, source: str) -> None:
        """Return if everything could be read.

        Raises:
            BadInput: lists what could not.
        """
        if self._found:
            raise BadInput(source, self._found)
