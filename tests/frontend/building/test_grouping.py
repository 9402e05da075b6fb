"""What can be said of groups, the plan it makes, and what is refused."""

import pytest

import ebbflow as ebb
import ebbflow.functions as F
from ebbflow import col
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.rules.check import check
from ebbflow.errors import DuplicateName, EbbflowError, NotAnExpression, TypeMismatch, UnknownColumn, UnknownMethod


@pytest.fixture
def sales():
    return ebb.Dataflow().input("sales", "shop string, day date, price double, n int, ok boolean, tax decimal(8,2)")


def reduce_of(collection):
    return next(node for node in reversed(collection._graph.nodes) if isinstance(node, n.Reduce))


def test_aggregates_have_their_types(sales):
    found = sales.group_by("shop").agg(
        rows=ebb.count(),
        some=ebb.count("price"),
        total=ebb.sum("n"),
        sums=ebb.sum("price"),
        taxes=ebb.sum("tax"),
        mean=ebb.avg("n"),
        least=ebb.min("shop" if False else "day"),
        most=ebb.max("n"),
        one=ebb.any_value("ok"),
        kinds=ebb.count_distinct("day"),
    )
    assert str(found.schema) == (
        "shop string, rows long, some long, total long, sums double, taxes decimal(18,2), mean double, least date,"
        " most int, one boolean, kinds long"
    )
    assert [a.op for a in reduce_of(found).reducer.aggregates] == [
        "count_rows",
        "count",
        "sum",
        "sum",
        "sum",
        "avg",
        "min",
        "max",
        "any_value",
        "count_distinct",
    ]
    check(found._graph)


def test_only_what_is_read_goes_into_the_reduction(sales):
    found = sales.group_by("shop").agg(total=ebb.sum("price"))
    reduce = reduce_of(found)
    assert sales._graph.schemas[reduce.source].names == ("shop", "price")
    assert reduce.key == ("shop",)


def test_keys_may_be_computed_and_named(sales):
    for found in (
        sales.group_by(year=col("day").dt.year()).count(),
        sales.group_by(col("day").dt.year().alias("year")).count(),
        sales.group_by(year=lambda r: r.day.dt.year()).count(),
    ):
        assert str(found.schema) == "year int, count long"
    assert sales.group_by("shop", sales.day).count().columns == ["shop", "day", "count"]
    assert sales.group_by(["shop", "day"]).count().columns == ["shop", "day", "count"]
    assert sales.group_by().count().columns == ["count"]


def test_aggregates_of_expressions_and_expressions_of_aggregates(sales):
    found = sales.group_by("shop").agg(
        gross=ebb.sum(col("price") * col("n")),
        mean=ebb.sum("price") / ebb.count(),
        named=lambda r: ebb.max(r.n) - ebb.min(r.n),
    )
    assert str(found.schema) == "shop string, gross double, mean double, named long"
    assert len(reduce_of(found).reducer.aggregates) == 5
    check(found._graph)


def test_an_aggregate_of_a_key_reads_a_copy(sales):
    found = sales.group_by("n").agg(total=ebb.sum("n"))
    assert reduce_of(found).reducer.aggregates[0].column != "n"
    assert found.columns == ["n", "total"]
    check(found._graph)


def test_the_short_forms(sales):
    by = sales.group_by("shop")
    assert by.count().columns == ["shop", "count"]
    assert by.sum("n", "price").columns == ["shop", "n", "price"]
    assert by.sum("n")._node == by.agg(n=ebb.sum("n"))._node
    assert by.max(best="price").columns == ["shop", "best"]
    assert by.mean("n")._node == by.avg("n")._node
    assert str(by.count_distinct("day").schema) == "shop string, day long"
    assert by.agg(F.sum("n").alias("total"))._node == by.agg(total=F.sum("n"))._node
    assert sales.agg(n=ebb.count())._node == sales.group_by().agg(n=ebb.count())._node


def test_top_keeps_the_columns_in_their_order(sales):
    found = sales.group_by("day").top(2, order_by=["-price", "n"])
    assert found.columns == sales.columns
    assert reduce_of(found).reducer == n.Top(2, (("price", True), ("n", False)))
    assert reduce_of(found).schema.names == ("day", "shop", "price", "n", "ok", "tax")
    computed = sales.group_by(year=F.year("day")).top(1, order_by=F.desc("price"))
    assert computed.columns == ["year", *sales.columns]
    check(found._graph)


def test_top_by_an_expression_leaves_no_trace(sales):
    found = sales.group_by("shop").top(1, order_by=lambda r: r.price * r.n)
    assert found.columns == sales.columns
    assert reduce_of(found).reducer == n.Top(1, (("_by0", False),))


def test_reduce_puts_keys_in_front(sales):
    fn = lambda rows: [(len(rows), 1.0)]
    found = sales.select("shop", "n").group_by("shop").reduce(fn, "size long, x double")
    assert str(found.schema) == "shop string, size long, x double"
    assert reduce_of(found).reducer.how == "rows" and reduce_of(found).reducer.function.fn is fn
    assert reduce_of(sales.group_by("shop").reduce_batches(fn, "size long")).reducer.how == "batches"
    check(found._graph)


