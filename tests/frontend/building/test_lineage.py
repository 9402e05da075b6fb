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


def test_a_column_is_never_read_by_accident_of_its_name():
    flow = ebb.Dataflow()
    t, u = flow.input("t", "a long, b long"), flow.input("u", "b long, c int")
    with pytest.raises(UnknownColumn, match='uses the column "b" of t, which is not there any more'):
        t.select(b="a").filter(t.b > 5)
    with pytest.raises(UnknownColumn, match='uses the column "b" of t, which is not there any more'):
        u.join(t.drop("b"), on={"c": "a"}).filter(t.b > 5)


def test_a_column_that_was_computed_anew_is_meant_by_its_name():
    flow = ebb.Dataflow()
    t = flow.input("t", "a long, b long")
    flow.output("more", t.with_columns(b=t.b + 1).filter(t.b > 5))
    flow.output("sums", t.group_by("a").agg(b=ebb.sum("b")).filter(t.b > 5))
    found = flow.compute(t=[(1, 5), (1, 4)])
    assert found["more"].rows() == [(1, 6, 1)] and found["sums"].rows() == [(1, 9, 1)]


@pytest.mark.parametrize("how", ["inner", "right"])
def test_the_key_of_the_right_side_is_the_column_of_the_left_that_equals_it(how):
    flow = ebb.Dataflow()
    t, u = flow.input("t", "a int, b long"), flow.input("u", "b long, c long")
    flow.output("out", t.join(u, on={"a": "b"}, how=how, suffix="_u").filter(u.b == 1))
    assert flow.compute(t=[(1, 7), (2, 1)], u=[(1, 10), (2, 20)])["out"].rows() == [(1, 7, 10, 1)]


@pytest.mark.parametrize("how, side", [("left", "u"), ("right", "t"), ("full", "t"), ("full", "u")])
@pytest.mark.parametrize("on", ["k", ["k", "j"]])
def test_the_key_of_a_side_that_may_have_no_row_is_not_the_key_that_is_shown(how, side, on):
    flow = ebb.Dataflow()
    sides = {"t": flow.input("t", "k long, j long, x long"), "u": flow.input("u", "k long, j long, y long")}
    t, u = sides.values()
    joined = t.join(u, on=on, how=how, suffix="_u")
    with pytest.raises(UnknownColumn, match=f'uses the column "k" of {side}, which is not there any more'):
        joined.filter(sides[side].k.is_null())
    assert joined.filter(ebb.col("k") == 1).columns == joined.columns
    there = {"left": t, "right": u}.get(how)
    if there is not None:
        assert picked(joined.select(v=there.k)) == ["k"]
    flow.output("alone", joined.filter((u.y if how == "left" else t.x).is_null()))  # what a side lacks is asked of it
    given = {"t": [(1, 1, 5), (2, 2, 6)], "u": [(1, 1, 7), (3, 3, 8)]}
    assert [row[0] for row in flow.compute(**given)["alone"].rows()] == {"left": [2]}.get(how, [3])


def test_a_column_that_has_only_the_name_is_refused():
    flow = ebb.Dataflow()
    t = flow.input("t", "a long, b long")
    for made in (
        lambda: t.with_columns(b=ebb.lit(9)),
        lambda: t.drop("b").with_columns(b=ebb.col("a") + 1),
        lambda: t.group_by("a").agg(b=ebb.sum("a")),
        lambda: t.group_by(b=t.a % 2).agg(n=ebb.count()),
        lambda: t.map_rows(lambda r: (r.b, r.a), "a long, b long"),
        lambda: t.select("a").iterate(lambda now: now).with_columns(b=ebb.lit(1)),
    ):
        with pytest.raises(UnknownColumn, match='uses the column "b" of t, which is not there any more'):
            made().select(v=t.b)


def test_a_column_that_a_union_made_wider_is_still_found():
    flow = ebb.Dataflow()
    t, u = flow.input("t", "a double"), flow.input("u", "a int")
    flow.output("out", t.union(u).rename({"a": "z"}).filter(u.a > 1))
    assert flow.compute(t=[(1.5,)], u=[(1,), (2,)])["out"].rows() == [(1.5, 1), (2.0, 1)]


def test_a_column_that_two_columns_may_be_is_refused():
    flow = ebb.Dataflow()
    t = flow.input("t", "n long, a string, c string")
    swapped = t.distinct().iterate(lambda now: (now.select("n", a="c", c="a") + t).distinct())
    assert swapped.filter(t.c == "x").columns == ["n", "a", "c"]  # its own name first
    with pytest.raises(ebb.errors.UnknownColumn, match="several columns may be it: x, y"):
        swapped.rename({"a": "x", "c": "y"}).filter(t.c == "x")
    with pytest.raises(ebb.errors.UnknownColumn, match="several columns may be it: v, c_other"):
        t.join(t, on="n", suffix="_other").rename({"c": "v"}).filter(t.c == "x")


def test_a_column_is_followed_around_a_loop_as_often_as_it_moves():
    flow = ebb.Dataflow()
    t = flow.input("t", "a long, b long, c long")
    turned = t.distinct().iterate(lambda now: (now.select(a="b", b="c", c="a") + t).distinct())
    assert picked(turned.select(only="a").select(v=t.c)) == ["only"]  # after two rounds
    with pytest.raises(ebb.errors.UnknownColumn, match="several columns may be it: x, y"):
        turned.select(x="a", y="b").filter(t.c == 1)
