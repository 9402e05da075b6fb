"""What DESIGN 9 says of collections: columns, rows, order, aliases, and other tools' words answered with ours."""

import pytest

import ebbflow as ebb
from ebbflow import col

EDGES = [(1, 2), (1, 2), (2, 3)]


def program():
    flow = ebb.Dataflow()
    return flow, flow.input("edges", "src long, dst long")


def rows_of(make, edges=EDGES):
    flow, collection = program()
    flow.output("out", make(collection))
    return flow.compute(edges=edges)["out"].rows()


def test_select_keeps_names_and_computes_keywords():
    assert rows_of(lambda e: e.select("src", node="dst", more=e.dst + 1), [(1, 2)]) == [(1, 2, 3, 1)]
    assert rows_of(lambda e: e.select("dst", "src"), [(1, 2)]) == [(2, 1, 1)]
    assert rows_of(lambda e: e.select(["dst"]), [(1, 2)]) == [(2, 1)]


def test_any_word_names_a_column_or_an_input():
    flow = ebb.Dataflow()
    xs = flow.input("self", "self long, names long")
    seen = xs.select(self="self", names="names").with_columns(self=col("self") + 1).group_by(self="self")
    total = seen.agg(self_=ebb.count(), total=ebb.sum("names"))
    flow.output("out", total.agg(self=ebb.sum("total")))
    variable, _ = flow.iterate(lambda self, other: (self, other), self=xs, other=xs)
    flow.output("same", variable)
    found = flow.compute(self=[(1, 2), (1, 3)])
    assert found["out"].rows() == [(5, 1)] and len(found["same"]) == 2


def test_with_columns_adds_and_replaces():
    _flow, edges = program()
    made = edges.with_columns(dst=edges.dst * 10, far=edges.dst > 2)
    assert made.columns == ["src", "dst", "far"]
    assert rows_of(lambda e: e.with_columns(dst=e.dst * 10, far=e.dst > 2), [(1, 3)]) == [(1, 30, True, 1)]


def test_keywords_of_with_columns_all_see_the_old_columns():
    assert rows_of(lambda e: e.with_columns(src=e.dst, dst=e.src), [(1, 3)]) == [(3, 1, 1)]


def test_drop_and_rename():
    _flow, edges = program()
    assert edges.drop("dst").columns == ["src"]
    assert edges.rename({"src": "a"}).columns == ["a", "dst"]
    assert rows_of(lambda e: e.rename({"src": "dst", "dst": "src"}), [(1, 3)]) == [(1, 3, 1)]


def test_columns_and_schema():
    _flow, edges = program()
    assert edges.columns == ["src", "dst"]
    assert [(field.name, str(field.type)) for field in edges.schema] == [("src", "long"), ("dst", "long")]
    assert str(edges.schema["dst"]) == "long" and "dst" in edges.schema and "scr" not in edges.schema
    with pytest.raises(ebb.EbbflowError, match='the column "scr"; it has: src, dst'):
        edges.schema["scr"]


def test_filter_takes_several_conditions():
    assert rows_of(lambda e: e.filter(e.src == 1, lambda r: r.dst == 2)) == [(1, 2, 2)]
    assert rows_of(lambda e: e.filter((col("src") == 1) & (col("dst") == 3))) == []


def test_distinct_gives_one_for_counts_above_zero_and_nothing_otherwise():
    flow, edges = program()
    flow.output("out", edges.distinct())
    with flow.run() as live:
        live.apply("edges", {"src": [1, 2, 3], "dst": [1, 1, 1], "d": [5, -2, 0]}, time=0, diff="d")
        live.advance_to(1)
        assert live.snapshot("out").rows() == [(1, 1, 1)]
        live.apply("edges", {"src": [1, 2], "dst": [1, 1], "d": [-5, 3]}, diff="d")
        live.advance_to(2)
        assert live.changes("out").rows() == [(1, 1, 0, 1), (1, 1, 1, -1), (2, 1, 1, 1)]


def test_union_concat_and_plus_keep_duplicates_and_go_by_name():
    for make in (
        lambda e: e.union(e.select(dst="dst", src="src")),
        lambda e: e.concat(e),
        lambda e: e + e,
        lambda e: e.union(e.filter(ebb.lit(False)), e),
    ):
        assert rows_of(make, [(1, 2)]) == [(1, 2, 2)]


