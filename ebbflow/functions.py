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
from ebbflow.frontend.functions.aggregates import (
    approx_percentile,
    bit_and,
    bit_or,
    bit_xor,
    corr,
    covar_pop,
    covar_samp,
    geometric_mean,
    kurtosis,
    max_by,
    median,
    min_by,
    mode,
    percentile,
    percentile_approx,
    product,
    regr_avgx,
    regr_avgy,
    regr_count,
    regr_intercept,
    regr_r2,
    regr_slope,
    regr_sxx,
    regr_sxy,
    regr_syy,
    skewness,
    std,
    stddev,
    stddev_pop,
    stddev_samp,
    var_pop,
    var_samp,
    variance,
)
from ebbflow.frontend.functions.calling import Given, of, text
from ebbflow.frontend.functions.dates import (
    add_months,
    date_format,
    date_from_unix_date,
    date_part,
    date_trunc,
    datepart,
    dayname,
    dayofweek,
    dayofyear,
    extract,
    from_unixtime,
    from_utc_timestamp,
    last_day,
    make_date,
    make_timestamp,
    monthname,
    months_between,
    next_day,
    quarter,
    timestamp_add,
    timestamp_diff,
    timestamp_micros,
    timestamp_millis,
    timestamp_seconds,
    to_date,
    to_timestamp,
    to_unix_timestamp,
    to_utc_timestamp,
    trunc,
    try_to_date,
    try_to_timestamp,
    unix_date,
    unix_micros,
    unix_millis,
    unix_seconds,
    unix_timestamp,
    weekofyear,
)
from ebbflow.frontend.functions.numbers import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bin,
    bit_count,
    bit_get,
    bitwise_not,
    bitwiseNOT,
    bround,
    cbrt,
    conv,
    cosh,
    cot,
    csc,
    degrees,
    e,
    expm1,
    factorial,
    getbit,
    hypot,
    log1p,
    nullifzero,
    pi,
    pmod,
    positive,
    radians,
    rint,
    sec,
    shiftLeft,
    shiftleft,
    shiftRight,
    shiftright,
    shiftRightUnsigned,
    shiftrightunsigned,
    sinh,
    tanh,
    toDegrees,
    toRadians,
    try_add,
    try_divide,
    try_mod,
    try_multiply,
    try_subtract,
    width_bucket,
    zeroifnull,
)
from ebbflow.frontend.functions.texts import (
    ascii,
    base64,
    bit_length,
    btrim,
    char,
    chr,
    concat_ws,
    crc32,
    decode,
    elt,
    encode,
    find_in_set,
    format_number,
    format_string,
    hash,
    hex,
    initcap,
    instr,
    levenshtein,
    locate,
    lpad,
    md5,
    octet_length,
    overlay,
    position,
    printf,
    regexp,
    regexp_count,
    regexp_extract,
    regexp_instr,
    regexp_like,
    regexp_replace,
    regexp_substr,
    repeat,
    reverse,
    rlike,
    rpad,
    sha,
    sha1,
    sha2,
    soundex,
    split_part,
    substring_index,
    translate,
    try_url_decode,
    unbase64,
    unhex,
    url_decode,
    url_encode,
    xxhash64,
)

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add_months",
    "any_value",
    "approxCountDistinct",
    "approx_count_distinct",
    "approx_percentile",
    "asc",
    "asc_nulls_first",
    "asc_nulls_last",
    "ascii",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "avg",
    "base64",
    "bin",
    "bit_and",
    "bit_count",
    "bit_get",
    "bit_length",
    "bit_or",
    "bit_xor",
    "bitwiseNOT",
    "bitwise_not",
    "bool_and",
    "bool_or",
    "bround",
    "btrim",
    "cast",
    "cbrt",
    "ceil",
    "ceiling",
    "char",
    "char_length",
    "character_length",
    "chr",
    "coalesce",
    "col",
    "column",
    "concat",
    "concat_ws",
    "contains",
    "conv",
    "corr",
    "cos",
    "cosh",
    "cot",
    "count",
    "countDistinct",
    "count_distinct",
    "count_if",
    "covar_pop",
    "covar_samp",
    "crc32",
    "csc",
    "cume_dist",
    "current_date",
    "current_timestamp",
    "date_add",
    "date_diff",
    "date_format",
    "date_from_unix_date",
    "date_part",
    "date_sub",
    "date_trunc",
    "dateadd",
    "datediff",
    "datepart",
    "day",
    "dayname",
    "dayofmonth",
    "dayofweek",
    "dayofyear",
    "decode",
    "degrees",
    "dense_rank",
    "desc",
    "desc_nulls_first",
    "desc_nulls_last",
    "e",
    "elt",
    "encode",
    "endswith",
    "equal_null",
    "every",
    "exp",
    "expm1",
    "expr",
    "extract",
    "factorial",
    "find_in_set",
    "first",
    "first_value",
    "floor",
    "format_number",
    "format_string",
    "from_unixtime",
    "from_utc_timestamp",
    "geometric_mean",
    "getbit",
    "greatest",
    "hash",
    "hex",
    "hour",
    "hypot",
    "ifnull",
    "ilike",
    "initcap",
    "instr",
    "isnan",
    "isnotnull",
    "isnull",
    "kurtosis",
    "lag",
    "last",
    "last_day",
    "last_value",
    "lcase",
    "lead",
    "least",
    "left",
    "length",
    "levenshtein",
    "like",
    "lit",
    "ln",
    "locate",
    "log",
    "log1p",
    "log2",
    "log10",
    "lower",
    "lpad",
    "ltrim",
    "make_date",
    "make_timestamp",
    "max",
    "max_by",
    "md5",
    "mean",
    "median",
    "min",
    "min_by",
    "minute",
    "mode",
    "month",
    "monthname",
    "months_between",
    "nanvl",
    "negate",
    "negative",
    "next_day",
    "nth_value",
    "ntile",
    "nullif",
    "nullifzero",
    "nvl",
    "nvl2",
    "octet_length",
    "overlay",
    "percent_rank",
    "percentile",
    "percentile_approx",
    "pi",
    "pmod",
    "position",
    "positive",
    "pow",
    "power",
    "printf",
    "product",
    "quarter",
    "radians",
    "rank",
    "regexp",
    "regexp_count",
    "regexp_extract",
    "regexp_instr",
    "regexp_like",
    "regexp_replace",
    "regexp_substr",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
    "repeat",
    "replace",
    "reverse",
    "right",
    "rint",
    "rlike",
    "round",
    "row_number",
    "rpad",
    "rtrim",
    "sec",
    "second",
    "sha",
    "sha1",
    "sha2",
    "shiftLeft",
    "shiftRight",
    "shiftRightUnsigned",
    "shiftleft",
    "shiftright",
    "shiftrightunsigned",
    "sign",
    "signum",
    "sin",
    "sinh",
    "skewness",
    "some",
    "soundex",
    "split_part",
    "sqrt",
    "startswith",
    "std",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "substr",
    "substring",
    "substring_index",
    "sum",
    "tan",
    "tanh",
    "timestamp_add",
    "timestamp_diff",
    "timestamp_micros",
    "timestamp_millis",
    "timestamp_seconds",
    "toDegrees",
    "toRadians",
    "to_date",
    "to_timestamp",
    "to_unix_timestamp",
    "to_utc_timestamp",
    "translate",
    "trim",
    "trunc",
    "try_add",
    "try_divide",
    "try_mod",
    "try_multiply",
    "try_subtract",
    "try_to_date",
    "try_to_timestamp",
    "try_url_decode",
    "ucase",
    "unbase64",
    "unhex",
    "unix_date",
    "unix_micros",
    "unix_millis",
    "unix_seconds",
    "unix_timestamp",
    "upper",
    "url_decode",
    "url_encode",
    "var_pop",
    "var_samp",
    "variance",
    "weekday",
    "weekofyear",
    "when",
    "width_bucket",
    "xxhash64",
    "year",
    "zeroifnull",
]  # fmt: skip

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

    A sum of decimal(p, s) is a decimal(p + 10, s); one that needs more digits, or more than 38, refuses the step.

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
approx_count_distinct = count_distinct  # exact here
approxCountDistinct = count_distinct


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


