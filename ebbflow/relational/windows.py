"""Window functions of a query: which rows each is over, and what it computes of them.

A window is computed behind group by and having, in front of qualify, distinct and order by; its functions may be of
aggregates.  Windows with the same partitions and order are one.

Rule: a window adds columns to its rows, and neither adds nor drops a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

from sqlglot import exp

from ebbflow.dataflow.nodes import Frame
from ebbflow.dataflow.windows import WINDOW_FUNCTIONS, Asked, result_type
from ebbflow.errors import NotAnExpression, TypeMismatch
from ebbflow.expressions.operations import cast, common_type
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.frontend.building.windows import frame_of
from ebbflow.relational import aggregates
from ebbflow.relational import algebra as a
from ebbflow.relational.conditions import conjunction, same_value
from ebbflow.relational.expressions import AGGREGATES, constant
from ebbflow.relational.groups import aggregate_of
from ebbflow.relational.nested import is_collecting
from ebbflow.relational.refusals import refused, unsupported, word_for
from ebbflow.relational.rows import Rows, bare

PLACES_OF_SQL: dict[type[exp.Expression], str] = {
    exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank", exp.PercentRank: "percent_rank",
    exp.CumeDist: "cume_dist", exp.Ntile: "ntile", exp.Lag: "lag", exp.Lead: "lead", exp.FirstValue: "first_value",
    exp.LastValue: "last_value", exp.First: "first_value", exp.Last: "last_value", exp.NthValue: "nth_value",
    exp.AnyValue: "first_value",
}  # fmt: skip
WINDOW_SAYS = {"this", "partition_by", "order", "spec", "alias", "over"}
UNITS = {
    "DAY": timedelta(days=1), "HOUR": timedelta(hours=1), "MINUTE": timedelta(minutes=1),
    "SECOND": timedelta(seconds=1), "WEEK": timedelta(weeks=1), "MILLISECOND": timedelta(milliseconds=1),
    "MICROSECOND": timedelta(microseconds=1),
}  # fmt: skip
Order = tuple[tuple[Expr, bool, bool], ...]


def windows_in(node: exp.Expression) -> Iterator[exp.Expression]:
    """The windows of this query in an expression; those of subqueries are their own."""
    if isinstance(node, exp.Window):
        yield node
    elif not isinstance(node, exp.Query | exp.Subquery):
        for part in node.iter_expressions():
            yield from windows_in(part)


def add_windows(rows: Rows, parts: list[exp.Expression], query: exp.Select) -> None:
    """Compute all windows of these parts of a query, each once; `rows.expr` finds them from now on."""
    named = {window.this.name.lower(): window for window in query.args.get("windows") or []}
    found = list(dict.fromkeys(window for part in parts for window in windows_in(part)))
    rows.windows = {}
    groups: dict[tuple[tuple[Expr, ...], Order], list[tuple[exp.Expression, _Function]]] = {}
    for node in found:
        whole = _spelled_out(node, named)
        keys = tuple(rows.expr(part) for part in whole.args.get("partition_by") or [])
        order = whole.args.get("order")
        by = tuple(_ordered(rows, part) for part in (order.expressions if order is not None else []))
        groups.setdefault((keys, by), []).append((node, _function(rows, whole, by)))
    for (keys, by), members in groups.items():
        for node, function in members:
            if function.of is not None and function.is_joined:
                rows.windows[node] = _joined(rows, keys, function.of)
        members = [(node, function) for node, function in members if not function.is_joined]
        if not members:
            continue
        asked = list(dict.fromkeys(part for _, function in members for part in function.parts))
        width = len(rows.relation.types)
        rows.relation = a.Window(rows.relation, keys, by, tuple(asked))
        at: dict[Asked, Expr] = {part: a.column(width + i, part.type) for i, part in enumerate(asked)}
        for node, function in members:
            rows.windows[node] = function.put_together(at)


class _Function:
    """One function of a window: what the engine computes for it, and what is made of that."""

    def __init__(self, parts: tuple[Asked, ...], of: aggregates.Asked | None = None):
        self.parts, self.of = parts, of
        self.is_joined = not parts  # an aggregate that is no function of windows: that of a group, for each of its rows

    def put_together(self, at: dict[Asked, Expr]) -> Expr:
        if self.of is None:
            return at[self.parts[0]]
        found = dict(zip(aggregates.parts_of(self.of), (at[part] for part in self.parts), strict=True))
        return aggregates.put_together(self.of, found)


def _joined(rows: Rows, keys: tuple[Expr, ...], of: aggregates.Asked) -> Expr:
    """An aggregate of whole partitions, of distinct values or of collected ones: that of a group, put to its rows."""
    width = len(rows.relation.types)
    group = aggregates.aggregated(rows.relation, keys, [of])
    same = [same_value(key, column) for key, column in zip(keys, a.columns_of(group, width))]
    joined = a.Join(rows.relation, group, "inner", conjunction(same))
    rows.relation = a.Project(joined, (*a.columns_of(joined)[:width], a.columns_of(joined)[-1]))
    return a.columns_of(rows.relation)[-1]


def _spelled_out(node: exp.Expression, named: dict[str, exp.Expression]) -> exp.Expression:
    """A window with what the window that it names says."""
    more = [name for name, value in node.args.items() if value not in (None, False, []) and name not in WINDOW_SAYS]
    if more:
        raise unsupported(node, f"a window with {', '.join(more)}")
    alias = node.args.get("alias")
    if alias is None:
        return node
    if alias.name.lower() not in named:
        known = ", ".join(named) or "none"
        raise refused(f'there is no window "{alias.name}"; there are: {known}', node, "Say: window w as (...).")
    base = _spelled_out(named[alias.name.lower()], {k: v for k, v in named.items() if k != alias.name.lower()})
    whole = node.copy()
    whole.set("alias", None)
    for name in ("partition_by", "order", "spec"):
        if base.args.get(name) and not node.args.get(name):
            value = base.args[name]
            whole.set(name, [part.copy() for part in value] if isinstance(value, list) else value.copy())
    return whole


def _ordered(rows: Rows, part: exp.Expression) -> tuple[Expr, bool, bool]:
    down = bool(part.args.get("desc"))
    return rows.expr(part.this), down, bool(part.args.get("nulls_first", not down))


def _function(rows: Rows, window: exp.Expression, order: Order) -> _Function:
    node, skips = window.this, False
    while isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
        skips = isinstance(node, exp.IgnoreNulls)
        node = node.this
    inner = node.this if isinstance(node, exp.Filter) else node
    if type(inner) in PLACES_OF_SQL and inner is node:
        asked = _place(rows, node, skips)
        kind = WINDOW_FUNCTIONS[asked.op]
        spec = window.args.get("spec")
        frame = _frame(rows, window, order) if kind.framed else None
        if not kind.framed and spec is not None and not _is_default(spec):
            raise refused(f"{PLACES_OF_SQL[type(node)]} is about the whole partition", spec, "Leave the frame out.")
        return _Function((Asked(asked.op, asked.of, asked.type, frame, asked.number, asked.default, skips),))
    if type(inner) not in AGGREGATES and not is_collecting(inner):
        raise unsupported(window, f"{word_for(inner)} over a window", "Ranks, lag, lead and aggregates stand there.")
    if skips:
        raise unsupported(window, f"{inner.key} with ignore nulls")
    of = aggregate_of(rows, node)
    frame = _frame(rows, window, order)
    if of.is_distinct or of.op == "count_distinct" or is_collecting(inner):
        if frame is not None:
            said = "collected values" if is_collecting(inner) else "an aggregate of distinct values"
            raise unsupported(window, f"{said} over a part of its window", "Leave its order and frame out.")
        return _Function((), of)
    parts = aggregates.parts_of(of)
    for part in parts:
        if part.op not in WINDOW_FUNCTIONS and frame is not None:
            raise unsupported(window, f"{part.op} over a part of its window")
    return _Function(tuple(Asked(part.op, part.of[0] if part.of else None, part.type, frame) for part in parts), of)


def _place(rows: Rows, node: exp.Expression, skips: bool) -> Asked:
    """A function of a row's place, without its frame."""
    op = PLACES_OF_SQL[type(node)]
    if op in ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist"):
        return Asked(op, None, result_type(op, None))
    if op == "ntile":
        tiles = constant(node.this, rows.expr, "ntile")
        if tiles < 1:
            raise refused("ntile has at least one tile", node, "Write a number from 1.")
        return Asked(op, None, result_type(op, None), number=tiles)
    of, default, number = rows.expr(node.this), None, 0
    if op in ("lag", "lead"):
        number = 1 if node.args.get("offset") is None else constant(node.args["offset"], rows.expr, op)
        number = -number if op == "lag" else number
        if node.args.get("default") is not None:
            default = rows.expr(node.args["default"])
            kind = common_type([of.type, default.type])
            if kind is None:
                raise refused(f"{op} is of a {of.type}, and its default is a {default.type}", node, "Cast one of them.")
            of, default = cast(of, kind), cast(default, kind)
        op = "lead"
    elif op == "nth_value":
        number = constant(node.args["offset"], rows.expr, op)
        if number < 1:
            raise refused("nth_value counts from 1", node, "Write a number from 1.")
    return Asked(op, of, result_type(op, of.type), number=number, default=default, skips_nulls=skips)


