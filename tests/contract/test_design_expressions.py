"""What DESIGN 9 says of expressions: five spellings of one thing, numpy, choices, and what Python cannot be asked."""

import datetime
from decimal import Decimal

import numpy as np
import pytest

import ebbflow as ebb
import ebbflow.functions as F
from ebbflow import col

ROWS = [(1, 2.0, "One"), (4, 0.0, "four"), (None, None, None)]


def value(make, rows=((4, 2.0, "Four"),), schema="dist long, x double, name string"):
    """What an expression gives for each row, in the order of the rows."""
    flow = ebb.Dataflow()
    edges = flow.input("edges", "_row long, " + schema)
    made = (
        make(edges)
        if callable(make) and getattr(make, "__code__", None) and make.__code__.co_varnames[:1] == ("edges",)
        else make
    )
    flow.output("out", edges.select("_row", out=made))
    found = flow.compute(edges=[(i, *row) for i, row in enumerate(rows)])["out"].rows()
    return [row[1] for row in found]


@pytest.mark.parametrize(
    "given",
    [
        col("dist") + 1,
        lambda edges: edges.dist + 1,
        lambda edges: edges["dist"] + 1,
        lambda r: r.dist + 1,
        lambda r: r["dist"] + 1,
        lambda r: 1 + r.dist,
    ],
)
def test_all_spellings_of_an_expression_mean_the_same(given):
    assert value(given, ROWS) == [2, 5, None]


def test_a_plain_name_is_the_column():
    assert value("dist", ROWS) == [1, 4, None]


def test_equal_expressions_are_one_node_of_the_plan():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "dist long")
    edges.select(d=col("dist") + 1)
    size = len(flow.graph.nodes)
    edges.select(d=lambda r: r.dist + 1)
    edges.select(d=edges.dist + 1)
    edges.select(d=edges["dist"] + 1)
    assert len(flow.graph.nodes) == size


def test_a_lambda_is_called_once():
    calls = []
    value(lambda r: calls.append(1) or r.dist + 1, [(i, 0.0, "") for i in range(1000)])
    assert len(calls) == 1


def test_values_may_be_given_wherever_one_is_wanted():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long, dist long")
    made = [
        edges.filter("dist > 1" and col("dist") > 1),
        edges.filter(edges.dist > 1),
        edges.filter(edges["dist"] > 1),
        edges.filter(lambda r: r.dist > 1),
    ]
    assert len({each._node for each in made}) == 1
    for key in ("src", col("src"), edges.src, lambda r: r.src):
        for total in ("dist", col("dist"), edges.dist, lambda r: r.dist):
            assert edges.group_by(key).agg(
                total=ebb.sum(total) if not callable(total) else ebb.sum("dist")
            ).columns == ["src", "total"]
        assert edges.group_by(key).top(1, order_by=key).columns == ["src", "dst", "dist"]
        assert edges.order_by(key).limit(1).columns == ["src", "dst", "dist"]
        assert edges.with_columns(more=key).columns == ["src", "dst", "dist", "more"]


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (lambda r: np.log(r.x), np.log(2.0)),
        (lambda r: np.exp(r.x), np.exp(2.0)),
        (lambda r: np.sqrt(r.dist), 2.0),
        (lambda r: np.abs(-r.dist), 4),
        (lambda r: np.add(r.dist, 1), 5),
        (lambda r: np.maximum(r.x, 3.0), 3.0),
        (lambda r: np.floor(r.x / 3), 0),
        (lambda r: np.where(r.dist > 3, 1, 0), 1),
        (lambda r: np.int64(3) + r.dist, 7),
        (lambda r: np.float64(0.5) * r.x, 1.0),
        (lambda r: np.log(r.x) + np.float32(0), np.log(2.0)),
        (lambda r: np.square(r.dist), 16),
        (lambda r: np.power(r.x, 3), 8.0),
        (lambda r: np.sin(r.x), np.sin(2.0)),
        (lambda r: np.isnan(r.x), False),
    ],
)
def test_numpys_functions_take_part(fn, expected):
    assert value(fn) == [expected]


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (lambda r: (r.dist > 3) & (r.x > 1), True),
        (lambda r: (r.dist > 9) | (r.x > 1), True),
        (lambda r: ~(r.dist > 3), False),
        (lambda r: ebb.when(r.dist > 3, "far").otherwise("near"), "far"),
        (lambda r: ebb.when(r.dist > 5, 1).when(r.dist > 3, 2).otherwise(3), 2),
        (lambda r: ebb.when(r.dist > 5, 1), None),
        (lambda r: ebb.lit("text"), "text"),
        (lambda r: ebb.lit(3), 3),
        (lambda r: r.dist.cast("double"), 4.0),
        (lambda r: r.dist.cast(float), 4.0),
        (lambda r: r.dist.cast("string"), "4"),
        (lambda r: r.x.cast("long"), 2),
        (lambda r: r.x.is_null(), False),
        (lambda r: r.x.is_not_null(), True),
        (lambda r: r.dist.fill_null(0), 4),
        (lambda r: r.name.fill_null("none"), "Four"),
        (lambda r: r.dist.is_in([1, 4]), True),
        (lambda r: r.dist.is_in(1, 2), False),
        (lambda r: r.name.is_in(["Four", "Five"]), True),
        (lambda r: r.dist.between(4, 9), True),
        (lambda r: r.dist.between(5, 9), False),
        (lambda r: r.dist.alias("n"), 4),
        (lambda r: r.name.str.lower(), "four"),
        (lambda r: r.name.str.upper(), "FOUR"),
        (lambda r: r.name.str.length(), 4),
        (lambda r: r.name.str.substr(2, 2), "ou"),
        (lambda r: r.name.str.contains("ou"), True),
        (lambda r: r.name.str.starts_with("Fo"), True),
        (lambda r: r.name.str.ends_with("ur"), True),
        (lambda r: r.name.str.replace("Fo", "H"), "Hur"),
        (lambda r: ebb.concat(r.name, ebb.lit("!")), "Four!"),
        (lambda r: r.dist // 3, 1),
        (lambda r: r.dist % 3, 1),
        (lambda r: r.dist / 8, 0.5),
        (lambda r: -r.dist, -4),
        (lambda r: r.dist**2, 16.0),
        (lambda r: abs(-r.dist), 4),
        (lambda r: round(r.x / 3, 2), 0.67),
        (lambda r: r.name == "Four", True),
        (lambda r: r.name != "Four", False),
        (lambda r: r.name > "Five", True),
    ],
)
def test_what_expressions_say(fn, expected):
    (found,) = value(fn)
    assert found == expected and type(found) is type(expected)


