"""Windows: which rows a function of a row's place is about, in PySpark's words.

`ebb.row_number().over(ebb.Window.partition_by("k").order_by("t"))` is an expression of a row, in select and
with_columns.  All functions of one select that have the same partitions and order are one reduction.

Rule: a window changes no row: a collection has its rows, as often as they are there, and the new columns.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

from ebbflow.columns.schema import Type
from ebbflow.dataflow.aggregates import result_type
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.nodes import Frame
from ebbflow.dataflow.windows import WHOLE, WINDOW_FUNCTIONS, Asked, Order, add_window
from ebbflow.dataflow.windows import result_type as place_type
from ebbflow.errors import NotAnExpression, TypeMismatch, users_place
from ebbflow.expressions import ast as w
from ebbflow.expressions.operations import cast, common_type
from ebbflow.expressions.typed import Expr
from ebbflow.frontend.building.column import Column, named_or
from ebbflow.frontend.building.lineage import resolved, row_of
from ebbflow.frontend.building.tracing import value_of

NO_BOUND = 1 << 62  # PySpark's bounds are numbers, and any as large as these are unbounded
AS_PLACED = {"any_value": "first_value"}


class WindowSpec:
    """Partitions, their order, and a frame; `ebb.Window` begins one."""

    def __init__(
        self,
        partition: tuple[w.Ast, ...] = (),
        order: tuple[tuple[w.Ast, bool, bool], ...] = (),
        frame: tuple[str, object, object] | None = None,
    ):
        self._partition, self._order, self._frame = partition, order, frame

    def partition_by(self, *columns: object) -> WindowSpec:
        """The rows that are alike in these columns are a partition; without any, all rows are one.

        >>> import ebbflow as ebb
        >>> ebb.Window.partition_by("k", ebb.col("t") % 7)
        Window(partition by k, mod(t, 7))
        """
        return WindowSpec(tuple(named_or(column).tree for column in _flat(columns)), self._order, self._frame)

    def order_by(self, *columns: object) -> WindowSpec:
        """The order of a partition's rows: names, "-x" or `.desc()` for the largest first.  Ties go by the whole row.

        >>> import ebbflow as ebb
        >>> ebb.Window.partition_by("k").order_by("t", ebb.col("x").desc())
        Window(partition by k order by t, x desc)
        """
        order = []
        for given in _flat(columns):
            down = isinstance(given, str) and given.startswith("-")
            column = named_or(given[1:] if down else given)
            if isinstance(given, Column):
                column, down = given, given.descending
            order.append((column.tree, down, down if column.nulls_last is None else column.nulls_last))
        return WindowSpec(self._partition, tuple(order), self._frame)

    def rows_between(self, start: object, end: object) -> WindowSpec:
        """The frame: so many rows before (less than 0) and behind each row.

        >>> import ebbflow as ebb
        >>> ebb.Window.order_by("t").rows_between(-2, ebb.Window.current_row)
        Window(order by t rows between -2 and 0)
        """
        for bound in (start, end):
            if not isinstance(bound, int) or isinstance(bound, bool):
                raise TypeMismatch(
                    f"rows_between counts rows, and got {bound!r}.", hint="For example rows_between(-2, 0)."
                )
        return self._framed("rows", start, end)

    def range_between(self, start: object, end: object) -> WindowSpec:
        """The frame: the rows whose order column is so much less or more; days or a timedelta for dates and times.

        >>> import ebbflow as ebb
        >>> ebb.Window.order_by("t").range_between(-10, ebb.Window.current_row)
        Window(order by t range between -10 and 0)
        """
        return self._framed("range", start, end)

    def _framed(self, unit: str, start: object, end: object) -> WindowSpec:
        bounds = [None if isinstance(x, int) and abs(x) >= NO_BOUND else x for x in (start, end)]
        late = isinstance(start, int) and start >= NO_BOUND
        if late or (isinstance(end, int) and end <= -NO_BOUND):
            raise NotAnExpression(
                "a frame begins before all rows, or ends behind them, and not the other way round.",
                hint="For example rows_between(ebb.Window.unbounded_preceding, ebb.Window.current_row).",
            )
        return WindowSpec(self._partition, self._order, (unit, bounds[0], bounds[1]))

    partitionBy, orderBy, rowsBetween, rangeBetween = partition_by, order_by, rows_between, range_between

    def _over(self, tree: w.Ast) -> w.Ast:
        """The expression, with what it is over."""
        match tree:
            case w.Aggregated() | w.Placed():
                return w.Over(self._checked(tree), self._partition, self._order, self._frame)
            case w.Applied(op, args, options) if any(isinstance(x, w.Aggregated | w.Placed) for x in w.parts_of(tree)):
                return w.Applied(op, tuple(self._over(arg) for arg in args), options)
            case w.Constant() | w.Word():
                return tree
        raise NotAnExpression(
            f"over is about a window function or an aggregate, and {tree} is neither.",
            hint='For example ebb.row_number().over(w), ebb.sum("x").over(w).',
        )

    def _checked(self, call: w.Aggregated | w.Placed) -> w.Aggregated | w.Placed:
        if AS_PLACED.get(call.op):
            call = w.Placed(AS_PLACED[call.op], call.of)
        kind = WINDOW_FUNCTIONS.get(call.op)
        if kind is None:
            raise NotAnExpression(
                f"{call.op} is not computed over windows.",
                hint="There are: " + ", ".join(WINDOW_FUNCTIONS) + " and lag.",
            )
        if kind.ordered and not self._order:
            raise NotAnExpression(
                f"{call} is about a row's place in an order, and its window has none.", hint='Add .order_by("t").'
            )
        if not kind.framed and self._frame is not None:
            raise NotAnExpression(
                f"{call} is about the whole partition, and its window has a frame.",
                hint="Leave rows_between or range_between out.",
            )
        return call

    def __repr__(self) -> str:
        parts = []
        if self._partition:
            parts.append("partition by " + ", ".join(map(str, self._partition)))
        if self._order:
            order = (
                f"{tree}{' desc' if down else ''}" + ("" if down == last else f" nulls {'last' if last else 'first'}")
                for tree, down, last in self._order
            )
            parts.append("order by " + ", ".join(order))
        if self._frame:
            start, end = ("unbounded" if bound is None else bound for bound in self._frame[1:])
            parts.append(f"{self._frame[0]} between {start} and {end}")
        return f"Window({' '.join(parts)})"


class Window:
    """Where a window begins: its partitions, its order, or its frame.

    >>> import ebbflow as ebb
    >>> ebb.Window.partition_by("k").order_by("t")
    Window(partition by k order by t)
    """

    unbounded_preceding, unbounded_following, current_row = -(1 << 63), (1 << 63) - 1, 0
    unboundedPreceding, unboundedFollowing, currentRow = unbounded_preceding, unbounded_following, current_row

    _none = WindowSpec()
    partition_by = partitionBy = _none.partition_by
    order_by = orderBy = _none.order_by
    rows_between = rowsBetween = _none.rows_between
    range_between = rangeBetween = _none.range_between


def _flat(given: tuple[Any, ...]) -> list[Any]:
    return [x for one in given for x in (one if isinstance(one, list | tuple) else [one])]


# ---- windows in a select --------------------------------------------------------------------


def with_windows(graph: Graph, node: int, given: list[object], verb: str) -> tuple[int, list[object]]:
    """The collection with the results of all windows in these expressions, and the expressions over it."""
    row = row_of(graph, node, verb)
    columns = [value_of(x, row, verb) if callable(x) and not isinstance(x, Column | type) else x for x in given]
    overs = dict.fromkeys(
        part for x in columns if isinstance(x, Column) for part in w.parts_of(x.tree) if isinstance(part, w.Over)
    )
    if not overs:
        return node, columns
    groups: dict[tuple[Any, ...], list[w.Over]] = {}
    for over in overs:
        groups.setdefault((over.partition, over.order), []).append(over)
    results: dict[w.Over, str] = {}
    for (partition, order), members in groups.items():

        def typed(tree: w.Ast, at: int = node) -> Expr:
            return resolved(graph, at, tree, verb)

        keys = tuple(typed(tree) for tree in partition)
        by = tuple((typed(tree), down, last) for tree, down, last in order)
        asked = [_asked(over, by, typed) for over in members]
        node, names = add_window(graph, node, keys, by, asked, users_place())
        results.update(zip(members, names, strict=True))
    return node, [
        Column(_replaced(x.tree, results), x.output_name, x.branches) if isinstance(x, Column) else x for x in columns
    ]


def _replaced(tree: w.Ast, results: dict[w.Over, str]) -> w.Ast:
    match tree:
        case w.Over():
            return w.Named(results[tree])
        case w.Applied(op, args, options):
            return w.Applied(op, tuple(_replaced(arg, results) for arg in args), options)
    return tree


def _asked(over: w.Over, order: Order, typed: Callable[[w.Ast], Expr]) -> Asked:
    call = over.call
    of = None if call.of is None else typed(call.of)
    if call.op in ("sum", "avg") and of is not None and not of.type.is_number:
        raise TypeMismatch(f'{call.op} adds up numbers, and "{of}" is of type {of.type}.', hint="Cast it first.")
    kind = of.type if of is not None else None
    frame = None
    if WINDOW_FUNCTIONS[call.op].framed:
        frame = frame_of(over.frame, order, bool(over.order))
    if isinstance(call, w.Aggregated):
        return Asked(call.op, of, result_type(call.op, kind), frame)
    default = None if call.default is None else typed(call.default)
    if default is not None and of is not None:
        common = common_type([of.type, default.type])
        if common is None:
            raise TypeMismatch(
                f'{call.op} is of "{of}", {of.type}, and its default is {default.type}.', hint="Cast one of them."
            )
        of, default, kind = cast(of, common), cast(default, common), common
    type = place_type(call.op, kind)
    return Asked(call.op, of, type, frame, call.number, default, call.skips_nulls)


def frame_of(frame: tuple[str, object, object] | None, order: Order, is_ordered: bool) -> Frame | None:
    """The frame as written, in words of the order column; without one, up to the row and its peers, or everything."""
    if frame is None:
        return Frame("range", None, 0) if is_ordered else None
    unit, start, end = frame
    if unit == "rows":
        found = Frame("rows", start, end)  # type: ignore[arg-type]
    else:
        offsets = [None if x is None else 0 if x == 0 or x == timedelta(0) else x for x in (start, end)]
        if any(offsets) and len(order) != 1:
            raise NotAnExpression(
                f"a range with offsets measures one order column, and this window has {len(order)}.",
                hint="Use rows_between, or order by one column.",
            )
        first, last = (None if x is None else offset_of(x, order[0][0].type) if x else 0 for x in offsets)
        found = Frame("range", first, last)
    return None if found == WHOLE or found == Frame("range", None, None) else found


def offset_of(offset: object, type: Type) -> int | float:
    """How far, in words of a type."""
    match offset:
        case timedelta() if type.is_timestamp:
            return offset // timedelta(microseconds=1)
        case timedelta() if type.name == "date" and not offset % timedelta(days=1):
            return offset.days
        case int() if type.is_integer or type.name == "date":
            return offset
        case int() | float() | Decimal() if type.is_float:
            return float(offset)
        case int() | Decimal() if type.name == "decimal" and not Decimal(offset).scaleb(type.scale) % 1:
            return int(Decimal(offset).scaleb(type.scale))
    hint = "Give a timedelta." if type.is_timestamp else f"Cast the order column, or give a number that fits {type}."
    raise TypeMismatch(f"a range of {offset!r} does not measure an order column of type {type}.", hint=hint)