def _is_default(spec: exp.Expression) -> bool:
    """The frame that ranks are said to have: from the first row to the current one."""
    return spec.args.get("start") == "UNBOUNDED" and spec.args.get("end") in (None, "CURRENT ROW")


def _frame(rows: Rows, window: exp.Expression, order: Order) -> Frame | None:
    spec = window.args.get("spec")
    by = tuple((expr, down, not first) for expr, down, first in order)
    if spec is None:
        return frame_of(None, by, bool(order))
    unit = str(spec.args.get("kind") or "rows").lower()
    if unit not in ("rows", "range") or spec.args.get("exclude"):
        said = f"a frame of {unit}" if not spec.args.get("exclude") else "a frame with exclude"
        raise unsupported(spec, said, "Frames are: rows between ... and ..., range between ... and ...")
    start = _bound(rows, spec, "start", unit)
    end = 0 if spec.args.get("end") is None else _bound(rows, spec, "end", unit)
    if isinstance(start, int) and isinstance(end, int) and start > end:
        raise refused("a frame ends before it starts", spec, "Turn it around.")
    try:
        return frame_of((unit, start, end), by, bool(order))
    except (TypeMismatch, NotAnExpression) as problem:
        raise refused(problem.what.rstrip("."), spec, problem.hint.replace("rows_between", "rows between")) from None