def test_negate_and_minus_subtract_counts():
    assert rows_of(lambda e: e.negate()) == [(1, 2, -2), (2, 3, -1)]
    assert rows_of(lambda e: e - e.distinct()) == [(1, 2, 1)]
    assert rows_of(lambda e: e.distinct() - e) == [(1, 2, -1)]
    assert rows_of(lambda e: e - e) == []


def test_threshold_maps_counts_to_counts():
    assert rows_of(lambda e: e.threshold(lambda n: n - 1)) == [(1, 2, 1)]
    assert rows_of(lambda e: e.threshold(lambda n: -n)) == [(1, 2, -2), (2, 3, -1)]
    assert rows_of(lambda e: e.negate().threshold(lambda n: max(n, 0))) == []


def test_consolidate_changes_nothing():
    assert rows_of(lambda e: (e + e.negate() + e).consolidate()) == [(1, 2, 2), (2, 3, 1)]


def test_order_by_and_limit_give_the_first_rows():
    rows = [(1, 5), (2, 5), (3, 1), (3, 1), (None, 9)]
    assert rows_of(lambda e: e.order_by("-dst", "src").limit(2), rows) == [(None, 9, 1), (1, 5, 1)]
    assert rows_of(lambda e: e.order_by("dst").limit(1), rows) == [(3, 1, 1)], "copies count"
    assert rows_of(lambda e: e.order_by("dst").limit(2), rows) == [(3, 1, 2)]
    assert rows_of(lambda e: e.order_by("src").limit(1), rows) == [(None, 9, 1)], "nulls first"
    assert rows_of(lambda e: e.order_by("-src").limit(4), rows) == [(1, 5, 1), (2, 5, 1), (3, 1, 2)], "nulls last"
    assert rows_of(lambda e: e.order_by(e.dst.desc(), e.src).limit(2), rows) == [(None, 9, 1), (1, 5, 1)]
    assert rows_of(lambda e: e.order_by(lambda r: -r.dst).limit(1), rows) == [(None, 9, 1)]


def test_the_first_rows_stay_right():
    flow, edges = program()
    flow.output("best", edges.order_by("-dst").limit(1))
    with flow.run() as live:
        live.insert("edges", [(1, 5), (2, 4)])
        assert live.commit()["best"].rows() == [(1, 5, 0, 1)]
        live.delete("edges", [(1, 5)])
        assert live.commit()["best"].rows() == [(1, 5, 1, -1), (2, 4, 1, 1)]


def test_text_is_ordered_by_text():
    flow = ebb.Dataflow()
    names = flow.input("names", "name string")
    flow.output("first", names.order_by("name").limit(2))
    flow.output("last", names.order_by("-name").limit(1))
    flow.output("ends", names.group_by().agg(low=ebb.min("name"), high=ebb.max("name")))
    out = flow.compute(names=[("b",), ("ä",), ("a",), ("Z",), ("aa",)])
    assert out["first"].rows() == [("Z", 1), ("a", 1)]
    assert out["last"].rows() == [("ä", 1)]
    assert out["ends"].rows() == [("Z", "ä", 1)]


def test_a_collection_has_no_order_otherwise_and_says_so():
    _flow, edges = program()
    for ask in (
        lambda: edges.limit(3),
        lambda: edges.head(3),
        lambda: edges.order_by("src").select("dst"),
        lambda: edges.order_by("src").filter(col("dst") > 1),
    ):
        with pytest.raises(ebb.EbbflowError, match="order"):
            ask()


