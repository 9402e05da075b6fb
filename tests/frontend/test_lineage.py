"""A column taken from a collection means that column, whatever it is called later."""

import pytest

import ebbflow as ebb
from ebbflow.dataflow import nodes as n
from ebbflow.errors import UnknownColumn


@pytest.fixture
def sides():
    flow = ebb.Dataflow()
    return flow.input("a", "k long, x long"), flow.input("b", "k long, x long")


def picked(collection):
    """The columns that a selection reads."""
    return [str(expr) for _, expr in collection._graph.nodes[collection._node].action.columns]


def test_a_column_of_the_right_side_keeps_its_meaning_after_a_join(sides):
    a, b = sides
    joined = a.join(b, on="k", suffix="_b")
    assert picked(joined.select(one=a.x, two=b.x)) == ["x", "x_b"]
    assert picked(joined.filter(b.x > a.x).select(two=b.x)) == ["x_b"]
    assert picked(joined.select(by_name=ebb.col("x"))) == ["x"]


def test_a_renamed_column_is_found(sides):
    a, _ = sides
    assert picked(a.rename({"x": "y", "k": "x"}).select(v=a.x)) == ["y"]
    assert picked(a.select(first="x", second="k").distinct().select(v=a.k)) == ["second"]


def test_a_column_that_was_computed_anew_goes_by_its_name(sides):
    a, _ = sides
    assert picked(a.with_columns(x=a.x + 1).select(v=a.x)) == ["x"]


def test_keys_of_groups_are_followed(sides):
    a, _ = sides
    assert picked(a.group_by("k").count().select(v=a.k)) == ["k"]


def test_outer_columns_are_followed_into_loops(sides):
    a, b = sides
    found = a.iterate(lambda v: v.join(b, on="k", suffix="_b").filter(b.x > 0).select("k", x=b.x))
    body = found._graph.nodes[found._node].source
    assert str(found._graph.nodes[body].action.columns[1][1]) == "x_b"


def test_a_condition_finds_renamed_keys(sides):
    a, b = sides
    joined = a.join(b.rename({"k": "kk", "x": "xx"}), on=a.k == b.k)
    join = joined._graph.nodes[joined._node]
    assert isinstance(join, n.Join)
    assert joined._graph.nodes[join.right].key == ("kk",)


def test_a_column_of_an_unrelated_collection_is_refused(sides):
    a, b = sides
    with pytest.raises(UnknownColumn, match='select uses the column "x" of b, which has no part in a'):
        a.select(v=b.x)
