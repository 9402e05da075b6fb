"""Statistics that follow from sums: variances, correlations, regressions, the geometric mean.

Each is written once, over whatever builds expressions: columns as people write them, or typed expressions of a query.
Sums of doubles are exact, so what is computed of them does not depend on the order of rows, nor on what was taken back.

Rule: rows in which one of the values is null take no part; where there are too few rows the answer is null.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Builder(Generic[T]):
    """How expressions are made: an operation of the table, an aggregate of values, a constant double."""

    of: Callable[..., T]
    aggregate: Callable[[str, T], T]
    number: Callable[[float], T]

    def add(self, x: T, y: T) -> T:
        return self.of("add", x, y)

    def sub(self, x: T, y: T) -> T:
        return self.of("sub", x, y)

    def mul(self, x: T, y: T) -> T:
        return self.of("mul", x, y)

    def div(self, x: T, y: T) -> T:
        return self.of("div", x, y)


@dataclass(frozen=True)
class Sums(Generic[T]):
    """Of x, or of x and y where both are there: the count, sums, sums of squares and of products."""

    b: Builder[T]
    x: T
    y: T | None = None

    def both(self, value: T) -> T:
        if self.y is None:
            return value
        missing = self.b.of("or", self.b.of("is_null", self.x), self.b.of("is_null", self.y))
        return self.b.of("when", self.b.of("not", missing), value, self.b.of("null_of", value))

    @property
    def n(self) -> T:
        return self.b.of("to_double", self.b.aggregate("count", self.both(self.x)))

    def total(self, value: T) -> T:
        return self.b.aggregate("sum", self.both(value))

    @property
    def second(self) -> T:
        assert self.y is not None
        return self.y

    def mean(self, value: T) -> T:
        return self.b.div(self.total(value), self.n)

    def spread(self, one: T, two: T) -> T:
        """The sum of (one - its mean) * (two - its mean)."""
        b = self.b
        products = b.mul(self.n, self.total(b.mul(one, two)))
        found = b.div(b.sub(products, b.mul(self.total(one), self.total(two))), self.n)
        if one is not two:
            return found
        return b.of("when", b.of("lt", found, b.number(0.0)), b.number(0.0), found)


def _moments(b: Builder[T], x: T) -> tuple[T, T, T, T]:
    """The count, and the sums of the second, third and fourth power of what is apart from the mean."""
    n = b.of("to_double", b.aggregate("count", x))
    one = b.aggregate("sum", x)
    square = b.mul(x, x)
    two, three, four = (b.aggregate("sum", power) for power in (square, b.mul(square, x), b.mul(square, square)))
    mean = b.div(one, n)
    mean2 = b.mul(mean, mean)
    m2 = b.sub(two, b.mul(one, mean))
    m3 = b.add(b.sub(three, b.mul(b.number(3.0), b.mul(mean, two))), b.mul(b.number(2.0), b.mul(mean2, one)))
    m4 = b.sub(four, b.mul(b.number(4.0), b.mul(mean, three)))
    m4 = b.add(m4, b.mul(b.number(6.0), b.mul(mean2, two)))
    return n, m2, m3, b.sub(m4, b.mul(b.number(3.0), b.mul(b.mul(mean2, mean), one)))


def _variance(b: Builder[T], x: T, sample: bool) -> T:
    s = Sums(b, x)
    return b.div(s.spread(x, x), b.sub(s.n, b.number(1.0)) if sample else s.n)


def _skewness(b: Builder[T], x: T) -> T:
    n, m2, m3, _ = _moments(b, x)
    return b.div(b.mul(b.of("sqrt", n), m3), b.of("sqrt", b.mul(m2, b.mul(m2, m2))))


def _kurtosis(b: Builder[T], x: T) -> T:
    n, m2, _, m4 = _moments(b, x)
    return b.sub(b.div(b.mul(n, m4), b.mul(m2, m2)), b.number(3.0))


def _harmonic_mean(b: Builder[T], x: T) -> T:
    parts = b.div(b.number(1.0), x)
    above = b.of("when", b.of("gt", x, b.number(0.0)), parts, b.of("null_of", parts))
    return b.div(b.number(1.0), b.aggregate("avg", above))


def _correlation(s: Sums[T]) -> T:
    b = s.b
    return b.div(s.spread(s.x, s.second), b.of("sqrt", b.mul(s.spread(s.x, s.x), s.spread(s.second, s.second))))


def _slope(s: Sums[T]) -> T:
    """Of a line through points whose heights are x and whose places are y, as SQL orders them."""
    return s.b.div(s.spread(s.second, s.x), s.spread(s.second, s.second))


def _r2(s: Sums[T]) -> T:
    """1 where all heights are equal, null where all places are."""
    b = s.b
    correlation = _correlation(s)
    flat = b.of("when", b.of("eq", s.spread(s.x, s.x), b.number(0.0)), b.number(1.0), b.mul(correlation, correlation))
    return b.of("when", b.of("eq", s.spread(s.second, s.second), b.number(0.0)), b.of("null_of", flat), flat)


OF_ONE: dict[str, Callable[[Builder[T], T], T]] = {  # type: ignore[valid-type]
    "var_samp": lambda b, x: _variance(b, x, True),
    "var_pop": lambda b, x: _variance(b, x, False),
    "stddev_samp": lambda b, x: b.of("sqrt", _variance(b, x, True)),
    "stddev_pop": lambda b, x: b.of("sqrt", _variance(b, x, False)),
    "spread": lambda b, x: Sums(b, x).spread(x, x),
    "skewness": _skewness,
    "kurtosis": _kurtosis,
    "geometric_mean": lambda b, x: b.of("exp", b.aggregate("avg", b.of("log", x))),
    "harmonic_mean": _harmonic_mean,
    "root_mean_square": lambda b, x: b.of("sqrt", b.aggregate("avg", b.mul(x, x))),
}
OF_TWO: dict[str, Callable[[Sums[T]], T]] = {  # type: ignore[valid-type]
    "covar_pop": lambda s: s.b.div(s.spread(s.x, s.second), s.n),
    "covar_samp": lambda s: s.b.div(s.spread(s.x, s.second), s.b.sub(s.n, s.b.number(1.0))),
    "corr": _correlation,
    "regr_count": lambda s: s.b.aggregate("count", s.both(s.x)),
    "regr_avgx": lambda s: s.mean(s.second),
    "regr_avgy": lambda s: s.mean(s.x),
    "regr_sxx": lambda s: s.spread(s.second, s.second),
    "regr_syy": lambda s: s.spread(s.x, s.x),
    "regr_sxy": lambda s: s.spread(s.x, s.second),
    "regr_slope": _slope,
    "regr_intercept": lambda s: s.b.sub(s.mean(s.x), s.b.mul(_slope(s), s.mean(s.second))),
    "regr_r2": _r2,
}


def composed(name: str, values: tuple[T, ...], b: Builder[T]) -> T:
    """needs: one value, or two, that are doubles."""
    return OF_ONE[name](b, values[0]) if name in OF_ONE else OF_TWO[name](Sums(b, *values))
