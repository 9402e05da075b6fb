"""Window functions: for each its arguments, its frame and the type of its result.

The one table that the interfaces, the rules and the engine's descriptions are made of.

Rule: a function is over the whole partition, over the rows up to the current one, or over a frame that it is given; a
frame is given to those only that the table says take one.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ebbflow.columns.schema import DOUBLE, INT, LONG, Field, Schema, Type
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.nodes import Frame, Linear, Map, Reduce, Window, WindowFunction
from ebbflow.errors import Place
from ebbflow.expressions.typed import Column, Expr


@dataclass(frozen=True)
class Kind:
    """of: whether it is of a column ("yes", "no", "maybe"); framed: whether it looks at a frame; counts: whether copies
    of one row have different results.
    """

    of: str
    framed: bool
    counts: bool = False
    ordered: bool = False  # whether it means nothing without an order
    skips: bool = False  # whether it can be asked to skip nulls
    numbered: str = ""  # what its number is called, where it has one


WINDOW_FUNCTIONS = {
    "row_number": Kind("no", False, counts=True, ordered=True),
    "rank": Kind("no", False, ordered=True),
    "dense_rank": Kind("no", False, ordered=True),
    "percent_rank": Kind("no", False, ordered=True),
    "cume_dist": Kind("no", False, ordered=True),
    "ntile": Kind("no", False, counts=True, ordered=True, numbered="how many tiles"),
    "lead": Kind("yes", False, counts=True, ordered=True, skips=True, numbered="how many rows ahead"),
    "first_value": Kind("yes", True, skips=True),
    "last_value": Kind("yes", True, skips=True),
    "nth_value": Kind("yes", True, skips=True, numbered="which row"),
    "count_rows": Kind("no", True),
    "count": Kind("yes", True),
    "sum": Kind("yes", True),
    "avg": Kind("yes", True),
    "min": Kind("yes", True),
    "max": Kind("yes", True),
}

WHOLE = Frame("rows", None, None)
PLACES = tuple(op for op in WINDOW_FUNCTIONS if op not in ("count_rows", "count", "sum", "avg", "min", "max"))
"""Those that are not aggregates of groups, too."""


def result_type(op: str, kind: Type | None) -> Type:
    """The type of the result of a function of a column of this type, except sum and avg; Spark's."""
    match op:
        case "row_number" | "rank" | "dense_rank" | "ntile":
            return INT
        case "percent_rank" | "cume_dist":
            return DOUBLE
        case "count_rows" | "count":
            return LONG
    assert kind is not None and op not in ("sum", "avg"), "these have the types of aggregates"
    return kind


# ---- windows in a graph ---------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A function of a window, over expressions of a collection."""

    op: str
    of: Expr | None
    type: Type
    frame: Frame | None = None
    number: int = 0
    default: Expr | None = None
    skips_nulls: bool = False

    def measures(self) -> bool:
        """Whether its frame reaches so far in the values of the order column."""
        frame = self.frame
        return frame is not None and frame.unit == "range" and any((frame.start, frame.end))


Order = tuple[tuple[Expr, bool, bool], ...]