# PySpark's spellings
def test_pysparks_spellings_work_too(capsys):
    flow, e = program()
    other = flow.input("other", "dst long, src long")
    third = flow.input("third", "x long")
    pairs = [
        (e.where(e.src > 1), e.filter(e.src > 1)),
        (e.groupBy("src").count(), e.group_by("src").count()),
        (e.withColumn("n", col("src") + 1), e.with_columns(n=col("src") + 1)),
        (e.withColumns({"n": col("src") + 1}), e.with_columns(n=col("src") + 1)),
        (e.withColumnRenamed("src", "a"), e.rename({"src": "a"})),
        (e.unionByName(other), e.union(other)),
        (e.unionAll(other), e.union(other)),
        (e.crossJoin(third), e.join(third, how="cross")),
        (e.orderBy("src").limit(1), e.order_by("src").limit(1)),
    ]
    for theirs, ours in pairs:
        assert theirs._node == ours._node
    e.printSchema()
    assert capsys.readouterr().out == "root\n |-- src: long\n |-- dst: long\n"


def test_a_table_answers_to_toPandas(monkeypatch):
    table = ebb.Table
    assert table.toPandas is not None and table.to_pandas is not None


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("merge", "join"),
        ("assign", "with_columns"),
        ("mutate", "with_columns"),
        ("collect", "snapshot"),
        ("cache", "shared"),
    ],
)
def test_other_tools_words_are_answered_with_ours(word, ours):
    _flow, edges = program()
    with pytest.raises(ebb.EbbflowError) as raised:
        getattr(edges, word)()
    assert type(raised.value).__name__ == "UnknownMethod" and ours in str(raised.value)


def test_a_misspelt_method_is_answered_with_near_ones():
    _flow, edges = program()
    with pytest.raises(ebb.EbbflowError, match="distinct"):
        edges.distnct()


def test_a_program_can_be_printed_and_explained():
    flow, edges = program()
    flow.output("out", edges.group_by("src").count())
    for text in (str(flow), str(flow.explain()), str(edges.explain())):
        assert "input edges (src long, dst long)" in text
    assert "output out" in str(flow) and "output out" in str(flow.explain())
    assert "<svg" in flow._repr_html_()


def test_inspect_shows_what_passes():
    flow, edges = program()
    seen = []
    flow.output("out", edges.inspect(seen.append).filter(edges.src > 1))
    with flow.run() as live:
        live.insert("edges", [(1, 2), (2, 3)], time=4)
        live.delete("edges", [(2, 3)], time=6)
        live.advance_to(9)
        assert live.snapshot("out").rows() == []
    assert all(isinstance(table, ebb.Table) for table in seen)
    assert sorted(row for table in seen for row in table) == [(1, 2, 4, 1), (2, 3, 4, 1), (2, 3, 6, -1)]
    assert seen[0].columns == ["src", "dst", "_time", "_diff"]


def test_inspect_in_a_loop_shows_what_passes_in_each_round():
    flow, edges = program()
    seen = []
    reach = edges.iterate(
        lambda r: (
            r.join(edges, on={"dst": "src"}, suffix="_2")
            .select("src", dst="dst_2")
            .union(edges)
            .distinct()
            .inspect(seen.append)
        )
    )
    flow.output("reach", reach)
    flow.compute(edges=[(1, 2), (2, 3), (3, 4)])
    total = {}
    for table in seen:
        for src, dst, time, diff in table:
            assert time == 0
            total[src, dst] = total.get((src, dst), 0) + diff
    assert total == {(1, 2): 1, (2, 3): 1, (3, 4): 1, (1, 3): 1, (2, 4): 1, (1, 4): 1}


def test_inspect_with_two_coordinates_shows_both():
    flow = ebb.Dataflow(time=("valid", "system"))
    seen = []
    flow.output("out", flow.input("x", "x string").inspect(seen.append))
    with flow.run() as live:
        live.insert("x", [("a",)], time=(3, 1))
        live.insert("x", [("b",)], time=(1, 3))
    assert sorted(row for table in seen for row in table) == [("a", (3, 1), 1), ("b", (1, 3), 1)]
    assert seen[0].to_arrow().schema.field("_time").type.names == ["valid", "system"]


def test_inspecting_a_result_of_several_workers_shows_every_change_once():
    flow, edges = program()
    seen = []
    flow.output("out", edges.inspect(seen.append))
    with flow.run(workers=2) as live:
        live.insert("edges", [(i, i) for i in range(10)], time=1)
        live.advance_to(2)
        assert len(live.snapshot("out")) == 10
    assert sorted(row for table in seen for row in table) == [(i, i, 1, 1) for i in range(10)]
