"""Functions of columns, under PySpark's names: `import ebbflow.functions as F`.

Where a function takes a column, a plain string is the column's name; a constant of text is `lit("text")`.  Aggregates
stand in `group_by(...).agg(...)`.

Rule: each function is one operation, one aggregate, or a short composition of them.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, NoReturn

from ebbflow.errors import NotAnExpression
from ebbflow.expressions import ast as w
from ebbflow.frontend import aliases
from ebbflow.frontend.aliases import unknown_name
from ebbflow.frontend.building.column import Column, col, lit, named_or, operand, when

__all__ = [
    "abs",
    "any_value",
    "asc",
    "avg",
    "bool_and",
    "bool_or",
    "cast",
    "ceil",
    "ceiling",
    "char_length",
    "character_length",
    "coalesce",
    "col",
    "column",
    "concat",
    "contains",
    "cos",
    "count",
    "countDistinct",
    "count_distinct",
    "count_if",
    "current_date",
    "current_timestamp",
    "date_add",
    "date_diff",
    "date_sub",
    "dateadd",
    "datediff",
    "day",
    "dayofmonth",
    "dayofweek",
    "desc",
    "endswith",
    "equal_null",
    "every",
    "exp",
    "expr",
    "first",
    "floor",
    "greatest",
    "hour",
    "ifnull",
    "ilike",
    "isnan",
    "isnotnull",
    "isnull",
    "lcase",
    "least",
    "left",
    "length",
    "like",
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
    "negate",
    "negative",
    "nullif",
    "nvl",
    "nvl2",
    "pow",
    "power",
    "quarter",
    "replace",
    "right",
    "round",
    "rtrim",
    "second",
    "sign",
    "signum",
    "sin",
    "some",
    "sqrt",
    "startswith",
    "substr",
    "substring",
    "sum",
    "tan",
    "to_date",
    "to_timestamp",
    "trim",
    "ucase",
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
    """`count()` counts rows with their multiplicities, `count("x")` those where x is not null.

    >>> count()
    Column<count_rows()>
    """
    if isinstance(column, builtins.str) and column == "*":
        return Column(w.Aggregated("count_rows", None))
    return _aggregate("count", column)


def sum(column: Given) -> Column:
    """Of the values that are not null; null when there are none.  Sums of floats are exact, then rounded once.

    A sum of decimal(p, s) is a decimal(p + 10, s); one that needs more than 18 digits refuses the step.

    >>> sum("x")
    Column<sum(x)>
    """
    return _aggregate("sum", column)


def avg(column: Given) -> Column:
    """The mean of the values that are not null, a double; of decimals a decimal with four digits more.

    >>> avg("x")
    Column<avg(x)>
    """
    return _aggregate("avg", column)


def min(column: Given) -> Column:
    """The least of the values that are not null.

    >>> min("x")
    Column<min(x)>
    """
    return _aggregate("min", column)


def max(column: Given) -> Column:
    """The largest of the values that are not null.

    >>> max("x")
    Column<max(x)>
    """
    return _aggregate("max", column)


def any_value(column: Given) -> Column:
    """One of the values: the least, so that the answer is always the same.

    >>> any_value("x")
    Column<any_value(x)>
    """
    return _aggregate("any_value", column)


def count_distinct(column: Given, *more: Given) -> Column:
    """How many different values, nulls not counted.

    >>> count_distinct("x")
    Column<count_distinct(x)>
    """
    if more:
        raise NotAnExpression(
            "count_distinct takes one column.", hint='Several: c.select("a", "b").distinct().group_by(...).count().'
        )
    return _aggregate("count_distinct", column)


mean = avg
countDistinct = count_distinct


def count_if(condition: Given) -> Column:
    """How many rows for which the condition is true.

    >>> count_if("late")
    Column<coalesce(sum(when(late, 1, None)), 0)>
    """
    return coalesce(sum(when(named_or(condition), 1)), 0)


def bool_and(column: Given) -> Column:
    """Whether it is true in every row; nulls are skipped.

    >>> bool_and("ok")
    Column<min(ok)>
    """
    return min(column)


def bool_or(column: Given) -> Column:
    """Whether it is true in any row; nulls are skipped.

    >>> bool_or("ok")
    Column<max(ok)>
    """
    return max(column)


every = bool_and
some = bool_or


def first(column: Given) -> Column:
    """A group has no first row: this says so.

    >>> first("x")
    Traceback (most recent call last):
        ...
    ebbflow.errors.NotAnExpression: a group has no first row...
    """
    raise NotAnExpression(
        "a group has no first row: a collection has no order.",
        hint='any_value("x") gives one of the values; group_by(...).top(1, order_by="-x") the first row by an order.',
    )


# ---- choice ---------------------------------------------------------------------------------

column = col


def coalesce(*columns: Given) -> Column:
    """The first that is not null.

    >>> coalesce("x", lit(0))
    Column<coalesce(x, 0)>
    """
    return _of("coalesce", *columns)


def ifnull(column: Given, other: Given) -> Column:
    """The other where this is null.

    >>> ifnull("x", lit(0))
    Column<coalesce(x, 0)>
    """
    return _of("coalesce", column, other)


nvl = ifnull


def nvl2(column: Given, there: Given, missing: Given) -> Column:
    """One value where this is not null, another where it is.

    >>> nvl2("x", lit(1), lit(0))
    Column<when(not(is_null(x)), 1, 0)>
    """
    return when(isnotnull(column), named_or(there)).otherwise(named_or(missing))


def nullif(column: Given, other: Given) -> Column:
    """Null where the two are equal.

    >>> nullif("x", lit(0))
    Column<when(eq(x, 0), None, x)>
    """
    return when(named_or(column) == named_or(other), None).otherwise(named_or(column))


def isnotnull(column: Given) -> Column:
    """Whether it is not null.

    >>> isnotnull("x")
    Column<not(is_null(x))>
    """
    return named_or(column).is_not_null()


def equal_null(column: Given, other: Given) -> Column:
    """Equal, where null equals null.

    >>> equal_null("x", "y")
    Column<eq_null_safe(x, y)>
    """
    return _of("eq_null_safe", column, other)


def nanvl(column: Given, other: Given) -> Column:
    """The other where this is nan.

    >>> nanvl("x", lit(0.0))
    Column<when(is_nan(x), 0.0, x)>
    """
    return when(isnan(column), named_or(other)).otherwise(named_or(column))


def isnull(column: Given) -> Column:
    """Whether it is null.

    >>> isnull("x")
    Column<is_null(x)>
    """
    return _of("is_null", column)


def isnan(column: Given) -> Column:
    """Whether it is nan; false for null.

    >>> isnan("x")
    Column<is_nan(x)>
    """
    return _of("is_nan", column)


def greatest(*columns: Given) -> Column:
    """The largest that is not null.

    >>> greatest("x", "y")
    Column<greatest(x, y)>
    """
    return _of("greatest", *columns)


def least(*columns: Given) -> Column:
    """The smallest that is not null.

    >>> least("x", "y")
    Column<least(x, y)>
    """
    return _of("least", *columns)


def cast(column: Given, kind: object) -> Column:
    """As another type; null where a value has no counterpart.

    >>> cast("x", "double")
    Column<cast(x, double)> as x
    """
    return named_or(column).cast(kind)


def asc(column: Given) -> Column:
    """For order_by: the smallest first.

    >>> asc("x")
    Column<x>
    """
    return named_or(column).asc()


def desc(column: Given) -> Column:
    """For order_by: the largest first.

    >>> desc("x")
    Column<x>
    """
    return named_or(column).desc()


# ---- numbers --------------------------------------------------------------------------------


def abs(column: Given) -> Column:
    """Without its sign.

    >>> abs("x")
    Column<abs(x)>
    """
    return _of("abs", column)


def sqrt(column: Given) -> Column:
    """Square root; nan below 0.

    >>> sqrt("x")
    Column<sqrt(x)>
    """
    return _of("sqrt", column)


def exp(column: Given) -> Column:
    """E to the power x.

    >>> exp("x")
    Column<exp(x)>
    """
    return _of("exp", column)


def log(column: Given) -> Column:
    """The natural logarithm; null at zero and below.

    >>> log("x")
    Column<log(x)>
    """
    return _of("log", column)


ln = log


def log2(column: Given) -> Column:
    """Logarithm to base 2; null at 0 and below.

    >>> log2("x")
    Column<log2(x)>
    """
    return _of("log2", column)


def log10(column: Given) -> Column:
    """Logarithm to base 10; null at 0 and below.

    >>> log10("x")
    Column<log10(x)>
    """
    return _of("log10", column)


def pow(column: Given, exponent: Given) -> Column:
    """To a power, as a double.

    >>> pow("x", 2)
    Column<pow(x, 2)>
    """
    return _of("pow", column, exponent)


power = pow


def floor(column: Given) -> Column:
    """The next whole number below, a long; of a decimal a decimal.

    >>> floor("x")
    Column<floor(x)>
    """
    return _of("floor", column)


def ceil(column: Given) -> Column:
    """The next whole number above, a long; of a decimal a decimal.

    >>> ceil("x")
    Column<ceil(x)>
    """
    return _of("ceil", column)


ceiling = ceil


def round(column: Given, scale: int = 0) -> Column:
    """Half away from zero.

    >>> round("x", 2)
    Column<round(x, 2)>
    """
    return _of("round", column, scale)


def sin(column: Given) -> Column:
    """Sine.

    >>> sin("x")
    Column<sin(x)>
    """
    return _of("sin", column)


def cos(column: Given) -> Column:
    """Cosine.

    >>> cos("x")
    Column<cos(x)>
    """
    return _of("cos", column)


def tan(column: Given) -> Column:
    """Tangent.

    >>> tan("x")
    Column<tan(x)>
    """
    return _of("tan", column)


def sign(column: Given) -> Column:
    """-1.0, 0.0 or 1.0.

    >>> sign("x")
    Column<sign(x)>
    """
    return _of("sign", column)


signum = sign


def negative(column: Given) -> Column:
    """With its sign changed.

    >>> negative("x")
    Column<neg(x)>
    """
    return _of("neg", column)


negate = negative


# ---- text -----------------------------------------------------------------------------------


def lower(column: Given) -> Column:
    """In small letters.

    >>> lower("name")
    Column<lower(name)>
    """
    return _of("lower", column)


def upper(column: Given) -> Column:
    """In capitals.

    >>> upper("name")
    Column<upper(name)>
    """
    return _of("upper", column)


def length(column: Given) -> Column:
    """The number of characters (of bytes, for binary).

    >>> length("name")
    Column<length(name)>
    """
    return _of("length", column)


def substring(column: Given, start: Given, length: Given) -> Column:
    """From a position (the first is 1), so many characters.

    >>> substring("name", 1, 3)
    Column<substr(name, 1, 3)>
    """
    return _of("substr", column, start, length)


substr = substring


def concat(*columns: Given) -> Column:
    """One after the other; null if any is null.  Plain strings are columns: `concat("first", lit(" "), "last")`.

    >>> concat("first", lit(" "), "last")
    Column<concat(first, ' ', last)>
    """
    return _of("concat", *columns)


def left(column: Given, length: Given) -> Column:
    """Its first characters, so many.

    >>> left("name", 3)
    Column<substr(name, 1, 3)>
    """
    return _of("substr", column, 1, length)


def right(column: Given, length: Given) -> Column:
    """Its last characters, so many; none for a number below 1.

    >>> right("name", 3)
    Column<when(and(le(3, 0), not(is_null(name))), '', substr(name, neg(3), 3))>
    """
    none = (named_or(length) <= 0) & isnotnull(column)
    return when(none, "").otherwise(_of("substr", column, _of("neg", length), length))


def ilike(column: Given, pattern: Given) -> Column:
    """Whether it is like a pattern, capitals or not.

    >>> ilike("name", "%B_")
    Column<like(lower(name), '%b_')>
    """
    return named_or(column).str.ilike(pattern)


def contains(column: Given, text: Given) -> Column:
    """Whether the text occurs in it.

    >>> contains("name", "a")
    Column<contains(name, 'a')>
    """
    return _of("contains", column, _text(text))


def startswith(column: Given, text: Given) -> Column:
    """Whether it begins with the text.

    >>> startswith("name", "a")
    Column<starts_with(name, 'a')>
    """
    return _of("starts_with", column, _text(text))


def endswith(column: Given, text: Given) -> Column:
    """Whether it ends with the text.

    >>> endswith("name", "a")
    Column<ends_with(name, 'a')>
    """
    return _of("ends_with", column, _text(text))


def like(column: Given, pattern: Given) -> Column:
    """Whether it is like a pattern: % is any text, _ any character; after a backslash they mean themselves.

    >>> like("name", "%b_")
    Column<like(name, '%b_')>
    """
    return _of("like", column, _text(pattern))


def trim(column: Given) -> Column:
    """Without spaces at both ends.

    >>> trim("name")
    Column<trim(name)>
    """
    return _of("trim", column)


def ltrim(column: Given) -> Column:
    """Without spaces at the start.

    >>> ltrim("name")
    Column<ltrim(name)>
    """
    return _of("ltrim", column)


def rtrim(column: Given) -> Column:
    """Without spaces at the end.

    >>> rtrim("name")
    Column<rtrim(name)>
    """
    return _of("rtrim", column)


def replace(column: Given, search: Given, by: Given = "") -> Column:
    """Every occurrence of a text replaced by another.

    >>> replace("name", "a", "b")
    Column<replace(name, 'a', 'b')>
    """
    return _of("replace", column, _text(search), _text(by))


lcase = lower
ucase = upper
char_length = length
character_length = length


# ---- dates and times ------------------------------------------------------------------------


def year(column: Given) -> Column:
    """The year.

    >>> year("at")
    Column<year(at)>
    """
    return _of("year", column)


def month(column: Given) -> Column:
    """1 to 12.

    >>> month("at")
    Column<month(at)>
    """
    return _of("month", column)


def quarter(column: Given) -> Column:
    """1 to 4.

    >>> quarter("at")
    Column<floordiv(add(month(at), 2), 3)>
    """
    return (month(column) + 2) // 3


def day(column: Given) -> Column:
    """The day of the month.

    >>> day("at")
    Column<day(at)>
    """
    return _of("day", column)


dayofmonth = day


def hour(column: Given) -> Column:
    """0 to 23; 0 for a date.

    >>> hour("at")
    Column<hour(at)>
    """
    return _of("hour", column)


def minute(column: Given) -> Column:
    """0 to 59.

    >>> minute("at")
    Column<minute(at)>
    """
    return _of("minute", column)


def second(column: Given) -> Column:
    """0 to 59.

    >>> second("at")
    Column<second(at)>
    """
    return _of("second", column)


def weekday(column: Given) -> Column:
    """0 is Monday, 6 is Sunday.

    >>> weekday("at")
    Column<weekday(at)>
    """
    return _of("weekday", column)


def dayofweek(column: Given) -> Column:
    """1 is Sunday, 7 is Saturday, as in Spark.

    >>> dayofweek("at")
    Column<cast(add(mod(add(weekday(at), 1), 7), 1), int)>
    """
    return ((weekday(column) + 1) % 7 + 1).cast("int")


def date_add(column: Given, days: Given) -> Column:
    """So many days later.

    >>> date_add("day", 7)
    Column<date_add(day, 7)>
    """
    return _of("date_add", column, days)


dateadd = date_add


def date_sub(column: Given, days: Given) -> Column:
    """So many days earlier.

    >>> date_sub("day", 7)
    Column<date_add(day, neg(7))>
    """
    return _of("date_add", column, _of("neg", days))


def date_diff(end: Given, start: Given) -> Column:
    """Days from start to end.

    >>> date_diff("end", "start")
    Column<date_diff(end, start)>
    """
    return _of("date_diff", end, start)


datediff = date_diff


def to_date(column: Given) -> Column:
    """Read as a date; null where that fails.

    >>> to_date("at")
    Column<cast(at, date)> as at
    """
    return named_or(column).cast("date")


def to_timestamp(column: Given) -> Column:
    """Read as a timestamp; null where that fails.

    >>> to_timestamp("at")
    Column<cast(at, timestamp)> as at
    """
    return named_or(column).cast("timestamp")


# ---- what cannot be -------------------------------------------------------------------------


def current_timestamp() -> Column:
    """What would change by itself: this says so.

    >>> current_timestamp()
    Traceback (most recent call last):
        ...
    ebbflow.errors.NotAnExpression: a result that depends on when it is computed would not stay right...
    """
    raise NotAnExpression(
        "a result that depends on when it is computed would not stay right.",
        hint="Give the time as data: a column, or the time of a change. datetime.now() in a program is read once.",
    )


current_date = current_timestamp


def expr(text: str) -> Column:
    """SQL in a string: this says what to write.

    >>> expr("x + 1")
    Traceback (most recent call last):
        ...
    ebbflow.errors.NotAnExpression: expr('x + 1') is SQL in a string...
    """
    raise NotAnExpression(
        f"expr({text!r}) is SQL in a string.",
        hint='Write it with columns: col("x") + 1; whole queries are flow.sql(...).',
    )


if not TYPE_CHECKING:  # a type checker knows the functions there are

    def __getattr__(name: builtins.str) -> NoReturn:
        raise unknown_name("ebbflow.functions", name, __all__, aliases.FOREIGN_FUNCTION)


def __dir__() -> list[builtins.str]:
    return __all__
