"""What DESIGN 9 says of joins: what `on` may be, every `how`, null keys, NaN keys, and the order of columns."""

import pytest

import ebbflow as ebb

NAN = float("nan")
A = [(1, "a"), (1, "b"), (2, "c"), (None, "n")]
B = [(1, 10), (3, 30), (None, 90), (1, 11)]


def joined(how, on="k", a=A, b=B, left="k long, x string", right="k long, y long", **options):
    flow = ebb.Dataflow()
    one, two = flow.input("one", left), flow.input("two", right)
    flow.output(
        "out", one.join(two, on=on, how=how, **options) if on is not None else one.join(two, how=how, **options)
    )
    table = flow.compute(one=a, two=b)["out"]
    return table.columns[:-1], [row[:-1] for row in table for _ in range(row[-1])]


INNER = [(1, "a", 10), (1, "a", 11), (1, "b", 10), (1, "b", 11)]
LEFT_ALONE = [(None, "n", None), (2, "c", None)]
RIGHT_ALONE = [(None, None, 90), (3, None, 30)]


def test_inner():
    columns, rows = joined("inner")
    assert columns == ["k", "x", "y"]
    assert rows == INNER


def in_order(rows):
    return sorted(rows, key=lambda row: [(value is not None, value if value is not None else 0) for value in row])


def test_left():
    assert joined("left") == (["k", "x", "y"], in_order(INNER + LEFT_ALONE))


def test_right():
    assert joined("right") == (["k", "x", "y"], in_order(INNER + RIGHT_ALONE))


def test_full():
    assert joined("full") == (["k", "x", "y"], in_order(INNER + LEFT_ALONE + RIGHT_ALONE))


def test_semi_gives_left_rows_once_however_many_partners():
    assert joined("semi") == (["k", "x"], [(1, "a"), (1, "b")])


def test_anti_gives_left_rows_without_a_partner_null_keys_among_them():
    assert joined("anti") == (["k", "x"], [(None, "n"), (2, "c")])


def test_cross():
    columns, rows = joined("cross", on=None, a=[(1, "a"), (2, "b")], b=[(7, 70)], right="j long, y long")
    assert columns == ["k", "x", "j", "y"] and rows == [(1, "a", 7, 70), (2, "b", 7, 70)]


def test_semijoin_and_antijoin_are_methods():
    flow = ebb.Dataflow()
    one, two = flow.input("one", "k long, x string"), flow.input("two", "k long, y long")
    assert one.semijoin(two, on="k")._node == one.join(two, on="k", how="semi")._node
    assert one.antijoin(two, on="k")._node == one.join(two, on="k", how="anti")._node


@pytest.mark.parametrize(
    "how", ["outer", "left_outer", "leftouter", "full_outer", "left_semi", "leftanti", "right_outer"]
)
def test_spark_s_words_for_how_work_too(how):
    assert joined(how)[0][0] == "k"


def test_on_in_each_of_its_forms():
    flow = ebb.Dataflow()
    a, b = flow.input("a", "x long, p long"), flow.input("b", "y long, q long")
    made = [
        a.join(b, on={"x": "y"}),
        a.join(b, on=a.x == b.y),
        a.join(b, on=b.y == a.x),
        a.join(b, a.x == b.y),
        a.join(b, on=lambda l, r: l.x == r.y),
    ]
    assert {tuple(each.columns) for each in made} == {("x", "p", "q")}
    for each in made:
        flow.output(f"out{each._node}_{made.index(each)}", each)
    for table in flow.compute(a=[(1, 5), (2, 6)], b=[(1, 7)]).values():
        assert table.rows() == [(1, 5, 7, 1)]


def test_on_several_columns():
    flow = ebb.Dataflow()
    a, b = flow.input("a", "x long, y long, p long"), flow.input("b", "x long, y long, q long")
    for i, on in enumerate((["x", "y"], {"x": "x", "y": "y"}, (a.x == b.x) & (a.y == b.y))):
        flow.output(f"out{i}", a.join(b, on=on))
    for table in flow.compute(a=[(1, 1, 5), (1, 2, 6)], b=[(1, 1, 7), (2, 2, 8)]).values():
        assert table.columns == ["x", "y", "p", "q", "_count"] and table.rows() == [(1, 1, 5, 7, 1)]