def _bound(rows: Rows, spec: exp.Expression, which: str, unit: str) -> object:
    """How far a frame goes: None for unbounded, less than 0 for preceding."""
    value, side = spec.args[which], str(spec.args.get(f"{which}_side") or "").lower()
    if value == "CURRENT ROW":
        return 0
    if value == "UNBOUNDED":
        if side != ("preceding" if which == "start" else "following"):
            raise refused(f"a frame does not {which} with unbounded {side}", spec, "Turn it around.")
        return None
    sign = -1 if side == "preceding" else 1
    if isinstance(value, exp.Interval):
        return sign * _length(value)
    found = rows.expr(bare(value))
    match found:
        case Literal(int() as number) if not isinstance(number, bool):
            return sign * number
        case Literal(float() | Decimal() as number) if unit == "range":
            return sign * number
    raise refused("how far a frame goes is a number in the text", spec, "For example: rows between 2 preceding and ...")


def _length(node: exp.Expression) -> timedelta:
    unit = node.args["unit"].name.upper().removesuffix("S") if node.args.get("unit") is not None else ""
    if unit not in UNITS or not isinstance(node.this, exp.Literal):
        said = f"a frame measured in {unit.lower() or 'interval'}s"
        raise unsupported(node, said, "Measure it in days: interval 30 days.")
    try:
        return float(node.this.name) * UNITS[unit]
    except ValueError:
        raise unsupported(node, "this interval in a frame") from None
