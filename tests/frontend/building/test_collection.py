"""Each method of a collection adds the nodes it should, and refuses in sentences."""

import pytest

import ebbflow as ebb
from ebbflow import col
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.rules.check import check
from ebbflow.errors import (
    DuplicateName,
    EbbflowError,
    NoOrder,
    NotAnExpression,
    NoValueYet,
    PlanError,
    ReservedName,
    TypeMismatch,
    UnknownColumn,
    UnknownMethod,
)


@pytest.fixture
def flow():
    return ebb.Dataflow()


@pytest.fixture
def edges(flow):
    return flow.input("edges", "src long, dst long")


def nodes_of(collection):
    return [type(getattr(node, "action", node)).__name__ for node in collection._graph.nodes]


def test_select_keeps_names_and_computes_keywords(edges):
    found = edges.select("dst", "src", sum=edges.src + edges.dst, copy="src")
    assert str(found.schema) == "dst long, src long, sum long, copy long"
    assert found.columns == ["dst", "src", "sum", "copy"]


def test_select_takes_lists_stars_and_aliases(edges):
    assert edges.select(["dst", "src"]).columns == ["dst", "src"]
    assert edges.select("*", twice=edges.src * 2).columns == ["src", "dst", "twice"]
    assert edges.select((edges.src + 1).alias("next"), lambda r: r.dst).columns == ["next", "dst"]
    assert edges.select(edges.src.cast("string")).columns == ["src"]


def test_a_select_that_changes_nothing_adds_nothing(edges):
    assert edges.select("src", "dst")._node == edges._node
    assert edges.with_columns(src="src")._node == edges._node


@pytest.mark.parametrize(
    "select, error, says",
    [
        (lambda e: e.select("scr"), UnknownColumn, 'Did you mean "src"?'),
        (lambda e: e.select(e.src + 1), NotAnExpression, "does not know what to call add(src, 1)"),
        (lambda e: e.select(), NotAnExpression, "Name some of: src, dst"),
        (lambda e: e.select("src", "src"), DuplicateName, 'two columns named "src"'),
        (lambda e: e.select(_time="src"), ReservedName, "_time"),
        (lambda e: e.select(x=ebb.sum("src")), NotAnExpression, "group_by(...).agg(total=sum(...))"),
        (lambda e: e.drop("scr"), UnknownColumn, '"src"'),
        (lambda e: e.drop("src", "dst"), NotAnExpression, "leaves no column"),
        (lambda e: e.rename({"scr": "a"}), UnknownColumn, "rename looks for"),
        (lambda e: e.rename({"src": "dst"}), DuplicateName, "dst"),
        (lambda e: e.rename("src", "dst") if False else e.rename(["src"]), NotAnExpression, "dictionary"),
        (lambda e: e.filter("src > 3"), NotAnExpression, "does not read SQL"),
        (lambda e: e.filter(e.src), TypeMismatch, "filter takes conditions"),
        (lambda e: e["scr"], UnknownColumn, '"src"'),
        (lambda e: e.scr, UnknownColumn, 'Did you mean "src"?'),
        (lambda e: e.selct("src"), UnknownMethod, '"select"'),
        (lambda e: e.union(3), PlanError, "takes a collection"),
    ],
)
def test_mistakes_are_answered(edges, select, error, says):
    with pytest.raises(error) as refusal:
        select(edges)
    assert says in str(refusal.value)
    assert refusal.value.at.file == __file__


def test_with_columns_replaces_in_place_and_appends(edges):
    found = edges.with_columns(src=edges.dst, new=1, **{"two words": edges.src})
    assert found.columns == ["src", "dst", "new", "two words"]
    assert edges.with_columns({"a": edges.src}, (edges.dst + 1).alias("b")).columns == ["src", "dst", "a", "b"]


def test_with_columns_reads_the_old_columns(flow, edges):
    found = edges.with_columns(src="dst", dst="src")
    assert [str(expr) for _, expr in flow.graph.nodes[found._node].action.columns] == ["dst", "src"]


def test_rename_may_swap(edges):
    assert edges.rename({"src": "dst", "dst": "src"}).columns == ["dst", "src"]
    assert edges.rename(src="a").columns == ["a", "dst"]


