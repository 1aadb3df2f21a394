"""Plots as SVG text: lines and stacked areas over time, styled by the page they stand in."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 640.0, 240.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 12.0, 10.0, 28.0
_TICKS = 4
_COLOURS = 8

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Series:
    """One named curve; its place in the list of series gives it its colour."""

    name: str
    points: Points


@dataclass(frozen=True)
class Axis:
    """The span of one direction, and how its ticks are written."""

    low: float
    high: float
    label: Callable[[float], str]
    is_logarithmic: bool = False
    #: Distances between ticks to choose from; 1, 2 or 5 times a power of ten when there are none.
    steps: tuple[float, ...] = ()

    def position(self, value: float) -> float:
        """Return where *value* lies between the ends, as 0 to 1."""
        if self.is_logarithmic:
            low, high = math.log10(self.low), math.log10(self.high)
            return (math.log10(max(value, self.low)) - low) / ((high - low) or 1.0)
        return (value - self.low) / ((self.high - self.low) or 1.0)

    def ticks(self) -> list[float]:
        """Return round values within the span."""
        if self.is_logarithmic:
            return [10.0**power for power in range(round(math.log10(self.low)), round(math.log10(self.high)) + 1)]
        step = self._step((self.high - self.low) / _TICKS)
        first = math.ceil(self.low / step)
        return [index * step for index in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def _step(self, rough: float) -> float:
        return next((step for step in self.steps if step >= rough), None) or _round_step(rough)


def line_plot(title: str, series: Sequence[Series], across: Axis, up: Axis) -> str:
    """Return a figure with one line for each of *series*."""
    lines = "".join(
        f'<path class="line c{index % _COLOURS}" d="M{_path(one.points, across, up)}">'
        f"<title>{escape(one.name)}</title></path>"
        for index, one in enumerate(series)
    )
    return _figure(title, series, across, up, lines)


def stacked_plot(title: str, series: Sequence[Series], across: Axis, up: Axis) -> str:
    """Return a figure with *series* on top of each other; all must have the same moments."""
    areas = []
    floor: Points = [(x, 0.0) for x, _ in series[0].points] if series else []
    for index, one in enumerate(series):
        ceiling = [(x, low + value) for (x, low), (_, value) in zip(floor, one.points, strict=True)]
        outline = f"{_path(ceiling, across, up)}L{_path(list(reversed(floor)), across, up)}Z"
        areas.append(f'<path class="area f{index % _COLOURS}" d="M{outline}"><title>{escape(one.name)}</title></path>')
        floor = ceiling
    return _figure(title, series, across, up, "".join(areas))


def _figure(title: str, series: Sequence[Series], across: Axis, up: Axis, body: str) -> str:
    legend = "".join(
        f'<span><i class="key k{index % _COLOURS}"></i>{escape(one.name)}</span>' for index, one in enumerate(series)
    )
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escape(title)}">'
        f"{_grid(across, up)}{body}</svg>"
        f'<div class="legend">{legend}</div></figure>'
    )


def _grid(across: Axis, up: Axis) -> str:
    parts = []
    for tick in up.ticks():
        y = _y(tick, up)
        parts.append(f'<path class="grid" d="M{_LEFT:g},{y:.1f}H{_WIDTH - _RIGHT:g}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 7:g}" y="{y + 4:.1f}" text-anchor="end">{up.label(tick)}</text>')
    for tick in across.ticks():
        x, y = _x(tick, across), _HEIGHT - _BOTTOM + 18
        anchor = "end" if x > _WIDTH - 2 * _RIGHT else "middle"
        parts.append(f'<text class="tick" x="{x:.1f}" y="{y:g}" text-anchor="{anchor}">{across.label(tick)}</text>')
    return "".join(parts)


def _path(points: Points, across: Axis, up: Axis) -> str:
    return "L".join(f"{_x(x, across):.1f},{_y(y, up):.1f}" for x, y in points)


def _x(value: float, across: Axis) -> float:
    return _LEFT + across.position(value) * (_WIDTH - _LEFT - _RIGHT)


def _y(value: float, up: Axis) -> float:
    return _HEIGHT - _BOTTOM - up.position(value) * (_HEIGHT - _TOP - _BOTTOM)


def _round_step(rough: float) -> float:
    """Return 1, 2 or 5 times a power of ten, the nearest that is not below *rough*."""
    if rough <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= rough * 0.999)
