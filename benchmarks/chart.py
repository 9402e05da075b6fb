"""Charts as SVG: lines on two logarithmic axes, and bars.

A few plots in a page of documentation need no plotting library; they need to be read in black and in colour, on a light
and on a dark page.

Rule: a chart is a function of its points: the same points give the same text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 40, 50, 110
FONT = 'font-family="sans-serif" font-size="12"'
COLOURS = ("#1f77b4", "#d9541e", "#2c9c4b", "#8b5fbf", "#b8860b")
DASHES = ("", "7 4", "2 3", "9 3 2 3", "4 2")
STYLE = (
    "<style>text { fill: #1f2733 } .page { fill: #ffffff } .grid { stroke: #dddddd } .mark { stroke: #5c6675 }"
    " .short { fill: #2c9c4b } .long { fill: #d9541e } .value { paint-order: stroke; stroke: #ffffff; stroke-width: 5 }"
    " @media (prefers-color-scheme: dark) { .value { stroke: #161b22 }"
    " text { fill: #e6ebf2 } .page { fill: #161b22 } .grid { stroke: #3a424d } .mark { stroke: #a3adba } }</style>"
)
BAR, NAMES = 30, 300  # the height of a bar with its gap, the width of its name


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
        STYLE,
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text x="{LEFT}" y="24" font-size="15">{escape(title)}</text>',
        *_grid(x, y, across, up),
    ]
    for number, line in enumerate(lines):
        parts += _line(number, line, x, y)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _grid(x: Axis, y: Axis, across: str, up: str) -> Iterator[str]:
    for tick in x.ticks:
        yield f'<path d="M{x.at(tick)} {TOP}V{HEIGHT - BOTTOM}" class="grid"/>'
        yield f'<text x="{x.at(tick)}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{told(tick)}</text>'
    for tick in y.ticks:
        yield f'<path d="M{LEFT} {y.at(tick)}H{WIDTH - RIGHT}" class="grid"/>'
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


@dataclass(frozen=True)
class Bar:
    """`shown`: what is written at its end."""

    name: str
    value: float
    shown: str


def bars(title: str, across: str, drawn: list[Bar], mark: float, logarithmic: bool = False) -> str:
    """Horizontal bars; those on the left of the mark are green, the others red."""
    most, least = max([mark, *(bar.value for bar in drawn)]), min([mark, *(bar.value for bar in drawn)])
    axis = Axis.over([least, most], NAMES, WIDTH - 70) if logarithmic else None
    at = axis.at if axis is not None else lambda value: round(NAMES + value / most * (WIDTH - 70 - NAMES), 1)
    height = TOP + BAR * len(drawn) + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {FONT}>',
        STYLE,
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        f'<text x="20" y="24" font-size="15">{escape(title)}</text>',
    ]
    values = []
    for i, bar in enumerate(drawn):
        top = TOP + BAR * i
        good = bar.value > mark if logarithmic else bar.value < mark
        width = round(max(at(bar.value) - NAMES, 1), 1)
        parts.append(f'<text x="{NAMES - 10}" y="{top + 15}" text-anchor="end">{escape(bar.name)}</text>')
        kind = "short" if good else "long"
        parts.append(f'<rect class="{kind}" x="{NAMES}" y="{top}" width="{width}" height="{BAR - 8}" rx="2"/>')
        values.append(f'<text class="value" x="{NAMES + width + 6}" y="{top + 15}">{escape(bar.shown)}</text>')
    bottom = TOP + BAR * len(drawn)
    parts.append(f'<path d="M{at(mark)} {TOP - 8}V{bottom + 4}" class="mark" stroke-dasharray="4 3"/>')
    parts += values  # above the mark, which may cross them
    parts.append(f'<text x="{at(mark)}" y="{bottom + 20}" text-anchor="middle">{told(mark)}</text>')
    parts.append(f'<text x="20" y="{bottom + 40}">{escape(across)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
