"""Expressions in every form build the same tree, and Python's words that need a value are refused with ours."""

import math
import sys
from decimal import Decimal

import numpy as np
import pytest

import ebbflow as ebb
from ebbflow import col, lit, when
from ebbflow.dataflow import nodes as n
from ebbflow.errors import EbbflowError, NotAnExpression, NoValueYet, TypeMismatch, UnknownColumn, UnknownMethod


def edges():
    return ebb.Dataflow().input("edges", "src long, dst long, dist double, name string, on boolean, day date")


def shown(collection):
    """The last node's expressions, as text."""
    node = collection._graph.nodes[collection._node]
    match node:
        case n.Linear(_, n.Map(columns)):
            return {name: str(expr) for name, expr in columns}
        case n.Linear(_, n.Filter(condition)):
            return str(condition)
    raise AssertionError(node)


def test_all_forms_mean_the_same():
    e = edges()
    forms = [
        col("dist") + 1,
        e.dist + 1,
        e["dist"] + 1,
        lambda r: r.dist + 1,
        lambda r: r["dist"] + 1,
        lambda r: 1 + r.dist - 0 + 0,
    ]
    nodes = {e.select(x=form)._node for form in forms[:5]}
    assert len(nodes) == 1
    assert e.select(x="dist")._node == e.select(x=e.dist)._node == e.select(x=lambda r: r.dist)._node