def test_dates_and_times():
    day, moment = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 13, 5, 7)
    flow = ebb.Dataflow()
    days = flow.input("days", "day date, at timestamp")
    out = days.select(
        y=days.day.dt.year(), m=days.day.dt.month(), d=days.day.dt.day(), h=days["at"].dt.hour(),
        mi=days["at"].dt.minute(), s=days["at"].dt.second(), w=days.day.dt.weekday(),
        leap=days.day == datetime.date(2024, 2, 29), text=days.day >= "2024-02-29",
        next=days.day.dt.add_days(1), since=days.day.dt.days_since(datetime.date(2024, 1, 1)),
    )  # fmt: skip
    flow.output("out", out)
    expected = (2024, 2, 29, 13, 5, 7, 3, True, True, datetime.date(2024, 3, 1), 59, 1)
    assert flow.compute(days=[(day, moment)])["out"].rows() == [expected]


def test_decimals_are_exact():
    flow = ebb.Dataflow()
    rows = flow.input("rows", "price decimal(10,2), n long")
    flow.output("out", rows.select(total=rows.price * rows.n, more=rows.price + Decimal("0.10")))
    assert flow.compute(rows=[(Decimal("0.10"), 3)])["out"].rows() == [(Decimal("0.30"), Decimal("0.20"), 1)]


def test_aliases_name_a_column():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    assert edges.select((edges.src + 1).alias("n"), "dst").columns == ["n", "dst"]


def test_functions_as_in_pyspark():
    (found,) = value(lambda r: F.when(F.col("dist") > 1, F.lit("a")).otherwise(F.lit("b")))
    assert found == "a"
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    flow.output(
        "out",
        edges.groupBy("src").agg(
            F.sum("dst").alias("total"), F.count("*").alias("n"), F.max(F.col("dst")).alias("most")
        ),
    )
    assert flow.compute(edges=[(1, 2), (1, 3)])["out"].rows() == [(1, 5, 2, 3, 1)]


def test_the_common_functions_are_in_ebb():
    for name in ("count", "sum", "avg", "min", "max", "any_value", "count_distinct", "when", "lit", "col", "coalesce"):
        assert getattr(ebb, name) is getattr(F, name)


def asks(fn):
    with pytest.raises(ebb.EbbflowError) as raised:
        value(fn)
    text = str(raised.value)
    assert len(text.splitlines()) >= 3 and "test_design_expressions.py, line" in text
    return type(raised.value).__name__, text


