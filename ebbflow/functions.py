"""Functions of columns, under PySpark's names: `import ebbflow.functions as F`.

Where a function takes a column, a plain string is the column's name; a constant of text is `lit("text")`.  Aggregates
stand in `group_by(...).agg(...)`.

Rule: each function is one operation, one aggregate, or a short composition of them.
"""

from __future__ import annotations

import builtins

from ebbflow.columns import written as w
from ebbflow.errors import NotAnExpression
from ebbflow.frontend.column import Column, col, lit, named_or, operand, when

__all__ = [
    "abs",
    "any_value",
    "asc",
    "avg",
    "cast",
    "ceil",
    "coalesce",
    "col",
    "column",
    "concat",
    "contains",
    "cos",
    "count",
    "countDistinct",
    "count_distinct",
    "current_date",
    "current_timestamp",
    "date_add",
    "date_diff",
    "date_sub",
    "datediff",
    "day",
    "dayofmonth",
    "dayofweek",
    "desc",
    "endswith",
    "exp",
    "expr",
    "first",
    "floor",
    "greatest",
    "hour",
    "ifnull",
    "isnan",
    "isnull",
    "least",
    "length",
    "lit",
    "ln",
    "log",
    "log2",
    "log10",
    "lower",
    "ltrim",
    "max",
    "mean",
    "min",
    "minute",
    "month",
    "nanvl",
    "pow",
    "power",
    "replace",
    "round",
    "rtrim",
    "second",
    "sign",
    "signum",
    "sin",
    "sqrt",
    "startswith",
    "substr",
    "substring",
    "sum",
    "tan",
    "to_date",
    "to_timestamp",
    "trim",
    "upper",
    "weekday",
    "when",
    "year",
]  # fmt: skip

Given = Column | str | object


def _of(op: str, *args: Given) -> Column:
    return Column(w.Applied(op, tuple(named_or(arg).tree for arg in args)))


def _text(value: Given) -> Column:
    """Where PySpark takes plain text: what to look for, what to put in."""
    return Column(operand(value))


# ---- aggregates -----------------------------------------------------------------------------


def _aggregate(op: str, column: Given) -> Column:
    return Column(w.Aggregated(op, named_or(column).tree))


def count(column: Given = "*") -> Column:
    """`count()` counts rows with their multiplicities, `count("x")` those where x is not null."""
    if isinstance(column, builtins.str) and column == "*":
        return Column(w.Aggregated("count_rows", None))
    return _aggregate("count", column)


def sum(column: Given) -> Column:
    """Of the values that are not null; null when there are none.  Sums of floats are exact, then rounded once."""
    return _aggregate("sum", column)


def avg(column: Given) -> Column:
    """The mean of the values that are not null, a double."""
    return _aggregate("avg", column)


def min(column: Given) -> Column:
    return _aggregate("min", column)


def max(column: Given) -> Column:
    return _aggregate("max", column)


def any_value(column: Given) -> Column:
    """One of the values: the least, so that the answer is always the same."""
    return _aggregate("any_value", column)


def count_distinct(column: Given, *more: Given) -> Column:
    """How many different values, nulls not counted."""
    if more:
        raise NotAnExpression(
            "count_distinct takes one column.", hint='Several: c.select("a", "b").distinct().group_by(...).count().'
        )
    return _aggregate("count_distinct", column)


mean = avg
countDistinct = count_distinct


def first(column: Given) -> Column:
    raise NotAnExpression(
        "a group has no first row: a collection has no order.",
        hint='any_value("x") gives one of the values; group_by(...).top(1, order_by="-x") the first row by an order.',
    )


# ---- choice ---------------------------------------------------------------------------------

column = col


def coalesce(*columns: Given) -> Column:
    """The first that is not null."""
    return _of("coalesce", *columns)


def ifnull(column: Given, other: Given) -> Column:
    return _of("coalesce", column, other)


def nanvl(column: Given, other: Given) -> Column:
    """The other where this is nan."""
    return when(isnan(column), named_or(other)).otherwise(named_or(column))


def isnull(column: Given) -> Column:
    return _of("is_null", column)


def isnan(column: Given) -> Column:
    return _of("is_nan", column)


def greatest(*columns: Given) -> Column:
    """The largest that is not null."""
    return _of("greatest", *columns)


def least(*columns: Given) -> Column:
    return _of("least", *columns)


