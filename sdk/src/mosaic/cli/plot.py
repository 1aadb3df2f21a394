"""Curves as text: braille dots, two wide and four high in each character."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mosaic.cli.render import shown

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_COLOURS = ("cyan", "yellow", "magenta", "green", "red", "blue")


@dataclass(frozen=True, slots=True)
class Line:
    """One curve with its name."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]


def plot(lines: Sequence[Line], *, width: int = 72, height: int = 16, title: str = "", unit: str = "") -> str:
    """Return the curves drawn into *width* x *height* characters, with axes and a legend, as rich markup."""
    points = [
        [(x, y) for x, y in zip(line.xs, line.ys, strict=True) if math.isfinite(x) and math.isfinite(y)]
        for line in lines
    ]
    flat = [point for curve in points for point in curve]
    if not flat:
        return "no points yet"
    left, right = min(x for x, _ in flat), max(x for x, _ in flat)
    low, high = min(y for _, y in flat), max(y for _, y in flat)
    low, high = (low - 1, high + 1) if low == high else (low, high)
    grid = _Grid(width, height)
    for index, curve in enumerate(points):
        scaled = [((x - left) / ((right - left) or 1), (y - low) / (high - low)) for x, y in sorted(curve)]
        grid.draw(scaled, _COLOURS[index % len(_COLOURS)])
    labels = [_short(high), *[""] * (height - 2), _short(low)]
    gutter = max(len(label) for label in labels)
    body = [f"[dim]{label:>{gutter}} ┤[/]{row}" for label, row in zip(labels, grid.rows(), strict=True)]
    axis = f"{' ' * gutter} [dim]└{'─' * width}[/]"
    ends = f"{_short(left)}{_short(right) + (' ' + unit if unit else ''):>{width - len(_short(left))}}"
    legend = "   ".join(
        f"[{_COLOURS[index % len(_COLOURS)]}]━ {shown(line.label)}[/]" for index, line in enumerate(lines)
    )
    return "\n".join([f"[bold]{shown(title)}[/]", *body, axis, f"{' ' * (gutter + 2)}[dim]{shown(ends)}[/]", legend])


class _Grid:
    """Braille cells, each with the colour of the curve that touched it last."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._cells = [[0] * width for _ in range(height)]
        self._colours = [[""] * width for _ in range(height)]

    def draw(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        """Draw a polyline through points in the unit square."""
        dots = [(round(x * (self._width * 2 - 1)), round((1 - y) * (self._height * 4 - 1))) for x, y in points]
        for (x0, y0), (x1, y1) in zip(dots, dots[1:] or dots, strict=False):
            length = max(abs(x1 - x0), abs(y1 - y0), 1)
            for part in range(length + 1):
                x, y = x0 + (x1 - x0) * part / length, y0 + (y1 - y0) * part / length
                self._dot(round(x), round(y), colour)

    def rows(self) -> list[str]:
        """Return the rows as markup, top first."""
        return [
            "".join(
                f"[{colour}]{chr(0x2800 + cell)}[/]" if cell else " "
                for cell, colour in zip(cells, colours, strict=True)
            )
            for cells, colours in zip(self._cells, self._colours, strict=True)
        ]

    def _dot(self, x: int, y: int, colour: str) -> None:
        self._cells[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
        self._colours[y // 4][x // 2] = colour


def _short(value: float) -> str:
    if abs(value) >= 1e6:
        return f"{value / 1e6:.3g}M"
    return f"{value / 1e3:.4g}k" if abs(value) >= 1e4 else f"{value:.4g}"