# ---- functions of a row's place, over a window ----------------------------------------------


def row_number() -> Column:
    """The number of a row in its window, from 1; rows that are alike in the order are told apart by the whole row.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> sales = flow.input("sales", "shop string, price long")
    >>> by_price = ebb.Window.partition_by("shop").order_by("-price")
    >>> flow.output("numbered", sales.with_columns(n=ebb.row_number().over(by_price)))
    >>> flow.compute(sales=[("a", 1), ("a", 2), ("a", 2), ("b", 4)])["numbered"].rows()
    [('a', 1, 3, 1), ('a', 2, 1, 1), ('a', 2, 2, 1), ('b', 4, 1, 1)]
    """
    return Column(w.Placed("row_number"))


def rank() -> Column:
    """One more than the rows before a row in its window; rows that are alike in the order have the same.

    >>> rank()
    Column<rank()>
    """
    return Column(w.Placed("rank"))


def dense_rank() -> Column:
    """As rank, without gaps.

    >>> dense_rank()
    Column<dense_rank()>
    """
    return Column(w.Placed("dense_rank"))


def percent_rank() -> Column:
    """(rank - 1) / (rows of the partition - 1), 0 where there is one row.

    >>> percent_rank()
    Column<percent_rank()>
    """
    return Column(w.Placed("percent_rank"))