def test_python_s_own_words_are_refused_with_the_way_to_say_it():
    def with_if(r):
        if r.dist > 1:
            return r.dist
        return r.x

    def with_loop(r):
        return list(r.dist)

    for fn, says in [
        (with_if, "ebb.when(cond, a).otherwise(b)"),
        (lambda r: r.dist > 1 and r.x > 1, "&"),
        (lambda r: r.dist > 1 or r.x > 1, "|"),
        (lambda r: not r.dist, "~"),
        (lambda r: 1 < r.dist < 3, "between"),
        (lambda r: f"{r.dist}", 'cast("string")'),
        (with_loop, "map_rows"),
        (lambda r: r.dist in [1, 2], "is_in"),
        (lambda r: len(r.name), ".str.length()"),
        (lambda r: int(r.x), 'cast("long")'),
        (lambda r: float(r.x), 'cast("double")'),
        (lambda r: r.dist if r.x > 1 else 0, "ebb.when"),
    ]:
        topic, text = asks(fn)
        assert topic == "NoValueYet" and says in text, text


def test_an_element_of_a_text_is_refused_with_the_way_to_say_it():
    topic, text = asks(lambda r: r.name[0])
    assert topic == "TypeMismatch" and ".str.substr" in text


def test_a_row_is_not_looped_over():
    topic, text = asks(lambda r: sum(each for each in r))
    assert topic == "NoValueYet" and "r.x" in text


def test_a_lambda_that_returns_no_expression_is_refused():
    topic, text = asks(lambda r: 3)
    assert topic == "NotAnExpression" and "ebb.lit(3)" in text
    topic, text = asks(lambda r: "dist")
    assert 'ebb.lit("dist")' in text.replace("'", '"')


def test_types_that_do_not_fit_are_refused():
    topic, text = asks(lambda r: r.name + 1)
    assert topic == "TypeMismatch" and "string" in text
    topic, text = asks(lambda r: r.name == 1)
    assert topic == "TypeMismatch"
    topic, text = asks(lambda r: r.dist & r.x)
    assert topic == "TypeMismatch"
    topic, text = asks(lambda r: ebb.when(r.dist, 1).otherwise(2))
    assert topic == "TypeMismatch"


def test_an_unknown_column_is_answered_with_near_names():
    for make in (lambda r: r.dits, lambda edges: edges.dits, col("dits"), "dits", lambda edges: edges["dits"]):
        topic, text = asks(make)
        assert topic == "UnknownColumn" and 'Did you mean "dist"?' in text


def test_your_own_code_over_arrays_rows_and_many_rows():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, w double")
    flow.output("arrays", edges.map_batches(lambda b: {"a": b["src"] * 2, "b": b["w"] + 0.5}, "a long, b double"))
    flow.output("rows", edges.map_rows(lambda r: (r.src, str(r.w)), "a long, b string"))
    flow.output("many", edges.flat_map(lambda r: [(i,) for i in range(r.src)], "i long"))
    out = flow.compute(edges=[(1, 1.0), (2, 2.0)])
    assert out["arrays"].rows() == [(2, 1.5, 1), (4, 2.5, 1)]
    assert out["rows"].rows() == [(1, "1.0", 1), (2, "2.0", 1)]
    assert out["many"].rows() == [(0, 2), (1, 1)]


def test_map_rows_takes_dicts_and_single_values_too():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long")
    flow.output("dicts", edges.map_rows(lambda r: {"b": "x", "a": r.src}, {"a": int, "b": str}))
    flow.output("many", edges.flat_map(lambda r: ({"i": i} for i in range(r.src)), "i long"))
    out = flow.compute(edges=[(2,)])
    assert out["dicts"].rows() == [(2, "x", 1)]
    assert out["many"].rows() == [(0, 1), (1, 1)]


def test_map_batches_sees_nulls_text_and_may_return_lists_and_arrow():
    import pyarrow as pa

    seen = []

    def fn(batch):
        seen.append({name: list(column) for name, column in batch.items()})
        return {"n": [None if x is None else len(x) for x in batch["name"]], "again": pa.array(batch["name"])}

    flow = ebb.Dataflow()
    people = flow.input("people", "name string")
    flow.output("out", people.map_batches(fn, "n long, again string"))
    out = flow.compute(people=[("Ann",), (None,)])["out"]
    assert set(map(tuple, out.rows())) == {(None, None, 1), (3, "Ann", 1)}
    assert sorted(seen[0]["name"], key=str) == ["Ann", None]


def test_comparisons_with_null_are_null_and_conditions_keep_only_what_is_true():
    assert value(lambda r: r.dist > 1, ROWS) == [False, True, None]
    assert value(lambda r: (r.dist > 1) | True, ROWS) == [True, True, True]
    assert value(lambda r: (r.dist > 1) & False, ROWS) == [False, False, False]
    flow = ebb.Dataflow()
    rows = flow.input("rows", "x long")
    flow.output("yes", rows.filter(rows.x > 1))
    flow.output("no", rows.filter(~(rows.x > 1)))
    out = flow.compute(rows=[(1,), (2,), (None,)])
    assert out["yes"].rows() == [(2, 1)] and out["no"].rows() == [(1, 1)]
