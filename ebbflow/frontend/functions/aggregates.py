"""Aggregates beyond counts, sums and ends: quantiles, the mode, values by an order, statistics.

They stand in `group_by(...).agg(...)`.  Statistics are put together of exact sums.

Rule: each function is one row of the table of aggregates, or a composition of `statistics`.
"""

from __future__ import annotations

from ebbflow.errors import NotAnExpression
from ebbflow.expressions import ast as w
from ebbflow.expressions.statistics import Builder, composed
from ebbflow.frontend.building.column import Column, lit, named_or
from ebbflow.frontend.functions.calling import Given


def _aggregate(op: str, column: Given, by: Given = None) -> Column:
    return Column(w.Aggregated(op, named_or(column).tree, None if by is None else named_or(by).tree))


def _made(op: str, *args: Column) -> Column:
    if op == "to_double":
        return args[0].cast("double")
    if op == "null_of":
        return lit(None)
    return Column(w.Applied(op, tuple(arg.tree for arg in args)))


_BUILDER: Builder[Column] = Builder(_made, lambda op, x: Column(w.Aggregated(op, x.tree)), lit)


def _statistic(name: str, *columns: Given) -> Column:
    return composed(name, tuple(Column(named_or(each).cast("double").tree) for each in columns), _BUILDER)


def median(column: Given) -> Column:
    """The value in the middle, a double; between two of them their mean.

    >>> median("x")
    Column<percentile(0.5)(x)>
    """
    return _aggregate("percentile(0.5)", column)


def percentile(column: Given, percentage: float) -> Column:
    """The value at a part of the way from the least to the largest, exact, a double: `percentile("x", 0.9)`.

    >>> percentile("x", 0.9)
    Column<percentile(0.9)(x)>
    """
    return _aggregate(f"percentile({_part('percentile', percentage)})", column)


def percentile_approx(column: Given, percentage: float, accuracy: int = 10000) -> Column:
    """The least value that so large a part of the values does not exceed; exact, whatever accuracy is asked for.

    >>> percentile_approx("x", 0.9)
    Column<percentile_disc(0.9)(x)>
    """
    return _aggregate(f"percentile_disc({_part('percentile_approx', percentage)})", column)


def _part(name: str, given: object) -> float:
    if isinstance(given, Column) and isinstance(given.tree, w.Constant):
        given = given.tree.value
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise NotAnExpression(
            f"{name} takes a part of the way as a plain number from 0 to 1; got {given!r}.",
            hint=f'For example {name}("x", 0.9); several are several columns.',
        )
    return float(given)


def mode(column: Given) -> Column:
    """The most frequent value; of several the least, so that the answer is always the same.

    >>> mode("x")
    Column<mode(x)>
    """
    return _aggregate("mode", column)


def product(column: Given) -> Column:
    """The product of the values, a double.

    >>> product("x")
    Column<product(x)>
    """
    return _aggregate("product", column)


def bit_and(column: Given) -> Column:
    """The bits that all values have.

    >>> bit_and("x")
    Column<bit_and(x)>
    """
    return _aggregate("bit_and", column)


def bit_or(column: Given) -> Column:
    """The bits that any value has.

    >>> bit_or("x")
    Column<bit_or(x)>
    """
    return _aggregate("bit_or", column)


def bit_xor(column: Given) -> Column:
    """The bits that an odd number of values has.

    >>> bit_xor("x")
    Column<bit_xor(x)>
    """
    return _aggregate("bit_xor", column)


def max_by(column: Given, order: Given) -> Column:
    """The value in the row where another is largest; of several rows the least value.

    >>> max_by("name", "price")
    Column<max_by(name, price)>
    """
    return _aggregate("max_by", column, order)


def min_by(column: Given, order: Given) -> Column:
    """The value in the row where another is least; of several rows the least value.

    >>> min_by("name", "price")
    Column<min_by(name, price)>
    """
    return _aggregate("min_by", column, order)