def cume_dist() -> Column:
    """The share of the partition's rows that are not behind a row.

    >>> cume_dist()
    Column<cume_dist()>
    """
    return Column(w.Placed("cume_dist"))


def ntile(n: int) -> Column:
    """Which of n tiles a row is in; the rows are dealt in order, the first tiles have one more where they do not fit.

    >>> ntile(4)
    Column<ntile(4)>
    """
    return Column(w.Placed("ntile", number=_whole(n, "ntile", 1)))


def lag(column: Given, offset: int = 1, default: object = None, ignore_nulls: bool = False) -> Column:
    """The value so many rows before; `default` where there is no such row.

    >>> lag("x")
    Column<lead(x, -1)>
    """
    return lead(column, -_whole(offset, "lag"), default, ignore_nulls)


def lead(column: Given, offset: int = 1, default: object = None, ignore_nulls: bool = False) -> Column:
    """The value so many rows behind; `default` where there is no such row.

    >>> lead("x", 2, 0)
    Column<lead(x, 2, 0)>
    """
    stands = None if default is None else operand(default)
    return Column(w.Placed("lead", named_or(column).tree, _whole(offset, "lead"), stands, ignore_nulls))


def first_value(column: Given, ignoreNulls: bool = False) -> Column:
    """The value of the first row of the frame, or the first that is not null.  Also `first`.

    >>> first_value("x")
    Column<first_value(x)>
    """
    return Column(w.Placed("first_value", named_or(column).tree, skips_nulls=ignoreNulls))


def last_value(column: Given, ignoreNulls: bool = False) -> Column:
    """The value of the last row of the frame, or the last that is not null.  Also `last`.

    >>> last_value("x")
    Column<last_value(x)>
    """
    return Column(w.Placed("last_value", named_or(column).tree, skips_nulls=ignoreNulls))


def nth_value(column: Given, offset: int, ignoreNulls: bool = False) -> Column:
    """The value of the nth row of the frame, from 1; null where it has fewer.

    >>> nth_value("x", 2)
    Column<nth_value(x, 2)>
    """
    return Column(w.Placed("nth_value", named_or(column).tree, _whole(offset, "nth_value", 1), skips_nulls=ignoreNulls))


first, last = first_value, last_value


def _whole(number: object, verb: str, least: int | None = None) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or builtins.abs(number) >= 1 << 31:
        raise NotAnExpression(f"{verb} takes a whole number; got {number!r}.", hint=f"For example {verb}(..., 2).")
    if least is not None and number < least:
        raise NotAnExpression(f"{verb} counts from {least}; got {number}.", hint=f"Give {least} or more.")
    return number


# ---- choice ---------------------------------------------------------------------------------

column = col


def coalesce(*columns: Given) -> Column:
    """The first that is not null.

    >>> coalesce("x", lit(0))
    Column<coalesce(x, 0)>
    """
    return of("coalesce", *columns)


def ifnull(column: Given, other: Given) -> Column:
    """The other where this is null.

    >>> ifnull("x", lit(0))
    Column<coalesce(x, 0)>
    """
    return of("coalesce", column, other)


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
    return of("eq_null_safe", column, other)


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
    return of("is_null", column)


def isnan(column: Given) -> Column:
    """Whether it is nan; false for null.

    >>> isnan("x")
    Column<is_nan(x)>
    """
    return of("is_nan", column)


def greatest(*columns: Given) -> Column:
    """The largest that is not null.

    >>> greatest("x", "y")
    Column<greatest(x, y)>
    """
    return of("greatest", *columns)


def least(*columns: Given) -> Column:
    """The smallest that is not null.

    >>> least("x", "y")
    Column<least(x, y)>
    """
    return of("least", *columns)


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


