"""Values at the edges of every type, and the questions that are put to them: one list for Spark and for us.

A question is a function of a module of functions (PySpark's or ours) and of columns; both have the same names and the
same operators, so the same Python builds both expressions.

Rule: every public function is asked, on every type that it takes; `test_like_spark` fails for one that is left out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal as D
from typing import Any

import numpy as np

from ebbflow.columns.ddl import type_of
from ebbflow.columns.schema import Type

NAN, INF = math.nan, math.inf
LEAST, MOST = -(2**63) + 1, 2**63 - 1

NUMBERS: dict[str, list[Any]] = {
    "byte": [0, 1, -1, 127, -128, 5, -7, 10, 2, 3, None],
    "short": [0, 1, -1, 32767, -32768, 5, -7, 300, 2, 3, None],
    "int": [0, 1, -1, 2**31 - 1, -(2**31), 5, -7, 70000, 2, 3, None],
    "long": [0, 1, -1, MOST, LEAST, 10**18, -7, 2**53 + 1, 10**18 - 1, 3, None],
    "float": [0.0, -0.0, 1.100000023841858, NAN, INF, -INF, 1.401298464324817e-45, 3.4028234663852886e38, -2.5,
    3.0, None],
    "double": [0.0, -0.0, 0.1, NAN, INF, -INF, 5e-324, 1.7976931348623157e308, -2.5, 3.0, None],
    "decimal(5,2)": [D(0), D("0.01"), D("-0.01"), D("999.99"), D("-999.99"), D("2.50"), D("1.00"), D("-7.05"),
    D(10), D(3), None],
    "decimal(18,2)": [
        D(0), D("0.01"), D("9999999999999999.99"), D("-9999999999999999.99"), D("0.05"), D("2.50"), D("-7.00"), D(100),
        D("1234567.89"), D(3), None,
    ],
    "decimal(18,18)": [
        D(0), D("1E-18"), D("0.999999999999999999"), D("-0.999999999999999999"), D("0.5"), D("-0.5"), D("0.25"),
        D("0.01"), D("0.000000001"), D("-1E-18"), None,
    ],
    "decimal(28,4)": [
        D(0), D("0.0001"), D("99999999999999.9999"), D("-99999999999999.9999"), D("2.5000"),
        D("0.00005").quantize(D("1.0000")),
        D("-7.0500"), D(10), D("999.99"), D(3), None,
    ],
    "decimal(38,0)": [D(0), D(1), D(-1), D(10**18 - 1), D(1 - 10**18), D(5), D(-7), D(10), D(1000), D(3), None],
}  # fmt: skip
"""As many of each, so that all pairs of them are the rows of one table."""

TEXTS = [
    "", " ", "  ", "\t", "\n 5\n", " 12 ", "12", "-12", "+12", "0", "-0", "007", "1.5", "-1.5", "1.", ".5",
    ".", "-", "+",
    "1e3", "1E3", "1e-3", "1e400", "-1e400", "1e-400", "1e", "e5", "0x1F", "1_000", "1,000", "12abc", "12d",
    "1.5f", "12L",
    "nan", "NaN", "inf", "-inf", "Infinity", "-Infinity", "+Infinity", "infinit", "127", "128", "-128", "-129", "32768",
    "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "99999999999999999999",
    "3.4028236e38", "1.17549435e-38", "0.1", "999.994", "999.995", "999.999", "123456789012345678",
    "1234567890123456789",
    "0.0000000000000000005", "12345678901234567890123456789012345678", "true", "TRUE", "t", "yes", "y", "1",
    "false", "f",
    "no", "n", "off", "2024-02-29", "2023-02-29", "2024-2-9", "2024-02", "2024", "24-02-29", "0001-01-01", "0000-01-01",
    "-0044-03-15", "9999-12-31", "10000-01-01", "12024-01-01", "2024-13-01", "2024-00-10", "2024-02-29x", "2024/02/29",
    "20240229", "2024-02-29 ", " 2024-02-29", "2024-02-29T", "2024-02-29 1:2:3", "2024-02-29 13:05",
    "2024-02-29 13:05:07",
    "2024-02-29T13:05:07", "2024-02-29 13:05:07.1", "2024-02-29 13:05:07.123456", "2024-02-29 13:05:07.1234567",
    "2024-02-29 13:05:07Z", "2024-02-29 13:05:07 UTC", "2024-02-29 13:05:07+01:00", "2024-02-29 13:05:07+0130",
    "2024-02-29 13:05:07-8", "2024-02-29 24:00:00", "2024-02-29 23:59:60", "2024-02-29 13:5", "2024-02-29 13",
    "13:05:07",
    "T13:05", "1969-12-31 23:59:59.999999", "a", "abc", "ABC", "ÄÖß", "ß", "ﬁ", "ǅ", "İ", "ı", "Σσς", "ΑΣ",
    "😀a", "a😀", "e\u0301",
    "é", "\u00a05", "5\u00a0", "\u2003 5", "%", "_", "a%b_c", "a\\b", "aXbXc", "x" * 40,
]  # fmt: skip
MANY: dict[str, list[Any]] = {
    "boolean": [True, False, None],
    **NUMBERS,
    "float": [
        *NUMBERS["float"], 1e7, 9999999.0, 0.001, 0.0009999999, 1.0e10, 3.3333332538604736, 16777216.0, 1.17549435e-38,
        0.5, 1.5, 2.5, -0.5, 1e-3, 123456.789, 2147483648.0, 9.223372036854776e18, 100.0, 1.1754942e-38,
    ],
    "double": [
        *NUMBERS["double"], 1e7, 9999999.999999998, 0.001, 0.0009999999999999998, 1e10, 123456789.125,
        2.2250738585072014e-308,
        0.5, 1.5, 2.5, -0.5, 2e-3, 1.0e23, 2.0**63, -(2.0**63), 2.0**31, 1e18, 1e17, 123456789012345680.0, 1.005, 2.675,
        1e-5, 4.35, 100.0, 1e22, 9.999999999999999e22, 4.9e-324, 2.0e-323, 1e300, 127.9, -128.9, 0.015,
        999.995, 999.9949999,
        99999999999999999999.0, 1e15 + 0.3, 1.7e-10, 12345.678, 8.41e21, 2.0e-3, 1.0e-4, 5e-5, 62135596800.0,
        -62135596801.0,
        253402300799.0, 253402300800.0,
    ],
    "decimal(38,20)": [D(0), D("1E-20"), D("0.00999999999999999999"), D("-0.005"), D("0.0001"), None],
    "string": [*TEXTS, None],
    "binary": [b"", b"abc", b"\xff\xfe", "é😀".encode(), b"12", b"\x00", b" a ", None],
    "date": [
        date(1970, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(2023, 3, 1), date(1, 1, 1), date(9999, 12, 31),
        date(1582, 10, 4), date(1582, 10, 15), date(1900, 2, 28), date(2000, 2, 29), date(1999, 12, 31), None,
    ],
    "timestamp": [
        datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 13, 5, 7),
        datetime(2024, 2, 29, 13, 5, 7, 100000), datetime(2024, 2, 29, 13, 5, 7, 123456), datetime(1, 1, 1),
        datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(1582, 10, 4, 12), datetime(1900, 1, 1, 0, 0, 0, 1),
        datetime(2038, 1, 19, 3, 14, 8), datetime(2000, 2, 29), None,
    ],
}  # fmt: skip
NUMBERS["float"], MANY["float"] = (
    [None if x is None else float(np.float32(x)) for x in values] for values in (NUMBERS["float"], MANY["float"])
)
TYPES = [type_of(name) for name in MANY]


@dataclass(frozen=True)
class Question:
    """`ask(F, *columns)` with columns of these types, by a module of functions."""

    name: str  # of the function or the operator
    ask: Callable[..., Any]
    types: tuple[Type, ...]
    table: str  # whose rows it is asked of

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.types))})"


def columns_of(table: str) -> dict[str, tuple[Type, list[Any]]]:
    """The columns of a table by name: those of `one` have every value, those of `two` every pair."""
    if table == "one":
        longest = max(map(len, MANY.values()))
        return {f"x_{plain(t)}": (type_of(t), values + [None] * (longest - len(values))) for t, values in MANY.items()}
    edges = {"numbers": NUMBERS, "texts": TEXT_PAIRS, "moments": MOMENT_PAIRS}[table]
    n = max(map(len, edges.values()))
    pairs = list(itertools.product(range(n), range(n)))
    found = {}
    for t, values in edges.items():
        values = values + [None] * (n - len(values))
        found[f"x_{plain(t)}"] = type_of(t), [values[i] for i, _ in pairs]
        found[f"y_{plain(t)}"] = type_of(t), [values[j] for _, j in pairs]
    return found


TEXT_PAIRS: dict[str, list[Any]] = {
    "string": ["", " ", "a", "abc", "b", "ABC", "😀a", "a😀", "é", "aXbXc", " abc ", "%", "a_c", None],
    "binary": [b"", b"a", b"abc", b"\xff", b"\x00", b" ", b"b", None],
}
MOMENT_PAIRS: dict[str, list[Any]] = {
    "date": MANY["date"],
    "timestamp": MANY["timestamp"],
    "int": [0, 1, -1, 2**31 - 1, -(2**31), 365, -719162, 2932896, 10**7, None],
}


def plain(kind: str) -> str:
    return kind.replace("(", "").replace(",", "_").replace(")", "")


def questions() -> Iterator[Question]:
    yield from _of_one()
    yield from _of_two()
    yield from _of_texts()
    yield from _of_moments()


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": lambda F, x, y: x + y,
    "-": lambda F, x, y: x - y,
    "*": lambda F, x, y: x * y,
    "/": lambda F, x, y: x / y,
    "%": lambda F, x, y: x % y,
}
COMPARISONS: dict[str, Callable[..., Any]] = {
    "==": lambda F, x, y: x == y,
    "!=": lambda F, x, y: x != y,
    "<": lambda F, x, y: x < y,
    "<=": lambda F, x, y: x <= y,
    ">": lambda F, x, y: x > y,
    ">=": lambda F, x, y: x >= y,
    "<=>": lambda F, x, y: x.eqNullSafe(y) if hasattr(x, "eqNullSafe") else x.eq_null_safe(y),
    "between": lambda F, x, y: x.between(y, y),
    "isin": lambda F, x, y: _isin(x, y),
}
CHOICES: dict[str, Callable[..., Any]] = {
    "coalesce": lambda F, x, y: F.coalesce(x, y),
    "ifnull": lambda F, x, y: F.ifnull(x, y),
    "nullif": lambda F, x, y: F.nullif(x, y),
    "nvl2": lambda F, x, y: F.nvl2(x, x, y),
    "greatest": lambda F, x, y: F.greatest(x, y),
    "least": lambda F, x, y: F.least(x, y),
    "when": lambda F, x, y: F.when(x == y, x).otherwise(y),
}


EVERY_PAIR = ("==", "<", "<=>", "coalesce", "greatest")


def _isin(x: Any, y: Any) -> Any:
    return x.isin(y, None) if hasattr(x, "isin") else x.is_in([y, None])


def _of_one() -> Iterator[Question]:
    number = ("byte", "short", "int", "long", "float", "double", "decimal")
    unary: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
        **{
            name: (lambda F, x, name=name: getattr(F, name)(x), number)
            for name in (
                "abs",
                "ceil",
                "floor",
                "cos",
                "sin",
                "tan",
                "exp",
                "log",
                "ln",
                "log2",
                "log10",
                "sqrt",
                "sign",
            )
            + ("signum",)
        },
        "negate": (lambda F, x: -x, number),
        "isnan": (lambda F, x: F.isnan(x), number),
        "negative": (lambda F, x: F.negative(x), number),
        "isnull": (lambda F, x: F.isnull(x), ("any",)),
        "isnotnull": (lambda F, x: F.isnotnull(x), ("any",)),
        "equal_null": (lambda F, x: F.equal_null(x, x), ("any",)),
        **{f"left {n}": (lambda F, x, n=n: F.left(x, F.lit(n)), ("string",)) for n in (-1, 0, 1, 3, 99)},
        **{f"right {n}": (lambda F, x, n=n: F.right(x, F.lit(n)), ("string",)) for n in (-1, 0, 1, 3, 99)},
        **{f"ilike {p}": (lambda F, x, p=p: F.ilike(x, F.lit(p)), ("string",)) for p in ("%", "A%", "%É", "__")},
        **{f"round {n}": (lambda F, x, n=n: F.round(x, n), number) for n in (-20, -3, -2, -1, 0, 1, 2, 5, 15, 20)},
        **{
            name: (lambda F, x, name=name: getattr(F, name)(x), ("string",))
            for name in ("lower", "upper", "trim", "ltrim", "rtrim")
        },
        "length": (lambda F, x: F.length(x), ("string", "binary")),
        **{
            f"substring {start} {n}": (lambda F, x, start=start, n=n: F.substring(x, start, n), ("string", "binary"))
            for start in (-1000, -5, -3, -1, 0, 1, 2, 5, 2**31 - 1)
            for n in (-1, 0, 1, 3, 2**31 - 1)
        },
        **{
            f"like {p}": (lambda F, x, p=p: F.like(x, F.lit(p)), ("string",))
            for p in ("%", "", "_", "a%", "%5%", "%\\%%", "__", "%é", "😀%")
        },
        **{
            name: (lambda F, x, name=name: getattr(F, name)(x), ("date", "timestamp"))
            for name in ("year", "month", "day", "dayofmonth", "weekday", "dayofweek", "quarter")
        },
        **{
            name: (lambda F, x, name=name: getattr(F, name)(x), ("timestamp",)) for name in ("hour", "minute", "second")
        },
        "to_date": (lambda F, x: F.to_date(x), ("string", "date", "timestamp")),
        "to_timestamp": (lambda F, x: F.to_timestamp(x), ("string", "date", "timestamp")),
        "pow 2": (lambda F, x: F.pow(x, F.lit(2)), number),
        "+ 1": (lambda F, x: x + 1, number),
        "* 3": (lambda F, x: x * 3, number),
        "/ 3": (lambda F, x: x / 3, number),
        "% 3": (lambda F, x: x % 3, number),
        "> 2": (lambda F, x: x > 2, number),
        "isin 0 5": (lambda F, x: x.isin(0, 5, 127) if hasattr(x, "isin") else x.is_in([0, 5, 127]), number),
        "coalesce 0": (lambda F, x: F.coalesce(x, F.lit(0)), number),
        "+ 1.5": (lambda F, x: x + F.lit(D("1.50")), ("long", "int", "decimal")),
        "> 2.5": (lambda F, x: x > F.lit(D("2.50")), ("long", "int", "decimal")),
    }
    for kind in TYPES:
        for target in TYPES:
            yield Question(f"cast {target}", lambda F, x, t=str(target): _cast(F, x, t), (kind,), "one")
        for name, (ask, names) in unary.items():
            if kind.name in names or names == ("any",):
                yield Question(name, ask, (kind,), "one")


def _cast(F: Any, x: Any, target: str) -> Any:
    return x.try_cast(target.replace("long", "bigint")) if hasattr(x, "try_cast") else x.cast(target)


COMMON = ("long", "double", "decimal(18,2)", "decimal(28,4)")


def _of_two() -> Iterator[Question]:
    """Each operator on every pair of types; of those that differ in name only, one on every pair."""
    every = {**ARITHMETIC, **{name: ask for name, ask in {**COMPARISONS, **CHOICES}.items() if name in EVERY_PAIR}}
    for one, two in itertools.product(NUMBERS, NUMBERS):
        asked = {**every, **COMPARISONS, **CHOICES} if {one, two} <= set(COMMON) else dict(every)
        if one in ("int", "double") and two in ("int", "double"):
            asked |= {"pow": lambda F, x, y: F.pow(x, y), "power": lambda F, x, y: F.power(x, y)}
        if one in ("float", "double") and two in ("float", "double"):
            asked["nanvl"] = lambda F, x, y: F.nanvl(x, y)
        for name, ask in asked.items():
            yield Question(name, ask, (type_of(one), type_of(two)), "numbers")


def _of_texts() -> Iterator[Question]:
    for kind in TEXT_PAIRS:
        asked: dict[str, Callable[..., Any]] = {
            **COMPARISONS,
            **CHOICES,
            "concat": lambda F, x, y: F.concat(x, y),
            "contains": lambda F, x, y: F.contains(x, y),
            "startswith": lambda F, x, y: F.startswith(x, y),
            "endswith": lambda F, x, y: F.endswith(x, y),
        }
        if kind == "string":
            asked["replace"] = lambda F, x, y: F.replace(x, y, F.lit("_"))
            asked["replace by"] = lambda F, x, y: F.replace(x, F.lit("a"), y)
        for name, ask in asked.items():
            yield Question(name, ask, (type_of(kind), type_of(kind)), "texts")


def _of_moments() -> Iterator[Question]:
    moments = [type_of("date"), type_of("timestamp")]
    for one, two in itertools.product(moments, moments):
        for name, ask in {**COMPARISONS, **CHOICES}.items():
            yield Question(name, ask, (one, two), "moments")
        for name in ("date_diff", "datediff"):
            yield Question(name, lambda F, x, y, name=name: getattr(F, name)(x, y), (one, two), "moments")
    for one in moments:
        for name in ("date_add", "date_sub"):
            yield Question(name, lambda F, x, y, name=name: getattr(F, name)(x, y), (one, type_of("int")), "moments")
