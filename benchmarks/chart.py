"""A chart of lines on two logarithmic axes, as SVG.

Four plots in a page of documentation need no plotting library; they need to be read in black and in colour, on a light
and on a dark page.

Rule: a chart is a function of its points: the same points give the same text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 50, 110
FONT = 'font-family="sans-serif" font-size="12"'
COLOURS = ("#1f77b4", "#d9541e", "#2c9c4b", "#8b5fbf", "#b8860b")
DASHES = ("", "7 4", "2 3", "9 3 2 3", "4 2")


@dataclass(frozen=True)
class Line:
    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis from one power of ten to another."""

    low: int
    high: int
    start: float
    end: float

    @classmethod
    def over(cls, values: list[float], start: float, end: float) -> Axis:
        low, high = floor(log10(min(values))), ceil(log10(max(values)))
        return cls(low, max(high, low + 1), start, end)

    def at(self, value: float) -> float:
        share = (log10(value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    @property
    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def told(value: float) -> str:
    """1000 as 1,000; 0.1 as it is."""
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def chart(title: str, across: str, up: str, lines: list[Line]) -> str:
    x = Axis.over([a for line in lines for a, _ in line.points], LEFT, WIDTH - RIGHT)
    y = Axis.over([b for line in lines for _, b in line.points], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {FONT}>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="24" font-size="15">{escape(title)}</text>',
        *_grid(x, y, across, up),
    ]
    for number, line in enumerate(lines):
        parts += _line(number, line, x, y)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _grid(x: Axis, y: Axis, across: str, up: str) -> Iterator[str]:
    for tick in x.ticks:
        yield f'<path d="M{x.at(tick)} {TOP}V{HEIGHT - BOTTOM}" stroke="#dddddd"/>'
        yield f'<text x="{x.at(tick)}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{told(tick)}</text>'
    for tick in y.ticks:
        yield f'<path d="M{LEFT} {y.at(tick)}H{WIDTH - RIGHT}" stroke="#dddddd"/>'
        yield f'<text x="{LEFT - 8}" y="{y.at(tick) + 4}" text-anchor="end">{told(tick)}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle}" y="{HEIGHT - BOTTOM + 38}" text-anchor="middle">{escape(across)}</text>'
    yield f'<text x="{LEFT}" y="{TOP - 8}">{escape(up)}</text>'


def _line(number: int, line: Line, x: Axis, y: Axis) -> Iterator[str]:
    colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
    points = [(x.at(a), y.at(b)) for a, b in line.points]
    path = "L".join(f"{a} {b}" for a, b in points)
    yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
    for a, b in points:
        yield f'<circle cx="{a}" cy="{b}" r="3" fill="{colour}"/>'
    left = LEFT + (number % 2) * 320
    top = HEIGHT - 48 + 20 * (number // 2)
    yield f'<path d="M{left} {top}h30" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
    yield f'<text x="{left + 38}" y="{top + 4}">{escape(line.name)}</text>'