def asc_nulls_first(column: Given) -> Column:
    """For the order of a window: nulls, then the smallest.

    >>> asc_nulls_first("x")
    Column<x>
    """
    return named_or(column).asc_nulls_first()


def asc_nulls_last(column: Given) -> Column:
    """For the order of a window: the smallest first, nulls last.

    >>> asc_nulls_last("x")
    Column<x>
    """
    return named_or(column).asc_nulls_last()


def desc_nulls_first(column: Given) -> Column:
    """For the order of a window: nulls, then the largest.

    >>> desc_nulls_first("x")
    Column<x>
    """
    return named_or(column).desc_nulls_first()


def desc_nulls_last(column: Given) -> Column:
    """For the order of a window: the largest first, nulls last.

    >>> desc_nulls_last("x")
    Column<x>
    """
    return named_or(column).desc_nulls_last()


# ---- numbers --------------------------------------------------------------------------------


def abs(column: Given) -> Column:
    """Without its sign.

    >>> abs("x")
    Column<abs(x)>
    """
    return of("abs", column)


def sqrt(column: Given) -> Column:
    """Square root; nan below 0.

    >>> sqrt("x")
    Column<sqrt(x)>
    """
    return of("sqrt", column)


def exp(column: Given) -> Column:
    """E to the power x.

    >>> exp("x")
    Column<exp(x)>
    """
    return of("exp", column)


def ln(column: Given) -> Column:
    """The natural logarithm; null at zero and below.

    >>> ln("x")
    Column<log(x)>
    """
    return of("log", column)


def log(base: Given, column: Given = None) -> Column:
    """The natural logarithm, or with two arguments that of the second to the first as base; null at 0 and below.

    >>> log("x")
    Column<log(x)>
    >>> log(2, "x")
    Column<log_of(2, x)>
    """
    return of("log", base) if column is None else of("log_of", base, column)


def log2(column: Given) -> Column:
    """Logarithm to base 2; null at 0 and below.

    >>> log2("x")
    Column<log2(x)>
    """
    return of("log2", column)


def log10(column: Given) -> Column:
    """Logarithm to base 10; null at 0 and below.

    >>> log10("x")
    Column<log10(x)>
    """
    return of("log10", column)


def pow(column: Given, exponent: Given) -> Column:
    """To a power, as a double.

    >>> pow("x", 2)
    Column<pow(x, 2)>
    """
    return of("pow", column, exponent)


power = pow


def floor(column: Given, scale: int | None = None) -> Column:
    """The next whole number below, a long; of a decimal a decimal.

    >>> floor("x")
    Column<floor(x)>
    """
    return of("floor", column) if scale is None else of("floor_to", column, scale)


def ceil(column: Given, scale: int | None = None) -> Column:
    """The next whole number above, a long; of a decimal a decimal.

    >>> ceil("x")
    Column<ceil(x)>
    """
    return of("ceil", column) if scale is None else of("ceil_to", column, scale)


ceiling = ceil


def round(column: Given, scale: int = 0) -> Column:
    """Half away from zero.

    >>> round("x", 2)
    Column<round(x, 2)>
    """
    return of("round", column, scale)


def sin(column: Given) -> Column:
    """Sine.

    >>> sin("x")
    Column<sin(x)>
    """
    return of("sin", column)


def cos(column: Given) -> Column:
    """Cosine.

    >>> cos("x")
    Column<cos(x)>
    """
    return of("cos", column)


def tan(column: Given) -> Column:
    """Tangent.

    >>> tan("x")
    Column<tan(x)>
    """
    return of("tan", column)


def sign(column: Given) -> Column:
    """-1.0, 0.0 or 1.0.

    >>> sign("x")
    Column<sign(x)>
    """
    return of("sign", column)


signum = sign


def negative(column: Given) -> Column:
    """With its sign changed.

    >>> negative("x")
    Column<neg(x)>
    """
    return of("neg", column)


negate = negative


# ---- text -----------------------------------------------------------------------------------


def lower(column: Given) -> Column:
    """In small letters.

    >>> lower("name")
    Column<lower(name)>
    """
    return of("lower", column)


def upper(column: Given) -> Column:
    """In capitals.

    >>> upper("name")
    Column<upper(name)>
    """
    return of("upper", column)


def length(column: Given) -> Column:
    """The number of characters (of bytes, for binary).

    >>> length("name")
    Column<length(name)>
    """
    return of("length", column)


