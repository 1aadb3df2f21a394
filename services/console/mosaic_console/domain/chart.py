"""A chart as numbers and paths: what a template needs to draw it, without a script."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

#: Colours for arms; there are as many tokens `--arm-N` in the style.
COLOURS = 8
#: The same for a picture that leaves the page, dark enough on white (Okabe and Ito, yellow darkened).
HEX = ("#0072b2", "#d55e00", "#009e73", "#b0568a", "#b87900", "#2a8fc7", "#8a7d00", "#444444")
_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)
_THOUSAND, _MILLION = 1e4, 1e6
_DECADES = 2.0

Scale = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis, in pixels."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """One arm."""

    name: str
    #: Number of its colour, and whether it is drawn dashed, because another arm has that colour.
    colour: int
    dashed: bool
    path: str
    band: str
    traces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything in pixels from the upper left."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    x: tuple[Tick, ...]
    y: tuple[Tick, ...]
    lines: tuple[Line, ...]
    #: What the left and the right edge stand for.
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Curve:
    """What one arm is drawn from; what is no finite number is a gap."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    traces: Sequence[Sequence[float]] = ()


def colours_of(names: Sequence[str]) -> list[tuple[int, bool]]:
    """Return for each name a colour that it has in whatever company, unless that is taken; more than all are dashed."""
    taken: dict[int, int] = {}
    found: list[tuple[int, bool]] = []
    for name in names:
        wanted = sum(place * ord(letter) for place, letter in enumerate(name, start=1)) % COLOURS
        colour = min(range(COLOURS), key=lambda one: (taken.get(one, 0), (one - wanted) % COLOURS))
        found.append((colour, taken.get(colour, 0) > 0))
        taken[colour] = taken.get(colour, 0) + 1
    return found


def draw(
    curves: Sequence[Curve], *, width: int = 960, height: int = 340, log_y: bool = False, with_traces: bool = False
) -> Chart:
    """Return the chart of *curves*; its y reaches from the lowest to the highest of what is drawn."""
    left, right, top, bottom = 56, width - 12, 12, height - 28
    shown = [value for one in curves for row in _rows(one, with_traces) for value in row if _is_drawn(value, log_y)]
    low, high = _room(min(shown, default=0.0), max(shown, default=1.0), log_y)
    xs = [value for one in curves for value in one.x if math.isfinite(value)]
    begin, end = min(xs, default=0.0), max(xs, default=1.0)
    end = end if end > begin else begin + 1.0

    def at_x(value: float) -> float:
        return left + (value - begin) / (end - begin) * (right - left)

    def at_y(value: float) -> float:
        share = math.log(value / low) / math.log(high / low) if log_y else (value - low) / (high - low)
        return bottom - share * (bottom - top)

    def line(values: Sequence[float], xs: Sequence[float]) -> str:
        return _path([(at_x(x), at_y(y)) if _is_drawn(y, log_y) else None for x, y in zip(xs, values, strict=True)])

    lines = [
        Line(
            one.name,
            colour,
            dashed,
            line(one.y, one.x),
            _area(one, at_x, at_y, log_y),
            tuple(line(trace, one.x) for trace in one.traces) if with_traces else (),
        )
        for one, (colour, dashed) in zip(curves, colours_of([one.name for one in curves]), strict=True)
    ]
    marks_y = _decades(low, high) if log_y else nice(low, high, 5)
    return Chart(
        width, height, left, right, top, bottom,
        tuple(Tick(round(at_x(at), 1), short(at)) for at in nice(begin, end, 7)),
        tuple(Tick(round(at_y(at), 1), short(at)) for at in marks_y),
        tuple(lines), begin, end,
    )  # fmt: skip


def nice(low: float, high: float, about: int) -> list[float]:
    """Return round numbers from *low* to *high*, *about* so many."""
    rough = (high - low) / max(about, 1)
    if not (math.isfinite(rough) and rough > 0):
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * one for one in _NICE if power * one >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def short(value: float) -> str:
    """Return a number as an axis shows it."""
    for unit, letter in ((_MILLION, "M"), (_THOUSAND / 10, "k")):
        if abs(value) >= (unit if unit == _MILLION else _THOUSAND):
            return f"{value / unit:.4g}{letter}"
    return f"{value:.4g}" if abs(value) < _THOUSAND / 10 else f"{value:,.0f}"


def _rows(curve: Curve, with_traces: bool) -> Iterable[Sequence[float]]:
    return (curve.y, curve.low, curve.high, *(curve.traces if with_traces else ()))


def _is_drawn(value: float, log_y: bool) -> bool:
    return math.isfinite(value) and (not log_y or value > 0)


def _room(low: float, high: float, log_y: bool) -> tuple[float, float]:
    if log_y:
        return (low, high) if high > low > 0 else (max(low, 1e-12) / 2, max(high, 1e-12) * 2)
    margin = (high - low) * 0.04 or abs(high) * 0.1 or 1.0
    return low - margin, high + margin


def _decades(low: float, high: float) -> list[float]:
    if math.log10(high / low) < _DECADES:
        return [at for at in nice(low, high, 5) if at > 0]
    return [10.0**power for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]


def _path(points: Sequence[tuple[float, float] | None]) -> str:
    parts = [f"M{first[0]:.1f} {first[1]:.1f}" for first in points[:1] if first]
    for before, point in pairwise(points):
        if point is not None:
            parts.append(f"{'L' if before else 'M'}{point[0]:.1f} {point[1]:.1f}")
    return "".join(parts)


def _area(curve: Curve, at_x: Scale, at_y: Scale, log_y: bool) -> str:
    """Return the outline of every stretch that has both edges."""
    both = zip(curve.x, curve.low, curve.high, strict=True)
    edges = [(x, low, high) if _is_drawn(low, log_y) and _is_drawn(high, log_y) else None for x, low, high in both]
    found, stretch = "", list[tuple[float, float, float]]()
    for edge in [*edges, None]:
        if edge is not None:
            stretch.append(edge)
        elif stretch:
            there = [(at_x(x), at_y(high)) for x, _, high in stretch]
            back = [(at_x(x), at_y(low)) for x, low, _ in reversed(stretch)]
            found += _path([*there, *back]) + "Z"
            stretch = []
    return found
