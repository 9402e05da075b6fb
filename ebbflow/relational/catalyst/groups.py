"""Groups of rows in Catalyst's plans: keys, aggregates, and expressions over both.

Rule: behind a group every row is a group; what an expression can read are its keys and its aggregates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ebbflow.columns.schema import DOUBLE, LONG
from ebbflow.expressions.operations import VOID, cast
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.frontend.building.grouping import result_type
from ebbflow.relational import algebra as a
from ebbflow.relational import unnest
from ebbflow.relational.aggregates import Asked, aggregated, counted, where
from ebbflow.relational.algebra import Relation
from ebbflow.relational.catalyst.expressions import TRY, mode_of
from ebbflow.relational.catalyst.refusals import refused, unsupported
from ebbflow.relational.catalyst.rows import Rows
from ebbflow.relational.catalyst.tree import Node

__all__ = ["Grouped", "aggregated", "of_partition"]

PLAIN = {"Count": "count", "Sum": "sum", "Average": "avg", "Min": "min", "Max": "max"}
SPREADS = {
    "StddevSamp": "stddev_samp", "StddevPop": "stddev_pop", "VarianceSamp": "var_samp", "VariancePop": "var_pop",
}  # fmt: skip
SOME = {"First", "Last", "AnyValue"}
HINT = "There are count, sum, avg, min, max, any_value, first, stddev, variance; of distinct values too."


class Grouped:
    """The rows behind an aggregate: the keys, then the aggregates that its expressions need."""

    def __init__(self, rows: Rows, keys: Sequence[Node], shown: Sequence[Node]):
        self.before, self.keys = rows, list(dict.fromkeys(rows.expr(key) for key in keys))
        self.plans = rows.plans
        found = [one for part in shown for one in aggregates_in(part)]
        self.asked = {id(one): asked_of(rows, one) for one in found}
        kept = list(dict.fromkeys(self.asked.values()))
        self.at = {one: len(self.keys) + i for i, one in enumerate(kept)}
        if (
            found and keys and all(_is_any_row(one) for one in found)
        ):  # dropDuplicates: values of one row, not of several
            top = a.Top(rows.relation, tuple(self.keys), (), 1)
            self.relation: Relation = a.Project(top, (*self.keys, *(one.of[0] for one in kept)))
        elif not keys and not found:
            self.relation = a.ONE
        else:
            self.relation = aggregated(rows.relation, tuple(self.keys), kept)

    def column(self, node: Node) -> Expr:
        raise refused("a column is neither a key of the groups nor inside an aggregate", node, HINT)

    def scalar(self, node: Node) -> Expr:
        if node.children:
            raise unsupported(node, "a subquery that reads the query around it in this way", "Write it as a join.")
        self.relation = unnest.with_scalar(self.relation, self.plans.rows(node["plan"]).relation)
        return a.columns_of(self.relation)[-1]

    def known(self, node: Node) -> Expr | None:
        if node.kind == "AggregateExpression":
            one = self.asked[id(node)]
            return a.column(self.at[one], one.type)
        if node.kind in ("Literal", "ScalarSubquery") or next(aggregates_in(node), None) is not None:
            return None
        if any(part.kind == "ScalarSubquery" for part in node.within()):
            return None
        found = self.before.expr(node)
        return a.column(self.keys.index(found), found.type) if found in self.keys else None


def aggregates_in(node: Node) -> Iterator[Node]:
    for part in node.within():
        if part.kind == "AggregateExpression":
            yield part


def _is_any_row(node: Node) -> bool:
    function = node.children[0]
    return function.kind in SOME and len(node.children) == 1 and not _skips_nulls(function)


def _skips_nulls(function: Node) -> bool:
    return bool(function["ignoreNulls"])


def asked_of(rows: Rows, node: Node) -> Asked:
    """An aggregate over these rows."""
    function, is_distinct = node.children[0], bool(node["isDistinct"])
    values = tuple(rows.expr(one) for one in function.children)
    condition = rows.condition(node.children[1]) if len(node.children) > 1 else None
    kind = function.kind
    if (
        kind == "Count"
        and not is_distinct
        and all(isinstance(one, Literal) and one.value is not None for one in values)
    ):
        if condition is None:
            return Asked("count_rows", (), LONG)
        return Asked("count", (where(condition, Literal(1, LONG)),), LONG)
    if not values or kind not in {"Count", "HyperLogLogPlusPlus", *PLAIN, *SPREADS, *SOME}:
        raise unsupported(function, f"the aggregate {kind}", HINT)
    values = tuple(cast(one, LONG) if one.type == VOID else one for one in values)
    if kind in SOME:
        values = values[:1]
    if condition is not None:
        values = tuple(where(condition, one) for one in values)
    if kind == "Count":
        if is_distinct:
            return Asked("count_distinct", values, LONG) if len(values) == 1 else Asked("count", values, LONG, True)
        return Asked("count", values if len(values) == 1 else (counted(values),), LONG)
    if len(values) > 1:
        raise unsupported(function, f"the aggregate {kind} of several values", HINT)
    if kind in ("Sum", "Average") and mode_of(function) == TRY:
        raise unsupported(
            function, f"try_{'sum' if kind == 'Sum' else 'avg'}", "sum and avg refuse a step that overflows."
        )
    if kind == "HyperLogLogPlusPlus":  # approx_count_distinct: exact here
        return Asked("count_distinct", values, LONG)
    if kind in SOME:
        op = "min" if _skips_nulls(function) or condition is not None else "any_value"
        return Asked(op, values, values[0].type)
    if kind in SPREADS:
        return Asked(SPREADS[kind], values, DOUBLE, is_distinct)
    op = PLAIN[kind]
    return Asked(op, values, result_type(op, values[0].type), is_distinct and op not in ("min", "max"))


def of_partition(rows: Rows, node: Node) -> Asked:
    """A window function that is an aggregate of the whole partition."""
    expression = node.children[0] if node.kind == "Alias" else node
    function = expression.children[0] if expression.children else expression
    frame = [part for part in expression.within() if part.kind == "SpecifiedWindowFrame"]
    whole = {"UnboundedPreceding", "UnboundedFollowing"}
    ends = {part.kind for part in frame[0].within() if part is not frame[0]} if frame else set()
    if expression.kind != "WindowExpression" or function.kind != "AggregateExpression" or ends != whole:
        raise unsupported(
            expression,
            "a window function over an order",
            "Aggregates of a whole partition are kept; the first rows of groups: group_by(...).top(n, order_by=...).",
        )
    return asked_of(rows, function)