def substring(column: Given, start: Given, length: Given) -> Column:
    """From a position (the first is 1), so many characters.

    >>> substring("name", 1, 3)
    Column<substr(name, 1, 3)>
    """
    return of("substr", column, start, length)


substr = substring


def concat(*columns: Given) -> Column:
    """One after the other; null if any is null.  Plain strings are columns: `concat("first", lit(" "), "last")`.

    >>> concat("first", lit(" "), "last")
    Column<concat(first, ' ', last)>
    """
    return of("concat", *columns)


def left(column: Given, length: Given) -> Column:
    """Its first characters, so many.

    >>> left("name", 3)
    Column<substr(name, 1, 3)>
    """
    return of("substr", column, 1, length)


def right(column: Given, length: Given) -> Column:
    """Its last characters, so many; none for a number below 1.

    >>> right("name", 3)
    Column<when(and(le(3, 0), not(is_null(name))), '', substr(name, neg(3), 3))>
    """
    none = (named_or(length) <= 0) & isnotnull(column)
    return when(none, "").otherwise(of("substr", column, of("neg", length), length))


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
    return of("contains", column, Column(operand(text)))


def startswith(column: Given, text: Given) -> Column:
    """Whether it begins with the text.

    >>> startswith("name", "a")
    Column<starts_with(name, 'a')>
    """
    return of("starts_with", column, Column(operand(text)))


def endswith(column: Given, text: Given) -> Column:
    """Whether it ends with the text.

    >>> endswith("name", "a")
    Column<ends_with(name, 'a')>
    """
    return of("ends_with", column, Column(operand(text)))


def like(column: Given, pattern: Given) -> Column:
    """Whether it is like a pattern: % is any text, _ any character; after a backslash they mean themselves.

    >>> like("name", "%b_")
    Column<like(name, '%b_')>
    """
    return of("like", column, Column(operand(pattern)))


def trim(column: Given, these: Given = None) -> Column:
    """Without spaces, or these characters, at both ends.

    >>> trim("name")
    Column<trim(name)>
    """
    return of("trim", column, None if these is None else text(these))


def ltrim(column: Given, these: Given = None) -> Column:
    """Without spaces, or these characters, at the start.

    >>> ltrim("name")
    Column<ltrim(name)>
    """
    return of("ltrim", column, None if these is None else text(these))


def rtrim(column: Given, these: Given = None) -> Column:
    """Without spaces, or these characters, at the end.

    >>> rtrim("name")
    Column<rtrim(name)>
    """
    return of("rtrim", column, None if these is None else text(these))


def replace(column: Given, search: Given, by: Given = "") -> Column:
    """Every occurrence of a text replaced by another.

    >>> replace("name", "a", "b")
    Column<replace(name, 'a', 'b')>
    """
    return of("replace", column, Column(operand(search)), Column(operand(by)))


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
    return of("year", column)


def month(column: Given) -> Column:
    """1 to 12.

    >>> month("at")
    Column<month(at)>
    """
    return of("month", column)


def day(column: Given) -> Column:
    """The day of the month.

    >>> day("at")
    Column<day(at)>
    """
    return of("day", column)


dayofmonth = day


def hour(column: Given) -> Column:
    """0 to 23; 0 for a date.

    >>> hour("at")
    Column<hour(at)>
    """
    return of("hour", column)


def minute(column: Given) -> Column:
    """0 to 59.

    >>> minute("at")
    Column<minute(at)>
    """
    return of("minute", column)


def second(column: Given) -> Column:
    """0 to 59.

    >>> second("at")
    Column<second(at)>
    """
    return of("second", column)


def weekday(column: Given) -> Column:
    """0 is Monday, 6 is Sunday.

    >>> weekday("at")
    Column<weekday(at)>
    """
    return of("weekday", column)


def date_add(column: Given, days: Given) -> Column:
    """So many days later.

    >>> date_add("day", 7)
    Column<date_add(day, 7)>
    """
    return of("date_add", column, days)


dateadd = date_add


def date_sub(column: Given, days: Given) -> Column:
    """So many days earlier.

    >>> date_sub("day", 7)
    Column<date_add(day, neg(7))>
    """
    return of("date_add", column, of("neg", days))


def date_diff(end: Given, start: Given) -> Column:
    """Days from start to end.

    >>> date_diff("end", "start")
    Column<date_diff(end, start)>
    """
    return of("date_diff", end, start)


datediff = date_diff


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