def add_window(
    graph: Graph, node: int, keys: tuple[Expr, ...], order: Order, asked: list[Asked], place: Place | None = None
) -> tuple[int, list[str]]:
    """A collection with the results of these functions beside its columns, and the names of these results.

    What partitions, orders and functions compute stands beside the columns too, under names that nobody else has.
    """
    schema = graph.schemas[node]
    columns: dict[str, Expr] = {field.name: Column(field.name, field.type) for field in schema}
    known = {expr: name for name, expr in columns.items()}

    def named(expr: Expr, taken: tuple[str, ...] = ()) -> str:
        """The column of an expression, computed where there is none; a copy of one that is taken."""
        if known.get(expr) is not None and known[expr] not in taken:
            return known[expr]
        name = fresh(columns)
        columns[name] = expr
        known[expr] = name
        return name

    partition = tuple(dict.fromkeys(named(key) for key in keys))
    measured = any(each.measures() for each in asked)
    by: dict[str, tuple[str, bool, bool]] = {}
    for expr, down, last in order:
        if measured or known.get(expr) not in partition:  # within a partition its keys are all the same
            name = named(expr, partition)
            by.setdefault(name, (name, down, last))
    read = [[None if expr is None else named(expr, partition) for expr in (each.of, each.default)] for each in asked]
    functions: list[WindowFunction] = []
    results: list[str] = []
    for each, (of, default) in zip(asked, read, strict=True):
        results.append(fresh({*columns, *results}))
        frame = None if each.frame == WHOLE else each.frame
        functions.append(WindowFunction(each.op, of, results[-1], frame, each.number, default, each.skips_nulls))
    if len(columns) > len(schema):
        node = graph.add(Linear(node, Map(tuple(columns.items()))), place)
    source = graph.schemas[node]
    fields = [*(Field(name, source[name]) for name in partition), *(f for f in source if f.name not in partition)]
    fields += [Field(name, each.type) for name, each in zip(results, asked, strict=True)]
    window = Window(tuple(by.values()), tuple(functions))
    return graph.add(Reduce(node, partition, window, Schema(tuple(fields))), place), results


def fresh(taken: Collection[str]) -> str:
    """A name that no column has yet."""
    number = len(taken)
    while f"_w{number}" in taken:
        number += 1
    return f"_w{number}"


# ---- how far a change reaches ---------------------------------------------------------------

EVERYWHERE = -1


@dataclass(frozen=True)
class Reach:
    """Which results a changed row may change, in rows before and behind it, and which rows it takes to compute them.

    peered: all that are equal in the order, too; by_place: all behind it, unless as many rows go as come; by_total: all
    of the partition, unless as many go as come; indexed: whether it is worth an index at all; running: all behind it,
    unless what is added up comes to the same.
    """

    left: int = 0
    right: int = 0
    need_left: int = 0
    need_right: int = 0
    peered: bool = False
    by_place: bool = False
    by_total: bool = False
    indexed: bool = True
    running: bool = False

    def joined(self, other: Reach) -> Reach:
        def farther(one: int, two: int) -> int:
            return EVERYWHERE if EVERYWHERE in (one, two) else max(one, two)

        return Reach(
            farther(self.left, other.left),
            farther(self.right, other.right),
            farther(self.need_left, other.need_left),
            farther(self.need_right, other.need_right),
            self.peered or other.peered,
            self.by_place or other.by_place,
            self.by_total or other.by_total,
            self.indexed and other.indexed,
            self.running or other.running,
        )


def reach_of(function: WindowFunction) -> Reach:
    """How far a changed row reaches, for one function."""
    match function.op:
        case "row_number":
            return Reach(by_place=True)
        case "rank":
            return Reach(by_place=True, peered=True)
        case "percent_rank" | "cume_dist":
            return Reach(by_total=True, peered=True)
        case "ntile":
            return Reach(by_total=True)
        case "lead" if not function.skips_nulls:
            ahead, behind = max(function.number, 0), max(-function.number, 0)
            return Reach(ahead, behind, behind, ahead)
        case "dense_rank" | "lead":
            return Reach(indexed=False)
    frame = function.frame or WHOLE
    start, end = frame.start, frame.end
    ranged = frame.unit == "range"
    if ranged and (start or end):
        return Reach(indexed=False)
    sums = function.op in ("count_rows", "count", "sum", "avg", "last_value") and not function.skips_nulls
    before = EVERYWHERE if start is None else max(0, -int(start))
    behind = EVERYWHERE if end is None else max(0, int(end))
    need = before
    if start is None and sums:  # what is before is one sum
        need = EVERYWHERE if end is None else max(0, -int(end))
    if start is None and end is not None and function.op in ("count", "sum", "avg"):
        return Reach(behind, max(0, -int(end)), need, behind, peered=ranged, running=True)
    return Reach(behind, before, need, behind, peered=ranged)