def test_columns_named_like_methods_are_reached_by_brackets(flow):
    c = flow.input("c", "filter long, count long")
    assert callable(c.filter)
    assert repr(c["filter"]) == "Column<filter>"
    assert repr(c.count) == "Column<count>"
    assert c[["count"]].columns == ["count"]
    assert "count" in dir(c)


def test_hasattr_works_and_probes_are_plain(edges):
    assert not hasattr(edges, "nothing_like_it")
    assert not hasattr(edges, "_repr_png_")
    assert not hasattr(edges, "__array__")


def test_filters_follow_each_other(edges):
    found = edges.filter(edges.src > 1, "src" if False else lambda r: r.dst.is_in([1]))
    assert nodes_of(found) == ["Input", "Filter", "Filter"]


def test_equal_collections_are_one_node(edges):
    assert edges.filter(edges.src > 1)._node == edges.filter(lambda r: r.src > 1)._node
    assert edges.distinct()._node == edges.distinct().distinct()._node


def test_union_goes_by_name_and_widens_types(flow, edges):
    other = flow.input("other", "dst int, src short")
    both = edges.union(other)
    assert str(both.schema) == "src long, dst long"
    assert (edges + other)._node == both._node == edges.concat(other)._node == edges.union([other])._node
    check(flow.graph)


def test_union_of_other_names_says_the_fix(flow, edges):
    with pytest.raises(PlanError) as refusal:
        edges.union(flow.input("other", "from long, dst long"))
    assert refusal.value.what == "union puts columns together by name: edges has src, dst; other has from, dst."
    assert refusal.value.hint == 'Name them alike: .rename({"from": "src"}).'
    with pytest.raises(PlanError, match=r'\.drop\("more"\)'):
        edges.union(flow.input("wide", "src long, dst long, more long"))
    with pytest.raises(PlanError, match=r"with_columns\(dst=ebb.lit"):
        edges.union(flow.input("narrow", "src long"))


def test_union_of_other_types_is_refused(flow, edges):
    with pytest.raises(TypeMismatch, match='"src" with different types: long, string'):
        edges.union(flow.input("other", "src string, dst long"))


def test_difference_subtracts(flow, edges):
    found = edges - edges.filter(edges.src > 1)
    assert nodes_of(found) == ["Input", "Filter", "Negate", "Concat"]
    assert flow.graph.nodes[edges.negate()._node] == flow.graph.nodes[(-edges)._node]


def test_threshold_and_distinct_are_reductions_of_whole_rows(flow, edges):
    fn = lambda count: count // 2
    found = flow.graph.nodes[edges.threshold(fn)._node]
    assert found.key == ("src", "dst") and found.reducer.function.fn is fn
    assert flow.graph.nodes[edges.distinct()._node].reducer == n.Threshold(None)
    with pytest.raises(TypeMismatch, match="threshold takes a function"):
        edges.threshold(3)


def test_consolidate_is_always_done(edges):
    assert edges.consolidate()._node == edges._node


def test_order_by_can_only_be_limited(flow, edges):
    found = edges.order_by("-src", edges.dst).limit(3)
    assert flow.graph.nodes[found._node].reducer == n.Top(3, (("src", True), ("dst", False)))
    assert found.columns == ["src", "dst"]
    for use in (lambda o: o.filter(col("x") > 1), lambda o: o.select("src"), list):
        with pytest.raises(NoOrder, match="a collection has no order"):
            use(edges.order_by("src"))
    with pytest.raises(NoOrder, match="nothing to order by"):
        edges.order_by()
    with pytest.raises(UnknownMethod, match="order_by"):
        edges.limit(3)


def test_order_by_takes_expressions(flow, edges):
    found = edges.order_by((edges.src - edges.dst).desc()).limit(1)
    assert found.columns == ["src", "dst"]
    top = flow.graph.nodes[flow.graph.nodes[found._node].source]
    assert top.reducer == n.Top(1, (("_by0", True),))
    same = edges.order_by(lambda r: -r.src).limit(1)
    assert same._node == edges.order_by(edges.src.desc()).limit(1)._node == edges.order_by("-src").limit(1)._node


