"""Groups of rows in Catalyst's plans: keys, aggregates, and expressions over both.

Rule: behind a group every row is a group; what an expression can read are its keys and its aggregates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from ebbflow.columns.schema import DOUBLE, LONG
from ebbflow.dataflow.aggregates import result_type
from ebbflow.expressions.operations import VOID, cast, typed
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational import unnest
from ebbflow.relational.aggregates import Asked, aggregated, composed_type, counted, pair, where
from ebbflow.relational.algebra import Relation
from ebbflow.relational.catalyst import nested
from ebbflow.relational.catalyst.functions import TRY, mode_of
from ebbflow.relational.catalyst.refusals import refused, unsupported
from ebbflow.relational.catalyst.rows import Rows
from ebbflow.relational.catalyst.tree import Node

PLAIN = {"Count": "count", "Sum": "sum", "Average": "avg", "Min": "min", "Max": "max"}
STATISTICS = {
    "StddevSamp": "stddev_samp", "StddevPop": "stddev_pop", "VarianceSamp": "var_samp", "VariancePop": "var_pop",
    "Skewness": "skewness", "Kurtosis": "kurtosis", "CovPopulation": "covar_pop", "CovSample": "covar_samp",
    "Corr": "corr", "RegrR2": "regr_r2", "RegrSXX": "regr_sxx", "RegrSYY": "regr_syy", "RegrSXY": "regr_sxy",
    "RegrReplacement": "spread",
    "RegrSlope": "regr_slope", "RegrIntercept": "regr_intercept", "RegrCount": "regr_count",
}  # fmt: skip
AGGREGATES_OF_TABLE = {
    "Mode": "mode", "Product": "product", "BitAndAgg": "bit_and", "BitOrAgg": "bit_or", "BitXorAgg": "bit_xor",
}  # fmt: skip
BY_ORDER = {"MaxBy": "max_by", "MinBy": "min_by"}
PERCENTILES = {
    "Percentile": "percentile", "PercentileCont": "percentile", "ApproximatePercentile": "percentile_disc",
    "PercentileDisc": "percentile_disc",
}  # fmt: skip
SOME = {"First", "Last", "AnyValue"}
HINT = "There are count, sum, avg, min, max, any_value, first, median, percentile, mode, max_by, stddev, corr and more."


class Grouped:
    """The rows behind an aggregate: the keys, then the aggregates that its expressions need."""

    def __init__(self, rows: Rows, keys: Sequence[Node], shown: Sequence[Node]):
        self.before, self.keys = rows, list(dict.fromkeys(rows.expr(key) for key in keys))
        self.plans = rows.plans
        found = [one for part in shown for one in aggregates_in(part)]
        self.asked = {id(one): asked_of(rows, one) for one in found if not _is_pivot(one)}
        self.pivots = {id(one): _pivoted(rows, one) for one in found if _is_pivot(one)}
        kept = list(dict.fromkeys([*self.asked.values(), *(one for parts in self.pivots.values() for one in parts)]))
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
            parts = [a.column(self.at[one], one.type) for one in self.pivots.get(id(node), ())]
            one = self.asked.get(id(node))
            return typed("array", parts) if one is None else a.column(self.at[one], one.type)
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


def _is_pivot(node: Node) -> bool:
    return node.children[0].kind == "PivotFirst"


def _pivoted(rows: Rows, node: Node) -> list[Asked]:
    """What a pivot makes of the rows of a group, of which there is one for each value: a value of each, in order."""
    function = node.children[0]
    by, value = (rows.expr(one) for one in function.children)
    value = cast(value, LONG) if value.type == VOID else value
    values, java = function.java.pivotColumnValues(), function.children[0].java.dataType()
    chosen = [nested.constant(values.apply(i), by.type, java, function) for i in range(values.size())]
    return [Asked("min", (where(typed("eq_null_safe", (by, one)), value),), value.type) for one in chosen]


def _is_any_row(node: Node) -> bool:
    function = node.children[0]
    return function.kind in SOME and len(node.children) == 1 and not _skips_nulls(function)


def _skips_nulls(function: Node) -> bool:
    return bool(function["ignoreNulls"])


def asked_of(rows: Rows, node: Node) -> Asked:
    """An aggregate over these rows."""
    function, is_distinct = node.children[0], bool(node["isDistinct"])
    if function.kind in nested.COLLECTED_BY:
        condition = rows.condition(node.children[1]) if len(node.children) > 1 else None
        return nested.collected(function, rows.expr, condition, is_distinct)
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
    if kind in PERCENTILES:
        return _quantile(function, values, condition)
    known = {"Count", "HyperLogLogPlusPlus", *PLAIN, *STATISTICS, *SOME, *AGGREGATES_OF_TABLE, *BY_ORDER}
    if not values or kind not in known:
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
    if kind in STATISTICS:
        return Asked(STATISTICS[kind], values, composed_type(STATISTICS[kind]), is_distinct)
    if kind in BY_ORDER:
        return Asked(BY_ORDER[kind], (pair(*values),), values[0].type)
    if len(values) > 1:
        raise unsupported(function, f"the aggregate {kind} of several values", HINT)
    if kind in AGGREGATES_OF_TABLE:
        if is_distinct:
            raise unsupported(function, f"the aggregate {kind} of distinct values", HINT)
        value = cast(values[0], DOUBLE) if kind == "Product" else values[0]
        return Asked(AGGREGATES_OF_TABLE[kind], (value,), result_type(AGGREGATES_OF_TABLE[kind], value.type))
    if kind in ("Sum", "Average") and mode_of(function) == TRY:
        raise unsupported(
            function, f"try_{'sum' if kind == 'Sum' else 'avg'}", "sum and avg refuse a step that overflows."
        )
    if kind == "HyperLogLogPlusPlus":  # approx_count_distinct: exact here
        return Asked("count_distinct", values, LONG)
    if kind in SOME:
        op = "min" if _skips_nulls(function) or condition is not None else "any_value"
        return Asked(op, values, values[0].type)
    op = PLAIN[kind]
    return Asked(op, values, result_type(op, values[0].type), is_distinct and op not in ("min", "max"))


def _quantile(function: Node, values: tuple[Expr, ...], condition: Expr | None) -> Asked:
    """A value at a part of the way; with a third argument that is how often each row counts, which is not read."""
    op, part = PERCENTILES[function.kind], values[1]
    if not isinstance(part, Literal) or not isinstance(part.value, int | float | Decimal):
        raise unsupported(function, "several percentiles at once", "Ask for each by itself.")
    often = values[2] if function.kind == "Percentile" and len(values) > 2 else Literal(1, LONG)
    if not isinstance(often, Literal) or often.value != 1:
        raise unsupported(function, "a percentile by frequencies", HINT)
    at = 1 - float(part.value) if function["reverse"] is True else float(part.value)
    value = cast(values[0], DOUBLE) if op == "percentile" else values[0]
    if condition is not None:
        value = where(condition, value)
    return Asked(f"{op}({at})", (value,), result_type(op, value.type))
