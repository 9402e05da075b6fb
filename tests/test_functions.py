"""Functions have PySpark's names, and each is an operation, an aggregate or a composition of them."""

import inspect

import pytest

import ebbflow as ebb
import ebbflow.functions as F
from ebbflow.errors import NotAnExpression

REFUSED = {"first", "current_date", "current_timestamp", "expr"}
SPECIAL = {"col", "column", "lit", "when"}


@pytest.fixture
def rows():
    return ebb.Dataflow().input("rows", "n long, x double, s string, day date, at timestamp, ok boolean")


def arguments(name):
    """Columns of types that each function takes."""
    texts = {"lower": "s", "upper": "s", "length": "s", "trim": "s", "ltrim": "s", "rtrim": "s"}
    moments = [
        "year",
        "month",
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
    }
    if name in several:
        return several[name]
    return (texts.get(name) or ("day" if name in moments else "x"),)


AGGREGATES = {"count", "sum", "avg", "mean", "min", "max", "any_value", "count_distinct", "countDistinct"}
ORDERS = {"asc", "desc"}


@pytest.mark.parametrize("name", sorted(set(F.__all__) - REFUSED - SPECIAL - AGGREGATES - ORDERS))
def test_a_function_of_a_row_makes_a_column(rows, name):
    assert rows.select(out=getattr(F, name)(*arguments(name))).columns == ["out"]


@pytest.mark.parametrize("name", sorted(AGGREGATES))
def test_an_aggregate_stands_in_agg(rows, name):
    assert rows.group_by("s").agg(out=getattr(F, name)("n")).columns == ["s", "out"]
    with pytest.raises(NotAnExpression, match="one value for a group"):
        rows.select(out=getattr(F, name)("n"))


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
