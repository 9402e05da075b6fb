"""Window meaning: what window functions say of the rows of one partition, in plain Python.

Every copy of a row is a row of its own here. They are put in order, each gets its frame as a list of rows, and each
function is what the list says; nothing is carried from one row to the next.

Rule: the slow answer. The engine's is compared with it, row for row.
"""

from __future__ import annotations

from typing import Any

from ebbflow.columns.schema import DOUBLE, NULL, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.runtime.oracle.groups import aggregate
from ebbflow.runtime.oracle.histories import Collection, Record
from ebbflow.runtime.oracle.values import Values, float_lane


class Partition:
    """The rows of one key in the order of a window."""

    def __init__(self, schema: Schema, window: n.Window, group: Collection, values: Values):
        self.schema, self.window, self.values = schema, window, values
        present = sorted((row for row, count in group.items() if count > 0), key=self._place)
        self.rows = [row for row in present for _ in range(group[row])]
        self.keys = [self._order(row) for row in self.rows]

    def _order(self, row: Record) -> tuple:
        return tuple(
            Ordered(
                self.values.order(self.schema[name], row[self.schema.index(name)]),
                row[self.schema.index(name)] == NULL,
                down,
                last,
            )
            for name, down, last in self.window.order
        )

    def _place(self, row: Record) -> tuple:
        return (self._order(row), tuple(map(self.values.order, self.schema.types, row)))

    def frame(self, i: int, frame: n.Frame | None) -> list[int]:
        """The positions of the rows that the function of row i is over."""
        everywhere = range(len(self.rows))
        if frame is None:
            return list(everywhere)
        if frame.unit == "rows":
            start = 0 if frame.start is None else i + int(frame.start)
            end = len(self.rows) - 1 if frame.end is None else i + int(frame.end)
            return [j for j in everywhere if start <= j <= end]
        return [j for j in everywhere if self._follows(i, j, frame.start) and self._precedes(i, j, frame.end)]

    def _follows(self, i: int, j: int, offset: float | None) -> bool:
        """Whether row j is not before the start of row i's frame."""
        return offset is None or not self.keys[j] < self._bound(i, offset)

    def _precedes(self, i: int, j: int, offset: float | None) -> bool:
        return offset is None or not self._bound(i, offset) < self.keys[j]

    def _bound(self, i: int, offset: float) -> tuple:
        if offset == 0:
            return self.keys[i]
        ((name, down, last),) = self.window.order
        type, lane = self.schema[name], self.rows[i][self.schema.index(name)]
        if lane == NULL:
            return self.keys[i]
        moved = -offset if down else offset
        if type.is_float:
            bound = self.values.encode(
                type if type.name == "double" else DOUBLE, self.values.decode(type, lane) + moved
            )
        else:
            bound = lane + int(moved)
        return (Ordered(bound, False, down, last),)

    def answer(self, i: int, function: n.WindowFunction) -> int:
        rows, total, before = self.rows, len(self.rows), [j for j, key in enumerate(self.keys) if key < self.keys[i]]
        match function.op:
            case "row_number":
                return i + 1
            case "rank":
                return len(before) + 1
            case "dense_rank":
                return len({tuple(self.keys[j]) for j in before}) + 1
            case "percent_rank":
                return float_lane(len(before) / (total - 1) if total > 1 else 0.0)
            case "cume_dist":
                return float_lane(sum(not self.keys[i] < key for key in self.keys) / total)
            case "ntile":
                return self._tile(i, function.number)
            case "lead":
                return self._ahead(i, function)
        frame = self.frame(i, function.frame)
        at = -1 if function.column is None else self.schema.index(function.column)
        match function.op:
            case "first_value" | "last_value" | "nth_value":
                found = [rows[j][at] for j in frame if not (function.skips_nulls and rows[j][at] == NULL)]
                which = {"first_value": 0, "last_value": len(found) - 1}.get(function.op, function.number - 1)
                return found[which] if which < len(found) and found else NULL
        if not frame:
            return 0 if function.op in ("count", "count_rows") else NULL
        group: dict[Record, int] = {}
        for j in frame:
            group[rows[j]] = group.get(rows[j], 0) + 1
        return aggregate(function.op, at, self.schema.types[at], group, self.values)

    def _tile(self, i: int, tiles: int) -> int:
        sizes = [len(self.rows) // tiles + (tile < len(self.rows) % tiles) for tile in range(tiles)]
        return next(tile + 1 for tile in range(tiles) if i < sum(sizes[: tile + 1]))

    def _ahead(self, i: int, function: n.WindowFunction) -> int:
        """The value so many rows ahead, or behind."""
        assert function.column is not None
        at, step = self.schema.index(function.column), 1 if function.number > 0 else -1
        left, j = abs(function.number), i
        while left:
            j += step
            if not 0 <= j < len(self.rows):
                return NULL if function.default is None else self.rows[i][self.schema.index(function.default)]
            left -= not (function.skips_nulls and self.rows[j][at] == NULL)
        return self.rows[j][at]


class Ordered:
    """A value of an order column, compared as the window says."""

    def __init__(self, value: Any, is_null: bool, down: bool, last: bool):
        self.value, self.is_null, self.down, self.last = value, is_null, down, last

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ordered) and (self.is_null, self.value) == (other.is_null, other.value)

    def __hash__(self) -> int:
        return hash((self.is_null, self.value))

    def __lt__(self, other: Ordered) -> bool:
        if self.is_null or other.is_null:
            return self.is_null != other.is_null and self.is_null != self.last
        return other.value < self.value if self.down else self.value < other.value


def windowed(
    schema: Schema, rest: list[int], window: n.Window, group: Collection, values: Values
) -> list[tuple[Record, int]]:
    """Every row of a group without its key, as often as it is there, with the results behind it."""
    partition = Partition(schema, window, group, values)
    found = []
    for place, row in enumerate(partition.rows):
        results = [partition.answer(place, function) for function in window.functions]
        found.append(((*(row[i] for i in rest), *results), 1))
    return found
