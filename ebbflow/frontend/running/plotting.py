"""Plot of a table: lines over time for changes, bars for a snapshot, drawn by matplotlib.

A table of changes holds what is added and removed; a person who draws it wants what is there.  So diffs are summed
along time before they are drawn: the number of rows, or the sum of a column over the rows that are there.

Rule: nothing is left out in silence. Lines and bars that are not drawn are counted in the picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ebbflow.columns.schema import Schema
from ebbflow.errors import MissingPackage, TypeMismatch, UnknownColumn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LINES, MOST_BARS = 10, 30
Row = tuple[Any, ...]


class Table(Protocol):
    """What is asked of a table."""

    record: Schema
    coordinates: tuple[str, ...]

    @property
    def columns(self) -> list[str]: ...

    def rows(self) -> list[Row]: ...


def plot(table: Table, x: str | None, y: str | None, by: str | Iterable[str] | None, ax: Axes | None) -> Axes:
    """Draw the table into `ax`, or into a figure of its own."""
    of_changes = table.columns[-1] == "_diff"
    groups = [] if by is None else [by] if isinstance(by, str) else list(by)
    for name in [*groups, *([] if y is None else [y])]:
        _column(table, name)
    if y is not None and not table.record.types[table.record.names.index(y)].is_number:
        raise TypeMismatch(
            f'plot needs numbers for y; "{y}" is not a column of numbers.', hint="Leave y out to draw counts of rows."
        )
    if of_changes:
        lines = _lines(table, _coordinate(table, x), y, groups)
        drawn = ax if ax is not None else _axes()
        _draw_lines(drawn, lines, groups, y)
        drawn.set_xlabel("_time" if x is None else x)
        return drawn
    across = _across(table, x, y)
    if groups and by is not None:
        raise TypeMismatch("bars have no by=.", hint="Draw a table of changes for lines, or name x and y.")
    bars = _bars(table, across, y)
    drawn = ax if ax is not None else _axes()
    _draw_bars(drawn, bars, across, y)
    return drawn


def _axes() -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingPackage(
            "plot needs matplotlib, which is not installed.",
            hint='pip install "ebbflow[plot]", or pip install matplotlib',
        ) from None
    return pyplot.subplots(figsize=(7, 3.6), layout="constrained")[1]


def _column(table: Table, name: object) -> int:
    if not isinstance(name, str) or name not in table.record.names:
        known = ", ".join(table.record.names) or "none"
        raise UnknownColumn(f"the table has no column {name!r:.60} to draw.", hint=f"Its columns are {known}.")
    return table.record.names.index(name)


def _coordinate(table: Table, x: str | None) -> int:
    """Which coordinate of `_time` the lines run along."""
    if x is None and len(table.coordinates) == 1:
        return 0
    if x in table.coordinates:
        return table.coordinates.index(x)
    if x == "_time" and len(table.coordinates) == 1:
        return 0
    names = ", ".join(table.coordinates)
    if x is None:
        raise TypeMismatch(
            "the times of this table have several coordinates.", hint=f'Name one to draw along, as x="...": {names}.'
        )
    raise UnknownColumn(f"the table has no time {x!r:.60} to draw along.", hint=f"Its times have {names}.")


def _across(table: Table, x: str | None, y: str | None) -> str:
    """The column that names the bars: the first one that is not their height."""
    if x is not None:
        return table.record.names[_column(table, x)]
    names = [name for name in table.record.names if name != y]
    if not names:
        raise UnknownColumn("the table has no column to name bars by.", hint='Name one: plot(x="...").')
    return names[0]


def _weighed(table: Table, row: Row, weight: int, y: str | None) -> Any:
    if y is None:
        return weight
    value = row[table.record.names.index(y)]
    return 0 if value is None else value * weight


def _lines(table: Table, along: int, y: str | None, groups: Sequence[str]) -> dict[Row, list[tuple[int, Any]]]:
    """{group: [(time, sum up to it)]}; a group without a row stands at 0."""
    places = [table.record.names.index(name) for name in groups]
    changes: dict[Row, dict[int, Any]] = {}
    times = set()
    for row in table.rows():
        time = row[-2] if len(table.coordinates) == 1 else row[-2][along]
        times.add(time)
        sums = changes.setdefault(tuple(row[place] for place in places), {})
        sums[time] = sums.get(time, 0) + _weighed(table, row, row[-1], y)
    lines = {}
    for group, sums in changes.items():
        total, line = 0, []
        for time in sorted(times):
            total = total + sums.get(time, 0)
            line.append((time, total))
        lines[group] = line
    return lines


def _draw_lines(ax: Axes, lines: dict[Row, list[tuple[int, Any]]], groups: Sequence[str], y: str | None) -> None:
    largest = sorted(lines, key=lambda group: -max(abs(float(value)) for _, value in lines[group]))
    shown = sorted(
        largest[:MOST_LINES], key=lambda group: [(value is None, str(type(value)), value) for value in group]
    )
    for group in shown:
        times, values = zip(*lines[group], strict=True)
        label = ", ".join("null" if value is None else str(value) for value in group)
        ax.plot(times, [float(value) for value in values], drawstyle="steps-post", marker=".", label=label)
    ax.set_ylabel("rows" if y is None else y)
    if groups and shown:
        left = len(lines) - len(shown)
        ax.legend(title=", ".join(groups) + (f" ({left:,} more not drawn)" if left else ""))
    _whole_numbers(ax.xaxis)
    ax.grid(alpha=0.25)


def _bars(table: Table, across: str, y: str | None) -> dict[Any, Any]:
    place = table.record.names.index(across)
    sums: dict[Any, Any] = {}
    for row in table.rows():
        sums[row[place]] = sums.get(row[place], 0) + _weighed(table, row, row[-1], y)
    return sums


def _draw_bars(ax: Axes, bars: dict[Any, Any], across: str, y: str | None) -> None:
    largest = sorted(bars, key=lambda name: -abs(float(bars[name])))[:MOST_BARS]
    kept = set(largest)
    shown = [name for name in bars if name in kept]  # in the table's order
    labels = ["null" if name is None else str(name) for name in shown]
    ax.bar(range(len(shown)), [float(bars[name]) for name in shown])
    long = max(map(len, labels), default=0) * len(labels) > 60
    ax.set_xticks(range(len(shown)), labels, rotation=45 if long else 0, ha="right" if long else "center")
    left = len(bars) - len(shown)
    ax.set_xlabel(across + (f" (the {len(shown)} largest; {left:,} more not drawn)" if left else ""))
    ax.set_ylabel("rows" if y is None else y)
    if y is None:
        _whole_numbers(ax.yaxis)
    ax.grid(axis="y", alpha=0.25)


def _whole_numbers(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))