def cast(column: Given, kind: object) -> Column:
    return named_or(column).cast(kind)


def asc(column: Given) -> Column:
    return named_or(column).asc()


def desc(column: Given) -> Column:
    return named_or(column).desc()


# ---- numbers --------------------------------------------------------------------------------


def abs(column: Given) -> Column:
    return _of("abs", column)


def sqrt(column: Given) -> Column:
    return _of("sqrt", column)


def exp(column: Given) -> Column:
    return _of("exp", column)


def log(column: Given) -> Column:
    """The natural logarithm; null at zero and below."""
    return _of("log", column)


ln = log


def log2(column: Given) -> Column:
    return _of("log2", column)


def log10(column: Given) -> Column:
    return _of("log10", column)


def pow(column: Given, exponent: Given) -> Column:
    return _of("pow", column, exponent)


power = pow


def floor(column: Given) -> Column:
    return _of("floor", column)


def ceil(column: Given) -> Column:
    return _of("ceil", column)


def round(column: Given, scale: int = 0) -> Column:
    """Half away from zero."""
    return _of("round", column, scale)


def sin(column: Given) -> Column:
    return _of("sin", column)


def cos(column: Given) -> Column:
    return _of("cos", column)


def tan(column: Given) -> Column:
    return _of("tan", column)


def sign(column: Given) -> Column:
    return _of("sign", column)


signum = sign


# ---- text -----------------------------------------------------------------------------------


def lower(column: Given) -> Column:
    return _of("lower", column)


def upper(column: Given) -> Column:
    return _of("upper", column)


def length(column: Given) -> Column:
    return _of("length", column)


def substring(column: Given, start: Given, length: Given) -> Column:
    """From a position (the first is 1), so many characters."""
    return _of("substr", column, start, length)


substr = substring


def concat(*columns: Given) -> Column:
    """One after the other; null if any is null.  Plain strings are columns: `concat("first", lit(" "), "last")`."""
    return _of("concat", *columns)


def contains(column: Given, text: Given) -> Column:
    return _of("contains", column, _text(text))


def startswith(column: Given, text: Given) -> Column:
    return _of("starts_with", column, _text(text))


def endswith(column: Given, text: Given) -> Column:
    return _of("ends_with", column, _text(text))


def trim(column: Given) -> Column:
    return _of("trim", column)


def ltrim(column: Given) -> Column:
    return _of("ltrim", column)


def rtrim(column: Given) -> Column:
    return _of("rtrim", column)


def replace(column: Given, search: Given, by: Given = "") -> Column:
    return _of("replace", column, _text(search), _text(by))


# ---- dates and times ------------------------------------------------------------------------


def year(column: Given) -> Column:
    return _of("year", column)


def month(column: Given) -> Column:
    return _of("month", column)


def day(column: Given) -> Column:
    return _of("day", column)


dayofmonth = day


def hour(column: Given) -> Column:
    return _of("hour", column)


def minute(column: Given) -> Column:
    return _of("minute", column)


def second(column: Given) -> Column:
    return _of("second", column)


def weekday(column: Given) -> Column:
    """0 is Monday, 6 is Sunday."""
    return _of("weekday", column)


def dayofweek(column: Given) -> Column:
    """1 is Sunday, 7 is Saturday, as in Spark."""
    return (weekday(column) + 1) % 7 + 1


def date_add(column: Given, days: Given) -> Column:
    return _of("date_add", column, days)


def date_sub(column: Given, days: Given) -> Column:
    return _of("date_add", column, _of("neg", days))


def date_diff(end: Given, start: Given) -> Column:
    """Days from start to end."""
    return _of("date_diff", end, start)


datediff = date_diff


def to_date(column: Given) -> Column:
    return named_or(column).cast("date")


def to_timestamp(column: Given) -> Column:
    return named_or(column).cast("timestamp")


# ---- what cannot be -------------------------------------------------------------------------


def current_timestamp() -> Column:
    raise NotAnExpression(
        "a result that depends on when it is computed would not stay right.",
        hint="Give the time as data: a column, or the time of a change. datetime.now() in a program is read once.",
    )


current_date = current_timestamp


def expr(text: str) -> Column:
    raise NotAnExpression(
        f"expr({text!r}) is SQL in a string.",
        hint='Write it with columns: col("x") + 1; whole queries are flow.sql(...).',
    )