@pytest.mark.parametrize(
    "ask, error, says",
    [
        (lambda g: g.agg(), NotAnExpression, "nothing to compute"),
        (lambda g: g.top(1), NotAnExpression, "top needs an order"),
        (lambda g: g.top(1, order_by=[]), NotAnExpression, "top needs an order"),
        (lambda g: g.agg(total="price"), NotAnExpression, 'total=ebb.sum("price")'),
        (lambda g: g.agg({"price": "sum"}), NotAnExpression, "and no dict: {'price': 'sum'}"),
        (lambda g: g.agg(total=col("price") + 1), NotAnExpression, "one for each row"),
        (lambda g: g.agg(ebb.sum("price")), NotAnExpression, "has no name"),
        (lambda g: g.agg(total=ebb.sum("prise")), UnknownColumn, 'sum looks for the column "prise" in sales'),
        (lambda g: g.agg(total=ebb.sum("shop")), TypeMismatch, "sum adds up numbers"),
        (lambda g: g.agg(total=ebb.avg("ok")), TypeMismatch, '.cast("long")'),
        (lambda g: g.agg(shop=ebb.count()), DuplicateName, "is a key of the groups"),
        (lambda g: g.agg(total=ebb.sum("price") + col("n")), UnknownColumn, "the groups of sales, which has: shop."),
        (lambda g: g.sum(), NotAnExpression, "of which columns"),
        (lambda g: g.top(2), NotAnExpression, "needs an order"),
        (lambda g: g.top(0, order_by="n"), TypeMismatch, "first n rows"),
        (lambda g: g.top(1, order_by="-prise"), UnknownColumn, "prise"),
        (lambda g: g.reduce(3, "a long"), TypeMismatch, "takes a function"),
        (lambda g: g.reduce(len, "shop long"), DuplicateName, "shop"),
        (lambda g: g.agg(x=F.count_distinct("n", "day")), EbbflowError, "takes one column"),
        (lambda g: g.summ("n"), UnknownMethod, '"sum"'),
        (lambda g: g.pivot("n"), NotAnExpression, "the values that become columns"),
        (lambda g: g.agg(x=ebb.sum(ebb.sum("n"))), NotAnExpression, "one value for a group"),
        (lambda g: g.agg(_count=ebb.count()), EbbflowError, "_count"),
    ],
)
def test_mistakes_are_answered(sales, ask, error, says):
    with pytest.raises(error) as refusal:
        ask(sales.group_by("shop"))
    assert says in str(refusal.value)


def test_a_key_needs_a_name(sales):
    with pytest.raises(NotAnExpression, match="does not know what to call"):
        sales.group_by(col("n") + 1)
    with pytest.raises(DuplicateName):
        sales.group_by("shop", "shop")


def test_a_grouped_collection_shows_itself(sales):
    assert repr(sales.group_by("shop")) == "Grouped(sales by shop)"


def test_a_lambda_stands_wherever_a_value_is_wanted():
    flow = ebb.Dataflow()
    sales = flow.input("sales", "shop string, n long, name string")
    flow.output(
        "out", sales.group_by("shop").agg(t=ebb.sum(lambda r: r.n * 2), d=ebb.max(lambda r: r.n) - ebb.min("n"))
    )
    flow.output("shown", sales.select(y=ebb.when(lambda r: r.n > 1, lambda r: r.n).otherwise(lambda r: -r.n)))
    flow.output("named", sales.select(y=F.coalesce(lambda r: r.name, F.lit("none"))))
    found = flow.compute(sales=[("a", 1, "x"), ("a", 5, None)])
    assert found["out"].rows() == [("a", 12, 4, 1)]
    assert found["shown"].rows() == [(-1, 1), (5, 1)]
    assert found["named"].rows() == [("none", 1), ("x", 1)]
    assert (
        sales.group_by("shop").agg(t=ebb.sum(lambda r: r.n)).schema == sales.group_by("shop").agg(t=ebb.sum("n")).schema
    )


def test_a_lambda_in_an_aggregate_is_refused_with_the_near_names(sales):
    with pytest.raises(UnknownColumn, match=r'sum looks for the column "pric" in sales.*\n.*\n.*"price"'):
        sales.group_by("shop").agg(t=ebb.sum(lambda r: r.pric))


@pytest.mark.parametrize(
    "given, says",
    [
        ({"n": "sum"}, 'total=ebb.sum("x")'),
        (col("n"), 'total=ebb.sum("n")'),
        (ebb.sum("n"), 'agg(total=ebb.sum("n"))'),
        (ebb.count(), "agg(total=ebb.count())"),
        (ebb.sum("n") / ebb.count(), "agg(total=...)"),
    ],
)
def test_an_aggregate_without_a_name_is_refused_with_what_to_write(sales, given, says):
    with pytest.raises(NotAnExpression) as refusal:
        sales.group_by("shop").agg(given)
    assert says in refusal.value.hint


def test_groups_are_no_result_and_say_what_is(sales):
    flow = ebb.Dataflow()
    xs = flow.input("xs", "x long")
    with pytest.raises(EbbflowError, match=r"got Grouped\.(.|\n)*agg"):
        flow.output("out", xs.group_by("x"))
    with pytest.raises(EbbflowError, match=r"got Ordered\.(.|\n)*limit"):
        flow.output("out", xs.order_by("x"))


def test_columns_may_have_the_names_that_computed_ones_would_get():
    flow = ebb.Dataflow()
    t = flow.input("t", "a long, _of0 long, _by0 long, _0 long")
    flow.output("sums", t.group_by("a").agg(s=ebb.sum(ebb.col("a") + 1), m=ebb.max("_of0")))
    flow.output("means", t.group_by("_0").agg(mean=ebb.sum("a") / ebb.count()))
    flow.output("first", t.order_by(ebb.col("a") % 2, "_by0").limit(1))
    found = flow.compute(t=[(1, 5, 6, 7), (2, 8, 9, 7)])
    assert found["sums"].rows() == [(1, 2, 5, 1), (2, 3, 8, 1)]
    assert found["means"].rows() == [(7, 1.5, 1)] and found["first"].rows() == [(2, 8, 9, 7, 1)]
