"""Every function of `ebbflow.functions`, asked about values of every type: it answers, or refuses with a sentence.

What is wrong here is an exception of Python's, or a refusal of the step that has another cause than the numbers.

Rule: the arguments are drawn from one table of columns and a seed; those of one argument are all tried.
"""

from __future__ import annotations

import datetime
import inspect
import itertools
import math
import random
from decimal import Decimal

import pytest

import ebbflow as ebb
import ebbflow.functions as F
from ebbflow.errors import EbbflowError, NotAnExpression, NumberOverflow

FIRST, LAST = datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23)
COLUMNS = {
    "n": ("long", [3, -1]),
    "x": ("string", ["a", ""]),
    "w": ("decimal(38,10)", [Decimal("1.5"), -(Decimal(10) ** 27)]),
    "a": ("array<decimal(38,10)>", [[Decimal("1.5"), None], []]),
    "s": ("struct<p:long,`q r`:array<string>>", [{"p": 1, "q r": ["x"]}, {"p": None, "q r": None}]),
    "m": ("map<string,double>", [{"k": math.nan}, {}]),
    "t": ("timestamp", [FIRST, LAST]),
    "y": ("timestamp_ntz", [FIRST, LAST]),
    "d": ("date", [datetime.date(1582, 10, 4), datetime.date(2024, 2, 29)]),
    "b": ("binary", [b"\0", b""]),
    "z": ("boolean", [True, False]),
    "f": ("double", [math.nan, -0.0]),
}
ROWS = [*zip(*(values for _, values in COLUMNS.values())), (None,) * len(COLUMNS)]
NAMES = [name for name in F.__all__ if callable(getattr(F, name)) and not inspect.isclass(getattr(F, name))]
FEW = [(), *((name,) for name in COLUMNS)]
PAIRS = [*itertools.product(COLUMNS, COLUMNS), *itertools.product(COLUMNS, [1])]
MORE = [*PAIRS, *itertools.product("asmwxt", "anxw", "sn")]
SEED, TRIED = 7, 1500


def asked(name, arguments):
    """The rows that a program with this function gives; None where writing it is refused."""
    flow = ebb.Dataflow()
    rows = flow.input("t", ", ".join(f"{column} {kind}" for column, (kind, _) in COLUMNS.items()))
    try:
        value = getattr(F, name)(*arguments)
    except TypeError as refusal:  # Python's own, about how many there are
        assert "argument" in str(refusal), refusal
        return None
    except EbbflowError:
        return None
    try:
        made = rows.select(r=value)
    except EbbflowError:
        try:
            made = rows.group_by("n").agg(r=value)
        except EbbflowError:
            return None
    flow.output("out", made)
    try:
        return flow.compute(t=ROWS)["out"].rows()
    except NumberOverflow:
        return None


@pytest.mark.parametrize("name", NAMES)
def test_a_function_of_nothing_and_of_one_column(name):
    for arguments in FEW:
        asked(name, arguments)


def test_functions_of_several_columns():
    drawn = random.Random(SEED).sample([(name, arguments) for name in NAMES for arguments in MORE], TRIED)
    answered = 0
    for name, arguments in drawn:
        try:
            answered += asked(name, arguments) is not None
        except Exception as problem:
            pytest.fail(f"{name}{arguments}: {type(problem).__name__}: {problem}")
    assert answered > TRIED // 25


def test_functions_of_nothing():
    assert [found for found, _ in asked("array", ())] == [[]] and [found for found, _ in asked("create_map", ())] == [
        {}
    ]
    for name in ("least", "greatest", "concat", "coalesce", "hash", "xxhash64", "map_concat", "arrays_zip", "struct"):
        with pytest.raises(NotAnExpression, match="at least; it is given none"):
            getattr(F, name)()


def test_nested_values_have_sparks_hashes():
    """The numbers are those of Spark 4.2."""
    flow = ebb.Dataflow()
    ddl = "a array<int>, s struct<p:long,`q r`:string>, n array<struct<x:double,y:date>>, w array<decimal(38,10)>"
    given = flow.input("t", ddl)
    asked_for = {f"{fn.__name__}_{name}": fn(name) for fn in (F.hash, F.xxhash64) for name in "asnw"}
    flow.output("out", given.select(**asked_for))
    row = ([1, None, 2], {"p": 1, "q r": "a"}, [{"x": -0.0, "y": datetime.date(2024, 1, 1)}, None])
    found = flow.compute(t=[(*row, [Decimal("1.5"), None]), ([], {"p": None, "q r": None}, [], None)])["out"].rows()
    hashes = (-222940379, 573093329, 1579103531, -994477761)
    longs = (-8133857028838179022, -8527884376001292090, 6414106908944235505, -3765538183238091397)
    assert [line[:8] for line in found] == [(*hashes, *longs), (42,) * 8]


def test_bytes_are_filled_up_with_zeros():
    flow = ebb.Dataflow()
    flow.output("out", flow.input("t", "b binary").select(F.lpad("b", 3).alias("l"), F.rpad("b", 3).alias("r")))
    assert flow.compute(t=[(b"a",)])["out"].rows() == [(b"\0\0a", b"a\0\0", 1)]
