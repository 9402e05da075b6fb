"""How a join is asked for, which columns it has, and what it refuses."""

import pytest

import ebbflow as ebb
from ebbflow import col
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.rules.check import check
from ebbflow.errors import EbbflowError, TypeMismatch, UnclearJoin, UnknownColumn


@pytest.fixture
def sides():
    flow = ebb.Dataflow()
    return flow.input("a", "x long, y long, v string"), flow.input("b", "x long, z long, w double")


def keys(collection):
    graph = collection._graph
    join = next(node for node in reversed(graph.nodes) if isinstance(node, n.Join))
    return graph.nodes[join.left].key, graph.nodes[join.right].key


@pytest.mark.parametrize(
    "on, wanted",
    [
        (lambda a, b: "x", (("x",), ("x",))),
        (lambda a, b: ["x"], (("x",), ("x",))),
        (lambda a, b: {"y": "z"}, (("y",), ("z",))),
        (lambda a, b: {"y": "z", "x": "x"}, (("y", "x"), ("z", "x"))),
        (lambda a, b: a.y == b.z, (("y",), ("z",))),
        (lambda a, b: b.z == a.y, (("y",), ("z",))),
        (lambda a, b: (a.x == b.x) & (b.z == a.y), (("x", "y"), ("x", "z"))),
        (lambda a, b: [a.x == b.x, a.y == b.z], (("x", "y"), ("x", "z"))),
        (lambda a, b: col("y") == col("z"), (("y",), ("z",))),
        (lambda a, b: col("z") == col("y"), (("y",), ("z",))),
        (lambda a, b: col("x"), (("x",), ("x",))),
        (lambda a, b: lambda l, r: l.y == r.z, (("y",), ("z",))),
    ],
)
def test_on_in_every_form(sides, on, wanted):
    a, b = sides
    joined = a.join(b, on=on(a, b), suffix="_b")
    assert keys(joined) == wanted
    check(joined._graph)


@pytest.mark.parametrize(
    "how, columns",
    [
        ("inner", "x y v z w"),
        ("left", "x y v z w"),
        ("right", "x y v z w"),
        ("full", "x y v z w"),
        ("semi", "x y v"),
        ("anti", "x y v"),
    ],
)
def test_left_columns_then_the_rights_other_columns(sides, how, columns):
    a, b = sides
    joined = a.join(b, on="x", how=how)
    assert joined.columns == columns.split()
    assert [str(joined.schema[name]) for name in a.columns] == ["long", "long", "string"]
    check(joined._graph)


def test_a_condition_on_collections_made_of_the_sides_still_reads(sides):
    a, b = sides
    joined = a.filter(a.y > 1).join(b.filter(b.z > 1), on=b.x == a.x)
    assert keys(joined) == (("x",), ("x",))


def test_a_self_join_takes_the_first_column_from_the_left():
    edges = ebb.Dataflow().input("edges", "src long, dst long")
    two = edges.join(edges, on=edges.dst == edges.src, suffix="2")
    assert keys(two) == (("dst",), ("src",))
    assert two.columns == ["src", "dst", "dst2"]


def test_keys_may_be_computed(sides):
    a, b = sides
    joined = a.join(b.drop("x"), on=a.x + 1 == b.z)
    assert joined.columns == ["x", "y", "v", "z", "w"]
    check(joined._graph)


def test_a_column_of_both_sides_needs_a_suffix(sides):
    a, b = sides
    with pytest.raises(UnclearJoin) as refusal:
        a.join(b, on={"y": "z"})
    assert 'both sides of the join have a column "x": a and b' in str(refusal.value)
    assert 'suffix="_right"' in refusal.value.hint
    with pytest.raises(UnclearJoin, match='have columns "v" and "w": the result of join and the result of join'):
        a.join(b, on="x", how="left").join(a.join(b, on="x", how="full"), on=["x", "y", "z"])
    assert a.join(b, on={"y": "z"}, suffix="_b").columns == ["x", "y", "v", "x_b", "w"]
    assert a.join(b, on={"y": "z"}, how="semi").columns == ["x", "y", "v"]


def test_the_left_key_keeps_its_name_beside_a_right_column_of_the_same(sides):
    a, b = sides
    assert a.rename({"y": "z"}).join(b.drop("x"), on="z").columns == ["x", "z", "v", "w"]


def test_cross_pairs_everything(sides):
    a, b = sides
    crossed = a.join(b.rename({"x": "u"}), how="cross")
    assert crossed.columns == ["x", "y", "v", "u", "z", "w"]
    assert keys(crossed) == ((), ())
    assert a.crossJoin(b.rename({"x": "u"}))._node == crossed._node
    with pytest.raises(UnclearJoin, match="takes no on="):
        a.join(b, on="x", how="cross")