def test_left_columns_then_the_rights_other_columns():
    flow = ebb.Dataflow()
    reach, edges = flow.input("reach", "root long, node long"), flow.input("edges", "src long, dst long")
    assert reach.join(edges, on={"node": "src"}).columns == ["root", "node", "dst"]


def test_columns_of_one_name_need_a_suffix():
    flow = ebb.Dataflow()
    a, b = flow.input("a", "id long, name string"), flow.input("b", "id long, name string")
    with pytest.raises(ebb.EbbflowError, match="suffix"):
        a.join(b, on="id")
    assert a.join(b, on="id", suffix="_b").columns == ["id", "name", "name_b"]


def test_a_collection_joined_with_itself():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    flow.output("two", edges.join(edges, on={"dst": "src"}, suffix="2").select("src", dst="dst2"))
    assert flow.compute(edges=[(1, 2), (2, 3), (2, 4)])["two"].rows() == [(1, 3, 1), (1, 4, 1)]


def test_nan_equals_nan_and_minus_zero_equals_zero_in_keys():
    a, b = [(NAN, "nan"), (-0.0, "zero"), (1.0, "one")], [(-NAN, 1), (0.0, 2)]
    _, rows = joined("inner", a=a, b=b, left="k double, x string", right="k double, y long")
    assert [row[1:] for row in rows] == [("zero", 2), ("nan", 1)]
    flow = ebb.Dataflow()
    xs = flow.input("xs", "x double")
    flow.output("groups", xs.group_by("x").count())
    flow.output("once", xs.distinct())
    out = flow.compute(xs=[(NAN,), (-NAN,), (0.0,), (-0.0,), (None,), (None,)])
    assert [row[1:] for row in out["groups"]] == [(2, 1), (2, 1), (2, 1)], "null, 0.0, NaN: each one group"
    assert len(out["once"]) == 3


def test_keys_of_every_type_meet():
    import datetime
    from decimal import Decimal

    for kind, value, other in [
        ("string", "ä", "b"),
        ("binary", b"\x00", b"\x01"),
        ("boolean", False, True),
        ("date", datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)),
        ("timestamp", datetime.datetime(2024, 1, 1, 5), datetime.datetime(2024, 1, 1, 6)),
        ("decimal(10,2)", Decimal("1.50"), Decimal("1.51")),
        ("int", 7, 8),
    ]:
        _, rows = joined(
            "inner",
            a=[(value, "a"), (other, "b")],
            b=[(value, 1), (None, 2)],
            left=f"k {kind}, x string",
            right=f"k {kind}, y long",
        )
        assert rows == [(value, "a", 1)], kind


def test_outer_joins_stay_right_when_partners_come_and_go():
    flow = ebb.Dataflow()
    a, b = flow.input("a", "k long"), flow.input("b", "k long, y long")
    flow.output("out", a.join(b, on="k", how="left"))
    with flow.run() as live:
        live.insert("a", [(1,)], time=0)
        live.insert("b", [(1, 10), (1, 11)], time=2)
        live.delete("b", [(1, 10), (1, 11)], time=4)
        live.advance_to(9)
        assert live.changes("out").rows() == [
            (1, None, 0, 1), (1, None, 2, -1), (1, 10, 2, 1), (1, 11, 2, 1),
            (1, None, 4, 1), (1, 10, 4, -1), (1, 11, 4, -1),
        ]  # fmt: skip


def test_multiplicities_multiply():
    flow = ebb.Dataflow()
    a, b = flow.input("a", "k long"), flow.input("b", "k long, y long")
    flow.output("out", a.join(b, on="k"))
    with flow.run() as live:
        live.apply("a", {"k": [1]}, diff=3)
        live.apply("b", {"k": [1], "y": [5]}, diff=-2)
        live.commit()
        assert live.snapshot("out").rows() == [(1, 5, -6)]


def test_keys_of_two_types_are_refused_or_agree():
    flow = ebb.Dataflow()
    a, b = flow.input("a", "k long"), flow.input("b", "k string")
    with pytest.raises(ebb.errors.TypeMismatch, match="cast"):
        a.join(b, on="k")
    c = flow.input("c", "k int, z long")
    flow.output("out", a.join(c, on="k"))
    assert flow.compute(a=[(5,)], c=[(5, 1)])["out"].rows() == [(5, 1, 1)]
