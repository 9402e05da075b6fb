"""Functions have PySpark's names, and each is an operation, an aggregate or a composition of them."""

import datetime
import inspect

import pytest

import ebbflow as ebb
import ebbflow.functions as F
from ebbflow.errors import NotAnExpression
from tests.relational.function_questions import CALLS, SCHEMA

REFUSED = {"current_date", "current_timestamp", "expr"}
SPECIAL = {"col", "column", "lit", "when"}


@pytest.fixture
def rows():
    return ebb.Dataflow().input("rows", "n long, x double, s string, day date, at timestamp, ok boolean")


def arguments(name):
    """Columns of types that each function takes."""
    texts = dict.fromkeys(
        ["lower", "upper", "length", "trim", "ltrim", "rtrim", "lcase", "ucase", "char_length", "character_length"], "s"
    )
    moments = [
        "year",
        "month",
        "quarter",
        "day",
        "dayofmonth",
        "hour",
        "minute",
        "second",
        "weekday",
        "dayofweek",
        "to_date",
        "to_timestamp",
    ]
    several = {
        "coalesce": ("n", 0),
        "greatest": ("n", "x"),
        "least": ("n", "x"),
        "ifnull": ("n", 0),
        "nanvl": ("x", 0.0),
        "cast": ("n", "string"),
        "pow": ("n", 2),
        "power": ("n", 2),
        "round": ("x", 1),
        "substr": ("s", 1, 2),
        "substring": ("s", 1, 2),
        "concat": ("s", "s"),
        "contains": ("s", "a"),
        "like": ("s", "%a_"),
        "startswith": ("s", "a"),
        "endswith": ("s", "a"),
        "replace": ("s", "a", "b"),
        "date_add": ("day", 1),
        "date_sub": ("day", "n"),
        "date_diff": ("day", "at"),
        "datediff": ("day", "day"),
        "dateadd": ("day", 1),
        "equal_null": ("n", "x"),
        "ilike": ("s", "%A_"),
        "left": ("s", 2),
        "right": ("s", 2),
        "nullif": ("n", 0),
        "nvl": ("n", 0),
        "nvl2": ("n", 1, 0),
    }
    if name in several:
        return several[name]
    return (texts.get(name) or ("day" if name in moments else "x"),)


AGGREGATES = {"count", "sum", "avg", "mean", "min", "max", "any_value", "count_distinct", "countDistinct"}
AGGREGATES |= {"approx_count_distinct", "approxCountDistinct"}
STATISTICS = {name for name in F.__all__ if getattr(F, name).__module__.rpartition(".")[2] in ("ordered", "statistics")}
NESTED = ("arrays", "collecting", "exploding", "json", "maps")
OF_NESTED = {name for name in F.__all__ if getattr(F, name).__module__.rpartition(".")[2] in NESTED}
OF_CONDITIONS = {"count_if", "bool_and", "bool_or", "every", "some"}
ORDERS = {"asc", "desc"}
OF_WINDOWS = {"cume_dist", "dense_rank", "first", "first_value", "lag", "last", "last_value", "lead", "nth_value"}
OF_WINDOWS |= {"ntile", "percent_rank", "rank", "row_number"}  # tests/frontend/building/test_windows.py


@pytest.mark.parametrize(
    "name",
    sorted(
        set(F.__all__) - REFUSED - SPECIAL - AGGREGATES - STATISTICS - OF_CONDITIONS - ORDERS - OF_WINDOWS - OF_NESTED
    ),
)
def test_a_function_of_a_row_makes_a_column(rows, name):
    if name in CALLS:
        rows = ebb.Dataflow().input("rows", SCHEMA)
        column = CALLS[name](F, {each: ebb.col(each) for each in rows.columns})
    else:
        column = getattr(F, name)(*arguments(name))
    assert rows.select(out=column).columns == ["out"]


@pytest.mark.parametrize("name", sorted(AGGREGATES))
def test_an_aggregate_stands_in_agg(rows, name):
    assert rows.group_by("s").agg(out=getattr(F, name)("n")).columns == ["s", "out"]
    with pytest.raises(NotAnExpression, match="one value for a group"):
        rows.select(out=getattr(F, name)("n"))


@pytest.mark.parametrize("name", sorted(OF_CONDITIONS))
def test_an_aggregate_of_conditions_stands_in_agg(rows, name):
    assert rows.group_by("s").agg(out=getattr(F, name)("ok")).columns == ["s", "out"]


def test_what_the_compositions_give():
    flow = ebb.Dataflow()
    rows = flow.input("rows", "n long, s string, ok boolean, day date")
    flow.output(
        "each",
        rows.select(
            F.nvl2("n", F.lit(1), F.lit(0)).alias("a"), F.nullif("n", F.lit(-7)).alias("b"),
            F.left("s", 2).alias("d"), F.right("s", 2).alias("e"), F.right("s", 0).alias("f"),
            F.ilike("s", "AB%").alias("g"), F.quarter("day").alias("h"),
            F.equal_null("n", F.lit(None)).alias("j"),
        ),
    )  # fmt: skip
    flow.output("all", rows.agg(n=F.count_if("ok"), every=F.every("ok"), some=F.some("ok")))
    day = datetime.date
    given = [(-7, "abc", True, day(2024, 3, 31)), (None, "x", None, day(2024, 4, 1)), (3, None, False, None)]
    found = flow.compute(rows=given)
    assert sorted(found["each"].rows(), key=repr) == sorted(
        [
            (1, None, "ab", "bc", "", True, 1, False, 1),
            (0, None, "x", "x", "", False, 2, True, 1),
            (1, 3, None, None, None, None, None, False, 1),
        ],
        key=repr,
    )
    assert found["all"].rows() == [(1, False, True, 1)]


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_cannot_be_is_refused(name):
    function = getattr(F, name)
    with pytest.raises(NotAnExpression):
        function(*["x"] * len(inspect.signature(function).parameters))


def test_plain_strings_are_columns_and_constants_are_said(rows):
    graph = rows._graph
    both = rows.select(out=F.concat("s", F.lit("s")))
    assert str(graph.nodes[both._node].action.columns[0][1]) == "concat(s, 's')"
    found = rows.select(out=F.contains("s", "n"))
    assert str(graph.nodes[found._node].action.columns[0][1]) == "contains(s, 'n')"


def test_counting_rows_and_values():
    assert repr(F.count()) == repr(F.count("*")) == "Column<count_rows()>"
    assert repr(F.count("x")) == "Column<count(x)>"


def test_the_builtins_stay_themselves():
    assert sum([1, 2]) == 3 and F.sum is not sum and ebb.sum is F.sum
    assert set(F.__all__) == {name for name in F.__all__ if hasattr(F, name)}