@pytest.mark.parametrize("number", [0, -1, 1.5, True, None, 2**63])
def test_the_first_rows_are_a_number(edges, number):
    with pytest.raises(TypeMismatch, match="first n rows"):
        edges.order_by("src").limit(number)


def test_delay_is_an_expression_over_the_time(flow, edges):
    assert [str(t) for t in flow.graph.nodes[edges.delay(lambda t: t + 10)._node].action.times] == ["add(time, 10)"]
    assert edges.delay(lambda t: t.time + 10)._node == edges.delay(lambda t: t + 10)._node
    two = ebb.Dataflow(time=("valid", "system"))
    c = two.input("c", "x long")
    found = c.delay(lambda valid, system: (valid + 1, system))
    assert [str(t) for t in two.graph.nodes[found._node].action.times] == ["add(valid, 1)", "system"]
    assert c.delay(lambda t: (t.valid + 1, t.system))._node == found._node
    check(two.graph)


@pytest.mark.parametrize(
    "fn, says",
    [
        (lambda t: t / 2, "whole number"),
        (lambda t: 3, "not an expression"),
        (5, "a function of the time"),
        (lambda t: t.tiem, "tiem"),
    ],
)
def test_delay_refuses_what_is_no_time(edges, fn, says):
    with pytest.raises(EbbflowError) as refusal:
        edges.delay(fn)
    assert says in str(refusal.value)


def test_delay_inside_a_loop_is_refused(edges):
    with pytest.raises(PlanError, match="inside a loop"):
        edges.iterate(lambda e: e.delay(lambda t: t + 1))


def test_own_functions_say_their_schema(flow, edges):
    for method, how in [("map_batches", "batches"), ("map_rows", "rows"), ("flat_map", "flat")]:
        found = getattr(edges, method)(len, "a long, b double")
        assert str(found.schema) == "a long, b double"
        assert flow.graph.nodes[found._node].action.how == how
        with pytest.raises(TypeMismatch, match=f"{method} takes a function"):
            getattr(edges, method)(3, "a long")


def test_inspect_passes_everything_on(flow, edges):
    found = edges.inspect(print)
    assert found.schema == edges.schema and flow.graph.nodes[found._node].action.function.name == "print"


def test_two_functions_are_never_one_node(edges):
    assert edges.map_rows(lambda r: r, "a long")._node != edges.map_rows(lambda r: r, "a long")._node


@pytest.mark.parametrize("use", [iter, len, bool, list])
def test_a_collection_has_no_rows_yet(edges, use):
    with pytest.raises(NoValueYet):
        use(edges)


def test_a_collection_shows_its_name_and_columns(edges):
    assert repr(edges) == "Collection edges (src long, dst long)"
    assert repr(edges.distinct()) == "Collection the result of distinct (src long, dst long)"


def test_print_schema_prints_a_line_for_each_column(edges, capsys):
    edges.printSchema()
    assert capsys.readouterr().out == "root\n |-- src: long\n |-- dst: long\n"


def test_collections_of_two_dataflows_do_not_mix(edges):
    other = ebb.Dataflow().input("other", "src long, dst long")
    for use in (edges.union, lambda o: edges.join(o, on="src"), lambda o: edges - o):
        with pytest.raises(PlanError, match="mixes two dataflows"):
            use(other)


def test_explain_shows_what_leads_here_and_nothing_else(flow, edges):
    flow.input("unused", "x long")
    text = edges.filter(edges.src > 1).explain()
    assert "filter" in text and "unused" not in text
    assert repr(text) == str(text)


def test_every_node_remembers_the_users_line(flow, edges):
    found = edges.distinct()
    assert flow.graph.places[found._node].text == "found = edges.distinct()"


@pytest.mark.parametrize(
    "named",
    [
        lambda c: c.rename({"src": 5}),
        lambda c: c.select(ebb.col("src").alias(5)),
        lambda c: c.withColumnRenamed("src", None),
        lambda c: c.withColumn(5, ebb.col("src")),
        lambda c: c.with_columns({5: ebb.col("src")}),
    ],
)
def test_a_columns_name_is_text(named):
    with pytest.raises(EbbflowError, match=r"(5|None) cannot be a column name; names are text"):
        named(ebb.Dataflow().input("edges", "src long, dst long"))
