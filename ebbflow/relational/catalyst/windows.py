"""Windows in Catalyst's plans.

Catalyst has one node for each partition and order, with every frame stated and every offset a literal; a default of
lag and lead is of the type of its column.

Rule: a window adds its columns behind those of its rows, in the order of its expressions.
"""

from __future__ import annotations

from datetime import timedelta

from ebbflow.dataflow.nodes import Frame
from ebbflow.dataflow.windows import WINDOW_FUNCTIONS, Asked, result_type
from ebbflow.errors import NotAnExpression, TypeMismatch
from ebbflow.expressions.operations import VOID, cast
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.frontend.building.windows import frame_of
from ebbflow.relational import aggregates
from ebbflow.relational import algebra as a
from ebbflow.relational.aggregates import where
from ebbflow.relational.catalyst import groups
from ebbflow.relational.catalyst.refusals import refused, unsupported
from ebbflow.relational.catalyst.rows import Rows
from ebbflow.relational.catalyst.tree import Node
from ebbflow.relational.catalyst.types import literal_of

PLACES_OF_CATALYST = {
    "RowNumber": "row_number", "Rank": "rank", "DenseRank": "dense_rank", "PercentRank": "percent_rank",
    "CumeDist": "cume_dist", "NTile": "ntile", "Lag": "lag", "Lead": "lead", "NthValue": "nth_value",
}  # fmt: skip
ENDS = {"First": "first_value", "AnyValue": "first_value", "Last": "last_value"}
WINDOW_HINT = f"There are {', '.join(WINDOW_FUNCTIONS)} and lag, each over rows or a range."
DAY = timedelta(days=1)
Order = tuple[tuple[Expr, bool, bool], ...]


def with_windows(rows: Rows, node: Node) -> Rows:
    """The rows with the results of a window's expressions behind them."""
    width = len(rows.ids)
    keys = tuple(rows.expr(one) for one in node["partitionSpec"] or [])
    order = tuple(
        (rows.expr(one.children[0]), one["direction"] == "Descending", one["nullOrdering"] == "NullsFirst")
        for one in node["orderSpec"] or []
    )
    asked: list[Asked] = []
    made: list[tuple[aggregates.Asked | None, list[Asked]]] = []
    for one in node["windowExpressions"]:
        of, parts = _function(rows, one.children[0] if one.kind == "Alias" else one, order)
        made.append((of, parts))
        asked += [part for part in parts if part not in asked]
    own, before = a.columns_of(rows.relation)[:width], len(rows.relation.types)
    relation = a.Window(rows.relation, keys, order, tuple(asked))
    at: dict[Asked, Expr] = {part: a.column(before + i, part.type) for i, part in enumerate(asked)}
    shown: list[Expr] = []
    for of, parts in made:
        if of is None:
            shown.append(at[parts[0]])
        else:
            found = dict(zip(aggregates.parts_of(of), (at[part] for part in parts), strict=True))
            shown.append(aggregates.put_together(of, found))
    ids = [*rows.ids[:width], *(one.id for one in node["windowExpressions"])]
    return Rows(a.Project(relation, (*own, *shown)), ids, rows.plans)


def _function(rows: Rows, node: Node, order: Order) -> tuple[aggregates.Asked | None, list[Asked]]:
    """A window function: what the engine computes for it, and, of an aggregate, what is made of that."""
    if node.kind != "WindowExpression":
        raise unsupported(node, "this window function", WINDOW_HINT)
    function, spec = node.children
    frame = _frame(node, spec.children[-1], order)
    if function.kind in PLACES_OF_CATALYST:
        return None, [_place(rows, function, frame)]
    if function.kind != "AggregateExpression":
        raise unsupported(function, f"{function.kind} over a window", WINDOW_HINT)
    inner = function.children[0]
    if inner.kind in ENDS:
        value = rows.expr(inner.children[0])
        if len(function.children) > 1:
            value = where(rows.condition(function.children[1]), value)
        skips = bool(inner["ignoreNulls"])
        return None, [Asked(ENDS[inner.kind], value, value.type, frame, skips_nulls=skips)]
    of = groups.asked_of(rows, function)
    parts = aggregates.parts_of(of)
    if of.is_distinct or (frame is not None and any(part.op not in WINDOW_FUNCTIONS for part in parts)):
        raise unsupported(inner, f"{inner.kind} over a part of its window", WINDOW_HINT)
    return of, [Asked(part.op, part.of[0] if part.of else None, part.type, frame) for part in parts]


def _place(rows: Rows, node: Node, frame: Frame | None) -> Asked:
    op = PLACES_OF_CATALYST[node.kind]
    if op == "ntile":
        return Asked(op, None, result_type(op, None), number=_whole(node.children[0]))
    if op in ("lag", "lead"):
        of, default = rows.expr(node.children[0]), rows.expr(node.children[2])
        number = _whole(node.children[1])
        kept = None if default == Literal(None, default.type) else cast(default, of.type)
        of = cast(of, default.type) if of.type == VOID else of
        number = -number if op == "lag" else number
        return Asked("lead", of, of.type, None, number, kept, bool(node["ignoreNulls"]))
    if op == "nth_value":
        of = rows.expr(node.children[0])
        return Asked(op, of, of.type, frame, _whole(node.children[1]), None, bool(node["ignoreNulls"]))
    return Asked(op, None, result_type(op, None))


def _whole(node: Node) -> int:
    """A literal, which may be of either sign."""
    if node.kind == "UnaryMinus":
        return -_whole(node.children[0])
    if node.kind != "Literal" or node["value"] is None:
        raise unsupported(node, "an offset that is computed", "Write the number itself.")
    return int(node["value"])


def _frame(window: Node, frame: Node, order: Order) -> Frame | None:
    unit = {"RowFrame": "rows", "RangeFrame": "range"}.get(str(frame["frameType"]), "")
    if frame.kind != "SpecifiedWindowFrame" or not unit:
        raise unsupported(window, "a window without a frame", WINDOW_HINT)
    by = tuple((expr, down, not first) for expr, down, first in order)
    lower, upper = (frame.children[0], frame.children[-1])
    try:
        return frame_of((unit, _bound(lower, order), _bound(upper, order)), by, bool(order))
    except (TypeMismatch, NotAnExpression) as problem:
        raise refused(problem.what.rstrip("."), window, problem.hint) from None


def _bound(node: Node, order: Order) -> object:
    if node.kind in ("UnboundedPreceding", "UnboundedFollowing"):
        return None
    if node.kind == "CurrentRow":
        return 0
    if node.kind == "UnaryMinus":
        return -_bound(node.children[0], order)  # type: ignore[operator]
    found = str(node["dataType"])
    if node.kind != "Literal" or node["value"] is None or "month" in found or "year" in found:
        raise unsupported(node, "a frame that goes as far as this", "Say days, hours, minutes or seconds, or a number.")
    if "interval" in found:
        length = timedelta(microseconds=int(node["value"]))
        if order and order[0][0].type.name == "timestamp" and abs(length) >= DAY:
            raise unsupported(
                node,
                "a frame of days over a timestamp, whose days differ in length with the zone",
                "Cast the order to timestamp_ntz or to a date, or say fewer than 24 hours.",
            )
        return length
    return literal_of(node).value