@pytest.mark.parametrize(
    "expression, wanted",
    [
        (lambda r: 1 - r.src, "sub(1, src)"),
        (lambda r: 2 / r.src, "div(2.0, cast(src, 'double'))"),
        (lambda r: r.src // 2, "floordiv(src, 2)"),
        (lambda r: 7 % r.src, "mod(7, src)"),
        (lambda r: 2**r.src, "pow(2.0, cast(src, 'double'))"),
        (lambda r: -r.src, "neg(src)"),
        (lambda r: +r.src, "src"),
        (lambda r: abs(r.src), "abs(src)"),
        (lambda r: round(r.dist, 1), "round(dist, 1)"),
        (lambda r: math.floor(r.dist), "floor(dist)"),
        (lambda r: r.src > 3, "gt(src, 3)"),
        (lambda r: (r.src > 1) & ~(r.dst <= 2) | r.on, "or(and(gt(src, 1), not(le(dst, 2))), on)"),
        (lambda r: r.on & True, "and(on, True)"),
        (lambda r: r.src == r.dst, "eq(src, dst)"),
        (lambda r: r.name != "x", "ne(name, 'x')"),
        (lambda r: r.src.between(1, r.dst), "and(ge(src, 1), le(src, dst))"),
        (lambda r: r.name.is_in(["a", "b"]), "is_in(name, 'a', 'b')"),
        (lambda r: r.src.is_in(1, 2), "is_in(src, 1, 2)"),
        (lambda r: r.src.is_in(np.array([1, 2])), "is_in(src, 1, 2)"),
        (lambda r: r.src.is_null(), "is_null(src)"),
        (lambda r: r.src.is_not_null(), "not(is_null(src))"),
        (lambda r: r.src.fill_null(0), "coalesce(src, 0)"),
        (lambda r: r.src.cast(float), "cast(src, 'double')"),
        (lambda r: r.name.fill_null("src"), "coalesce(name, 'src')"),
        (lambda r: r.src.eq_null_safe(None), "eq_null_safe(src, None)"),
        (lambda r: when(r.src > 1, "big").otherwise("small"), "when(gt(src, 1), 'big', 'small')"),
        (lambda r: when(r.on, r.src), "when(on, src, None)"),
        (lambda r: when(r.on, 1).when(r.src > 1, 2.5).otherwise(lit(0)), "when(on, 1.0, gt(src, 1), 2.5, 0.0)"),
        (lambda r: when("on", 1).otherwise(2), "when(on, 1, 2)"),
        (lambda r: r.name.str.lower().str.contains("a"), "contains(lower(name), 'a')"),
        (lambda r: r.name.str.substr(1, 2), "substr(name, 1, 2)"),
        (lambda r: r.name.str.replace("a", "b").str.trim(), "trim(replace(name, 'a', 'b'))"),
        (lambda r: r.name.str.length(), "length(name)"),
        (lambda r: r.day.dt.year(), "year(day)"),
        (lambda r: r.day.dt.add_days(3).dt.weekday(), "weekday(date_add(day, 3))"),
        (lambda r: r.day.dt.days_since("2024-01-01"), "date_diff(day, datetime.date(2024, 1, 1))"),
        (lambda r: r.day >= "2024-02-29", "ge(day, datetime.date(2024, 2, 29))"),
        (lambda r: r.src + Decimal("1.50"), "add(src, Decimal('1.50'))"),
        (lambda r: np.log(r.dist), "log(dist)"),
        (lambda r: np.sqrt(r.src) + 1, "add(sqrt(cast(src, 'double')), 1.0)"),
        (lambda r: np.maximum(r.src, 3), "greatest(src, 3)"),
        (lambda r: np.float64(2) * r.dist, "mul(2.0, dist)"),
        (lambda r: np.int64(2) + r.src, "add(2, src)"),
        (lambda r: np.where(r.on, r.src, 0), "when(on, src, 0)"),
        (lambda r: np.logical_and(r.on, r.src > 1), "and(on, gt(src, 1))"),
        (lambda r: np.mod(r.src, 3), "sub(src, mul(floordiv(src, 3), 3))"),
        (lambda r: np.power(r.dist, 2), "pow(dist, 2.0)"),
        (lambda r: r.on ^ (r.src > 1), "ne(and(on, True), and(gt(src, 1), True))"),
        (lambda r: lit("text"), "'text'"),
        (lambda r: lit(None).cast("long"), "None"),
    ],
)
def test_the_sugar_builds_the_expression(expression, wanted):
    assert shown(edges().select(x=expression)) == {"x": wanted}


def chained(r):
    return 1 < r.src < 3


def branching(r):
    if r.src > 1:
        return r.dst
    return r.src


@pytest.mark.parametrize(
    "expression, says",
    [
        (branching, "ebb.when(cond, a).otherwise(b)"),
        (chained, "x.between(1, 3)"),
        (lambda r: r.on and r.src, "& for and"),
        (lambda r: r.on or r.src, "| for or"),
        (lambda r: not r.on, "~ for not"),
        (lambda r: r.src in [1, 2], "x.is_in([...])"),
        (lambda r: "a" in r.name, ".str.contains"),
        (lambda r: f"{r.name}!", "ebb.concat"),
        (lambda r: f"{r.src:>3}", "ebb.concat"),
        (lambda r: format(r.name), "ebb.concat"),
        (lambda r: list(r.src), "map_rows"),
        (lambda r: sum(r.src), "map_rows"),
        (lambda r: len(r.name), ".str.length()"),
        (lambda r: int(r.dist), '.cast("long")'),
        (lambda r: float(r.src), '.cast("double")'),
        (lambda r: math.sqrt(r.src), "np.sqrt"),
        (lambda r: [1, 2][r.src], "map_rows"),
        (lambda r: range(r.src), "map_rows"),
        (lambda r: r.name[0:2], ".str.substr"),
        (lambda r: max(r.src, r.dst), "| for or"),
        (lambda r: bool(r.on), "& for and"),
        (lambda r: list(r), 'r["x"]'),
    ],
)
def test_what_needs_a_value_is_refused_with_the_way_to_say_it(expression, says):
    with pytest.raises(NoValueYet) as refusal:
        edges().select(x=expression)
    assert says in refusal.value.hint
    assert refusal.value.at.file == __file__


@pytest.mark.parametrize(
    "expression, says",
    [
        (lambda r: "name", "For text write ebb.lit('name'), for a column r[\"name\"]"),
        (lambda r: f"x{1}", "ebb.lit"),
        (lambda r: 3, "ebb.lit(3)"),
        (lambda r: None, "returns one expression"),
        (lambda r: [r.src], "returns one expression"),
        (lambda r: "%s!" % r.name, "ebb.concat"),  # noqa: UP031
        (lambda r: r.name.__repr__(), "ebb.concat"),
        (lambda r: str(r.name), "ebb.concat"),
        (lambda: 3, "lambda r: r.x + 1"),
    ],
)
def test_a_lambda_that_returns_no_expression_is_refused(expression, says):
    with pytest.raises(NotAnExpression) as refusal:
        edges().select(x=expression)
    assert says in str(refusal.value)


def test_a_lambda_is_called_once():
    calls = []
    edges().select(x=lambda r: calls.append(1) or r.src)
    assert calls == [1]


@pytest.mark.parametrize(
    "ufunc",
    [
        lambda r: np.arctan(r.dist),
        lambda r: np.add.reduce(r.dist),
        lambda r: np.add.outer(r.dist, r.dist),
        lambda r: np.sum(r.dist),
        lambda r: np.mean(r.dist),
    ],
)
def test_numpy_functions_that_cannot_take_part_are_refused(ufunc):
    with pytest.raises(NotAnExpression, match=r"numpy's .* (does not work on a column|needs the values)"):
        edges().select(x=ufunc)


def test_text_that_may_be_a_column_is_refused_and_not_guessed():
    with pytest.raises(NotAnExpression, match='"name" may be text here, and is also a column of edges'):
        edges().select(x=when(col("on"), "name").otherwise("other"))


def test_an_unknown_column_is_answered_with_near_names():
    with pytest.raises(UnknownColumn) as refusal:
        edges().select(x=lambda r: r.scr)
    assert str(refusal.value) == (
        'select looks for the column "scr" in edges, which has: src, dst, dist, name, on, day.\n'
        f"  at test_column.py, line {refusal.value.at.line}:  edges().select(x=lambda r: r.scr)\n"
        '  Did you mean "src"?'
    )


@pytest.mark.parametrize(
    "expression, says",
    [
        ("fillna", "fill_null(value)"),
        ("isna", "is_null()"),
        ("mean", "ebb.avg"),
        ("is_nul", '"is_null"'),
        ("between_", '"between"'),
    ],
)
def test_an_unknown_method_is_answered_with_ours(expression, says):
    with pytest.raises(UnknownMethod) as refusal:
        getattr(col("x"), expression)
    assert says in str(refusal.value)
    assert not hasattr(col("x"), expression)


def test_the_words_for_text_and_times_are_those_that_can_be_called():
    for words in (col("x").str, col("x").dt):
        with pytest.raises(UnknownMethod, match="There are: ") as refusal:
            words.qqq
        listed = refusal.value.hint.removeprefix("There are: ").rstrip(".").split(", ")
        assert len(listed) > 5 and all(callable(getattr(words, word)) for word in listed)


@pytest.mark.parametrize("word, says", [("strip", "trim()"), ("len", "length()"), ("lowr", '"lower"')])
def test_an_unknown_method_of_text_is_answered(word, says):
    with pytest.raises(UnknownMethod, match=says.replace("(", r"\(").replace(")", r"\)")):
        getattr(col("x").str, word)


def test_types_are_noticed_when_the_plan_is_made():
    with pytest.raises(TypeMismatch, match='add takes numbers; "src" is a long, "name" is a string'):
        edges().select(x=lambda r: r.src + r.name)
    with pytest.raises(TypeMismatch, match="is only ever null"):
        edges().select(x=lit(None))
    with pytest.raises(TypeMismatch, match="filter takes conditions"):
        edges().filter("src")


@pytest.mark.parametrize("value", [2**63, -(2**63), Decimal("1" * 39), Decimal("NaN")])
def test_a_constant_that_does_not_fit_is_refused(value):
    with pytest.raises(TypeMismatch):
        edges().select(x=lit(value))


@pytest.mark.parametrize("value", [object(), [object()], {"a": 1}, 1j])
def test_a_constant_of_no_known_type_is_refused(value):
    with pytest.raises(EbbflowError):
        edges().select(x=lit(value))


def test_collections_and_functions_are_no_operands():
    e = edges()
    with pytest.raises(NotAnExpression, match="stands where a column or a constant is wanted"):
        e.src + e
    with pytest.raises(NotAnExpression, match="semijoin"):
        e.src.is_in(e)


def test_a_column_shows_what_it_is():
    assert repr(col("x") + 1) == "Column<add(x, 1)>"
    assert repr((col("x") + 1).alias("y")) == "Column<add(x, 1)> as y"


def test_otherwise_needs_a_when():
    with pytest.raises(NotAnExpression, match=r"otherwise\(...\) ends a when"):
        col("x").otherwise(1)


@pytest.mark.parametrize("value", [[1j], object(), {"a": 1}, int, lambda r: r.x])
def test_a_constant_that_no_column_can_hold_is_refused_where_it_is_written(value):
    with pytest.raises(NotAnExpression):
        ebb.lit(value)


def test_an_expression_may_be_as_deep_as_python_follows():
    flow = ebb.Dataflow()
    xs = flow.input("xs", "x long")
    deep = sum([xs.x] * 1500, 0)
    with pytest.raises(NotAnExpression, match="nested deeper") as refusal:
        xs.select(deep=deep)
    assert "setrecursionlimit" in refusal.value.hint and "test_column.py" in refusal.value.at.file
    for _ in range(700):
        xs = xs.select(x=xs.x + 1)
    flow.output("out", xs)
    for ask in (flow.run, flow.explain):
        with pytest.raises(NotAnExpression, match="selects in a row count as one"):
            ask()
    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(20_000)
        assert flow.compute(xs=[(1,)])["out"].rows() == [(701, 1)]
    finally:
        sys.setrecursionlimit(before)
