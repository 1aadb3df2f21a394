"""Curves as text: braille dots, two wide and four high in each character."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mosaic.cli.render import display

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_COLOURS = ("cyan", "yellow", "magenta", "green", "red", "blue")
#: Tell several curves apart where there are no colours.
_MARKERS = "●▲■◆★✚○△□◇☆✖"
#: Characters from one marker of a curve to its next.
_MARKER_EVERY = 12


@dataclass(frozen=True, slots=True)
class Line:
    """One curve with its name."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    #: Around it, a lower and an upper value for each step; drawn as dots where both are numbers.
    band: Sequence[tuple[float, float]] = ()


def plot(lines: Sequence[Line], *, width: int = 72, height: int = 16, title: str = "", unit: str = "") -> str:
    """Return the curves drawn into *width* x *height* characters, with axes and a legend, as rich markup."""
    points = [
        [(x, y) for x, y in zip(line.xs, line.ys, strict=True) if math.isfinite(x) and math.isfinite(y)]
        for line in lines
    ]
    bands = [_finite_band(line) for line in lines]
    edges = [(x, y) for band in bands for x, *ends in band for y in ends]
    flat = [*(point for curve in points for point in curve), *edges]
    if not flat:
        return "no points yet"
    left, right = min(x for x, _ in flat), max(x for x, _ in flat)
    low, high = min(y for _, y in flat), max(y for _, y in flat)
    low, high = (low - 1, high + 1) if low == high else (low, high)
    grid = _Grid(width, height)
    across, up = (right - left) or 1, high - low
    for index, band in enumerate(bands):
        scaled_band = [((x - left) / across, (lower - low) / up, (upper - low) / up) for x, lower, upper in band]
        grid.shade(scaled_band, _COLOURS[index % len(_COLOURS)])
    for index, curve in enumerate(points):
        scaled = [((x - left) / across, (y - low) / up) for x, y in sorted(curve)]
        grid.draw(scaled, _COLOURS[index % len(_COLOURS)])
        if len(lines) > 1:
            grid.mark(scaled, _MARKERS[index % len(_MARKERS)], _COLOURS[index % len(_COLOURS)], index / len(lines))
    labels = [_short(high), *[""] * (height - 2), _short(low)]
    gutter = max(len(label) for label in labels)
    body = [f"[dim]{label:>{gutter}} ┤[/]{row}" for label, row in zip(labels, grid.rows(), strict=True)]
    axis = f"{' ' * gutter} [dim]└{'─' * width}[/]"
    ends = f"{_short(left)}{_short(right) + (' ' + unit if unit else ''):>{width - len(_short(left))}}"
    legend = "   ".join(
        f"[{_COLOURS[index % len(_COLOURS)]}]{_MARKERS[index % len(_MARKERS)] if len(lines) > 1 else '━'} "
        f"{display(line.label)}[/]"
        for index, line in enumerate(lines)
    )
    return "\n".join(
        [f"[bold]{display(title)}[/]", *body, axis, f"{' ' * (gutter + 2)}[dim]{display(ends)}[/]", legend]
    )


class _Grid:
    """Braille cells, each with the colour of the curve that touched it last."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._cells = [[0] * width for _ in range(height)]
        self._colours = [[""] * width for _ in range(height)]
        self._marks: dict[tuple[int, int], str] = {}

    def draw(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        """Draw a polyline through points in the unit square."""
        for x, y in self._dots(points):
            self._cells[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
            self._colours[y // 4][x // 2] = colour

    def shade(self, band: Sequence[tuple[float, float, float]], colour: str) -> None:
        """Dot the area between two curves in the unit square: every fourth dot, so that curves stay visible."""
        lows = dict(self._dots([(x, low) for x, low, _ in band]))
        highs = dict(self._dots([(x, high) for x, _, high in band]))
        for x in lows.keys() & highs.keys():
            for y in range(highs[x], lows[x] + 1):
                if (x + 2 * y) % 4 == 0:
                    self._cells[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
                    self._colours[y // 4][x // 2] = colour

    def mark(self, points: Sequence[tuple[float, float]], marker: str, colour: str, shift: float) -> None:
        """Set *marker* along a polyline, in places of its own by *shift*, and where it begins."""
        offset, marked = round(shift * _MARKER_EVERY), -1
        for x, y in self._dots(points):
            column, row = x // 2, y // 4
            if marked < 0 or (column % _MARKER_EVERY == offset and column != marked):
                marked = column
                self._marks[row, column] = marker
                self._cells[row][column] |= 1
                self._colours[row][column] = colour

    def rows(self) -> list[str]:
        """Return the rows as markup, top first."""
        return [
            "".join(
                f"[{colour}]{self._marks.get((row, column)) or chr(0x2800 + cell)}[/]" if cell else " "
                for column, (cell, colour) in enumerate(zip(cells, colours, strict=True))
            )
            for row, (cells, colours) in enumerate(zip(self._cells, self._colours, strict=True))
        ]

    def _dots(self, points: Sequence[tuple[float, float]]) -> Iterator[tuple[int, int]]:
        """Yield the dots of a polyline through points in the unit square, from left to right."""
        dots = [(round(x * (self._width * 2 - 1)), round((1 - y) * (self._height * 4 - 1))) for x, y in points]
        for (x0, y0), (x1, y1) in zip(dots, dots[1:] or dots, strict=False):
            length = max(abs(x1 - x0), abs(y1 - y0), 1)
            for part in range(length + 1):
                yield round(x0 + (x1 - x0) * part / length), round(y0 + (y1 - y0) * part / length)


def _finite_band(line: Line) -> list[tuple[float, float, float]]:
    whole = [(x, low, high) for x, (low, high) in zip(line.xs, line.band, strict=False)]
    return [ends for ends in whole if all(map(math.isfinite, ends))]


def _short(value: float) -> str:
    if abs(value) >= 1e6:
        return f"{value / 1e6:.3g}M"
    return f"{value / 1e3:.4g}k" if abs(value) >= 1e4 else f"{value:.4g}"
