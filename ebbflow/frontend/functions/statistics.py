"""Statistics of groups, such as variances, correlations, regressions and the geometric mean.

Rule: each is composed of sums, so that a change of a row costs the same in a group of any size.
"""

from __future__ import annotations

from ebbflow.expressions import ast as w
from ebbflow.expressions.statistics import Builder, composed
from ebbflow.frontend.building.column import Column, lit, named_or
from ebbflow.frontend.functions.calling import Given


def _made(op: str, *args: Column) -> Column:
    if op == "to_double":
        return args[0].cast("double")
    if op == "null_of":
        return lit(None)
    return Column(w.Applied(op, tuple(arg.tree for arg in args)))


_BUILDER: Builder[Column] = Builder(_made, lambda op, x: Column(w.Aggregated(op, x.tree)), lit)


def _statistic(name: str, *columns: Given) -> Column:
    return composed(name, tuple(Column(named_or(each).cast("double").tree) for each in columns), _BUILDER)


def geometric_mean(column: Given) -> Column:
    """The mean by products: of values above zero; others do not take part.

    >>> geometric_mean("x")
    Column<exp(avg(log(cast(x, double))))>
    """
    return _statistic("geometric_mean", column)


def harmonic_mean(column: Given) -> Column:
    """The mean by reciprocals, as of speeds over equal ways: of values above zero; others do not take part.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> trips = flow.input("trips", "bike string, speed double")
    >>> flow.output("means", trips.group_by("bike").agg(mean=harmonic_mean("speed")))
    >>> flow.compute(trips=[("a", 10.0), ("a", 40.0), ("b", 0.0)])["means"].rows()
    [('a', 16.0, 1), ('b', None, 1)]
    """
    return _statistic("harmonic_mean", column)


def root_mean_square(column: Given) -> Column:
    """The square root of the mean of the squares, as of errors to either side; null where no value is there.

    >>> import ebbflow as ebb
    >>> flow = ebb.Dataflow()
    >>> errors = flow.input("errors", "model string, error double")
    >>> flow.output("sizes", errors.group_by("model").agg(size=root_mean_square("error")))
    >>> flow.compute(errors=[("a", -7.0), ("a", 1.0), ("a", None), ("b", None)])["sizes"].rows()
    [('a', 5.0, 1), ('b', None, 1)]
    """
    return _statistic("root_mean_square", column)


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


std = stddev_samp
stddev = stddev_samp
variance = var_samp