def test_sparks_words_for_how(sides):
    a, b = sides
    for word, ours in [
        ("left_outer", "left"),
        ("leftouter", "left"),
        ("outer", "full"),
        ("full_outer", "full"),
        ("left_semi", "semi"),
        ("LEFTANTI", "anti"),
        ("right_outer", "right"),
    ]:
        assert a.join(b, on="x", how=word)._node == a.join(b, on="x", how=ours)._node


@pytest.mark.parametrize(
    "join, error, says",
    [
        (lambda a, b: a.join(b), UnclearJoin, "Both have: x."),
        (lambda a, b: a.join(b, on=[]), UnclearJoin, "which rows belong together"),
        (lambda a, b: a.join(b, on="x", how="lef"), UnclearJoin, 'Did you mean "left"'),
        (
            lambda a, b: a.join(b, on="y"),
            UnknownColumn,
            'join looks for the column "y" on its right side, b, which has: x, z, w.',
        ),
        (lambda a, b: a.join(b, on={"yy": "z"}), UnknownColumn, "on its left side, a"),
        (lambda a, b: a.join(b, on=a.x < b.x), UnclearJoin, "no equality"),
        (lambda a, b: a.join(b, on=a.x == a.y), UnclearJoin, "two columns of one side, a"),
        (lambda a, b: a.join(b, on={"v": "z"}), TypeMismatch, '"v" (string) of a with "z" (long) of b'),
        (lambda a, b: a.join(b, on={"y": "w"}), TypeMismatch, '.cast("long")'),
        (lambda a, b: a.join(b, on=3), UnclearJoin, "cannot read on=3"),
        (lambda a, b: a.join(3, on="x"), EbbflowError, "takes a collection"),
        (lambda a, b: a.join(b, on=lambda r: r.x), UnclearJoin, "the two sides"),
        (lambda a, b: a.join(b, on=(a.x == b.x) | (a.y == b.z)), UnclearJoin, "no equality"),
    ],
)
def test_unclear_joins_are_refused(sides, join, error, says):
    with pytest.raises(error) as refusal:
        join(*sides)
    assert says in str(refusal.value)


def test_keys_of_other_widths_join():
    flow = ebb.Dataflow()
    a, b = flow.input("a", "k int, p long"), flow.input("b", "k long, q long")
    for how in ("inner", "left", "right", "full", "semi", "anti"):
        joined = a.join(b, on="k", how=how)
        assert str(joined.schema["k"]) == ("long" if how in ("right", "full") else "int")
    check(flow.graph)


def test_one_arrangement_is_shared_by_two_joins(sides):
    a, b = sides
    a.join(b, on="x")
    before = len(a._graph.nodes)
    a.filter(a.y > 1).join(b, on="x")
    added = [type(node).__name__ for node in a._graph.nodes[before:]]
    assert added == ["Linear", "Arrange", "Join"]


def test_semi_does_not_count_partners(sides):
    a, b = sides
    a.semijoin(b, on="x")
    kinds = [getattr(node, "reducer", None) for node in a._graph.nodes]
    assert n.Threshold(None) in kinds


@pytest.mark.parametrize("foreign", [{"left_on": "k", "right_on": "kk"}, {"lsuffix": "_l"}, {"validate": "1:1"}])
def test_options_of_other_tools_joins_are_answered_with_ours(foreign):
    flow = ebb.Dataflow()
    a, b = flow.input("a", "k long"), flow.input("b", "kk long")
    with pytest.raises(UnclearJoin, match=r'on=\{"left": "right"\}'):
        a.join(b, **foreign)


def test_a_column_may_have_the_name_that_a_computed_key_would_get():
    flow = ebb.Dataflow()
    t, u = flow.input("t", "a long, _key0 long"), flow.input("u", "b long, _key0 long, _key1 long")
    flow.output("met", t.join(u, on=lambda l, r: (l.a + 1 == r.b) & (l.a == r.b - 1), suffix="_u"))
    flow.output("kept", t.semijoin(u, on=lambda l, r: (l["_key0"] == r["_key1"]) & (l.a + 1 == r.b)))
    found = flow.compute(t=[(1, 5)], u=[(2, 7, 5)])
    assert found["met"].rows() == [(1, 5, 2, 7, 5, 1)] and found["kept"].rows() == [(1, 5, 1)]


def test_an_anti_join_has_no_column_of_the_other_side():
    """Its rows have no partner: no column of theirs is the other side's key (public program 44716 of seed 3001)."""
    flow = ebb.Dataflow()
    v = flow.input("v", "b double, y double")
    alone = v.rename({"y": "a"}).join(v, on=lambda l, r: (l["a"] == r["y"]) & (l["b"] == r["y"]), how="anti")
    flow.output("out", alone.with_columns(z=v["y"]))
    assert flow.compute(v=[(1.0, 2.0), (3.0, 3.0)])["out"].rows() == [(1.0, 2.0, 2.0, 1)]