def geometric_mean(column: Given) -> Column:
    """The mean by products: of values above zero; others do not take part.

    >>> geometric_mean("x")
    Column<exp(avg(log(cast(x, double))))>
    """
    return _statistic("geometric_mean", column)


def stddev_samp(column: Given) -> Column:
    """The standard deviation of a sample; null for a single value.

    >>> stddev_samp("x").output_name is None
    True
    """
    return _statistic("stddev_samp", column)


def stddev_pop(column: Given) -> Column:
    """The standard deviation of all there is.

    >>> stddev_pop("x").output_name is None
    True
    """
    return _statistic("stddev_pop", column)


def var_samp(column: Given) -> Column:
    """The variance of a sample; null for a single value.

    >>> var_samp("x").output_name is None
    True
    """
    return _statistic("var_samp", column)


def var_pop(column: Given) -> Column:
    """The variance of all there is.

    >>> var_pop("x").output_name is None
    True
    """
    return _statistic("var_pop", column)


def skewness(column: Given) -> Column:
    """How far the values lean to one side of their mean.

    >>> skewness("x").output_name is None
    True
    """
    return _statistic("skewness", column)


def kurtosis(column: Given) -> Column:
    """How heavy the ends are, less that of a normal distribution.

    >>> kurtosis("x").output_name is None
    True
    """
    return _statistic("kurtosis", column)


def covar_pop(column: Given, other: Given) -> Column:
    """The covariance of two columns, of all there is.

    >>> covar_pop("x", "y").output_name is None
    True
    """
    return _statistic("covar_pop", column, other)


def covar_samp(column: Given, other: Given) -> Column:
    """The covariance of two columns, of a sample; null for a single row.

    >>> covar_samp("x", "y").output_name is None
    True
    """
    return _statistic("covar_samp", column, other)


def corr(column: Given, other: Given) -> Column:
    """The correlation of two columns, from -1 to 1.

    >>> corr("x", "y").output_name is None
    True
    """
    return _statistic("corr", column, other)


def regr_count(y: Given, x: Given) -> Column:
    """How many rows have both.

    >>> regr_count("y", "x").output_name is None
    True
    """
    return _statistic("regr_count", y, x)


def regr_avgx(y: Given, x: Given) -> Column:
    """The mean of the places, the second column.

    >>> regr_avgx("y", "x").output_name is None
    True
    """
    return _statistic("regr_avgx", y, x)


def regr_avgy(y: Given, x: Given) -> Column:
    """The mean of the heights, the first column.

    >>> regr_avgy("y", "x").output_name is None
    True
    """
    return _statistic("regr_avgy", y, x)


def regr_sxx(y: Given, x: Given) -> Column:
    """The squares of the places' distances from their mean, summed up.

    >>> regr_sxx("y", "x").output_name is None
    True
    """
    return _statistic("regr_sxx", y, x)


def regr_syy(y: Given, x: Given) -> Column:
    """The squares of the heights' distances from their mean, summed up.

    >>> regr_syy("y", "x").output_name is None
    True
    """
    return _statistic("regr_syy", y, x)


def regr_sxy(y: Given, x: Given) -> Column:
    """The products of both distances, summed up.

    >>> regr_sxy("y", "x").output_name is None
    True
    """
    return _statistic("regr_sxy", y, x)


def regr_slope(y: Given, x: Given) -> Column:
    """The slope of the line through points, heights first.

    >>> regr_slope("y", "x").output_name is None
    True
    """
    return _statistic("regr_slope", y, x)


def regr_intercept(y: Given, x: Given) -> Column:
    """Where the line through points, heights first, crosses zero.

    >>> regr_intercept("y", "x").output_name is None
    True
    """
    return _statistic("regr_intercept", y, x)


def regr_r2(y: Given, x: Given) -> Column:
    """How much of the heights the line explains, from 0 to 1.

    >>> regr_r2("y", "x").output_name is None
    True
    """
    return _statistic("regr_r2", y, x)


approx_percentile = percentile_approx
std = stddev_samp
stddev = stddev_samp
variance = var_samp
