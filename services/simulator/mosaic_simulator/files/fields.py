"""Read the fields of a hand-written file one by one, and note every fault with its line."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from typing import Any

from mosaic.errors import BadInput, did_you_mean
from mosaic.ids import is_id

_MISSING = object()
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d)\Z")
_SECONDS_PER_UNIT = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class Faults:
    """Collects what is wrong with one file, so that a person can mend it in one go."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._found: list[tuple[int, str]] = []

    def add(self, line: int, what: str) -> None:
        """Note that *line* has the fault *what*."""
        self._found.append((line, what))

    def raise_if_any(self) -> None:
        """End the reading if anything was noted.

        Raises:
            BadInput: with every fault, in the order of the lines.
        """
        if self._found:
            raise BadInput(self.source, [f"line {line}: {what}" for line, what in sorted(self._found)])


class Fields:
    """One mapping of a file: fields are taken out by name, and what nobody took is a fault.

    A field that cannot be used is noted and its default (or a harmless stand-in) is returned,
    so the reader goes on and finds the rest; `Faults.raise_if_any` decides at the end.
    """

    def __init__(self, values: Mapping[str, Any], line: int, faults: Faults, *, where: str = "") -> None:
        """Read *values*; a mapping that knows the ``lines`` of its keys gives exact line numbers."""
        self._values = values
        self._line = line
        self._lines: Mapping[str, int] = getattr(values, "lines", {})
        self._faults = faults
        self._where = f"{where}: " if where else ""
        self._taken: set[str] = set()

    def line_of(self, name: str) -> int:
        """Return the line *name* stands on, or that of the whole mapping."""
        return self._lines.get(name, self._line)

    def fault(self, name: str, what: str) -> None:
        """Note that the field *name* is wrong."""
        self._faults.add(self.line_of(name), f"{self._where}{name} {what}")

    def add_faults(self, faults: Iterable[str]) -> None:
        """Note *faults* that concern the mapping as a whole."""
        for what in faults:
            self._faults.add(self._line, f"{self._where}{what}")

    def has(self, name: str) -> bool:
        """Tell whether the field is present and not null."""
        return self._values.get(name) is not None

    def raw(self, name: str, default: Any = _MISSING) -> Any:
        """Return the field as it was written."""
        self._taken.add(name)
        value = self._values.get(name)
        if value is not None:
            return value
        if default is _MISSING:
            self._faults.add(self._line, f"{self._where}{name} is missing")
            return None
        return default

    def name(self, name: str, default: Any = _MISSING) -> str:
        """Return an id: letters, digits and ``. _ @ -``."""
        value = self.raw(name, default)
        if isinstance(value, str) and is_id(value):
            return value
        if value is not None:
            self.fault(name, f"must be a name of letters, digits and . _ @ -, not {value!r}")
        return "?"

    def known_name(self, name: str, known: Collection[str] | None, where: str) -> str:
        """Return an id that *known* has (any, without *known*); *where* says where it would have to stand."""
        value = self.name(name)
        if known is not None and value not in known and value != "?":
            self.fault(name, f"{value!r} is not in {where}{did_you_mean(value, known)}")
        return value

    def truth(self, name: str, default: Any = _MISSING) -> bool:
        """Return true or false."""
        value = self.raw(name, default)
        if value is not None and not isinstance(value, bool):
            self.fault(name, f"must be true or false, not {value!r}")
        return value is True

    def number(self, name: str, default: Any = _MISSING, *, at_least: float = 0, above: float | None = None) -> float:
        """Return a finite number within its bounds."""
        value = self.raw(name, default)
        if value is None:
            return at_least
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            self.fault(name, f"must be a number, not {value!r}")
            return at_least
        if above is not None and value <= above:
            self.fault(name, f"must be above {above:g}, not {value:g}")
        elif value < at_least:
            self.fault(name, f"must be at least {at_least:g}, not {value:g}")
        return float(value)

    def whole(self, name: str, default: Any = _MISSING, *, at_least: int = 0) -> int:
        """Return a whole number of at least *at_least*."""
        value = self.raw(name, default)
        if value is None:
            return at_least
        if isinstance(value, bool) or not isinstance(value, int):
            self.fault(name, f"must be a whole number, not {value!r}")
            return at_least
        if value < at_least:
            self.fault(name, f"must be at least {at_least}, not {value}")
        return value

    def span(self, name: str, default: Any = _MISSING) -> timedelta:
        """Return a time span: a number of seconds, or text such as ``90s``, ``15m``, ``6h``, ``7d``."""
        value = self.raw(name, default)
        if isinstance(value, timedelta):
            return value
        seconds = _seconds_of(value)
        if seconds is None and value is not None:
            self.fault(name, f"must be seconds or a span such as 90s, 15m, 6h, 7d, not {value!r}")
        return timedelta(seconds=seconds or 0)

    def choice(self, name: str, known: Iterable[str], default: Any = _MISSING) -> str:
        """Return one of *known*; a near miss is answered with the name that was meant."""
        options = tuple(known)
        value = self.raw(name, default)
        if value in options or value is None:
            return value if value is not None else options[0]
        near = did_you_mean(str(value), options)
        self.fault(name, f"cannot be {value!r}{near} (one of: {', '.join(options)})")
        return options[0]

    def names(self, name: str, default: Any = _MISSING) -> tuple[str, ...]:
        """Return a list of ids."""
        value = self.raw(name, default)
        if value is None:
            return ()
        if isinstance(value, list | tuple) and all(isinstance(item, str) and is_id(item) for item in value):
            return tuple(value)
        self.fault(name, f"must be a list of names, not {value!r}")
        return ()

    def mapping(self, name: str, default: Any = _MISSING) -> Fields:
        """Return the mapping under *name*, to be read in the same way."""
        value = self.raw(name, default)
        if value is not None and not isinstance(value, Mapping):
            self.fault(name, f"must be a mapping, not {value!r}")
            value = None
        line = getattr(value, "line", self.line_of(name))
        return Fields(value or {}, line, self._faults, where=f"{self._where}{name}".replace(": ", "."))

    def names_of_fields(self) -> tuple[str, ...]:
        """Return the names of all fields, for a mapping whose keys are names; each must be an id."""
        for name in self._values:
            if not is_id(name):
                self.fault(name, "is not a name of letters, digits and . _ @ -")
        return tuple(self._values)

    def refuse_unknown(self) -> None:
        """Note every field that was not asked for, with the nearest name that would have been."""
        for name in self._values:
            if name not in self._taken:
                near = did_you_mean(str(name), self._taken)
                self._faults.add(self.line_of(name), f"{self._where}there is no field {name!r}{near}")


def _seconds_of(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
        return float(value)
    found = _SPAN.match(value) if isinstance(value, str) else None
    return float(found[1]) * _SECONDS_PER_UNIT[found[2]] if found else None
