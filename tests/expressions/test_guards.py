"""A program with `ansi=True` refuses the step where Spark's ANSI mode raises an error; any other has null there."""

import pytest

import ebbflow as ebb
from ebbflow import col
from ebbflow.errors import NumberOverflow

DIVISIONS = ["x / y", "x % y", "x // y"]


def program(ansi, **columns):
    flow = ebb.Dataflow(ansi=ansi)
    rows = flow.input("rows", "x long, y long, s string, d decimal(9,2)")
    flow.output("out", rows.select(**columns))
    return flow


def quotient(text):
    return eval(text, {"x": col("x"), "y": col("y")})


@pytest.mark.parametrize("text", DIVISIONS)
def test_a_division_by_zero_refuses_the_step_and_the_session_goes_on(text):
    with program(True, q=quotient(text)).run() as live:
        live.insert("rows", [(7, 2, None, None), (None, 0, None, None), (7, None, None, None)])
        live.commit()
        live.insert("rows", [(7, 0, None, None)])
        with pytest.raises(NumberOverflow, match=r"has no value for the row x=7, y=0") as refusal:
            live.commit()
        assert "at time 1" in str(refusal.value) and "4611686018427387904" not in str(refusal.value)
        live.discard()
        live.insert("rows", [(8, 4, None, None)])
        live.commit()
        assert len(live.snapshot("out").rows()) == 3
    assert program(False, q=quotient(text)).compute(rows=[(7, 0, None, None)])["out"].rows() == [(None, 1)]


@pytest.mark.parametrize(
    ("value", "kind"),
    [("abc", "long"), ("", "double"), ("2024-13-01", "date"), ("x", "boolean"), ("1e9", "decimal(4,2)")],
)
def test_a_cast_that_fails_refuses_the_step_and_try_cast_gives_null(value, kind):
    row = [(1, 1, value, None)]
    with pytest.raises(NumberOverflow, match="has no value for the row"):
        program(True, c=col("s").cast(kind)).compute(rows=row)
    assert program(True, c=col("s").try_cast(kind)).compute(rows=row)["out"].rows() == [(None, 1)]
    assert program(True, c=col("s").cast(kind)).compute(rows=[(1, 1, None, None)])["out"].rows() == [(None, 1)]


def test_what_a_condition_keeps_apart_is_not_refused():
    safe = ebb.when(col("y") != 0, col("x") / col("y")).otherwise(0.0)
    assert program(True, q=safe).compute(rows=[(7, 0, None, None), (7, 2, None, None)])["out"].rows() == [
        (0.0, 1),
        (3.5, 1),
    ]


def test_filters_aggregates_and_joins_refuse_too():
    flow = ebb.Dataflow(ansi=True)
    rows = flow.input("rows", "k long, x long")
    flow.output("kept", rows.filter(10 / col("x") > 1))
    flow.output("shares", rows.group_by("k").agg(share=ebb.sum("x") / ebb.sum(col("x") - col("x"))))
    with pytest.raises(NumberOverflow):
        flow.compute(rows=[(1, 0)])
    with pytest.raises(NumberOverflow):
        flow.compute(rows=[(1, 5)])


def test_sql_follows_the_program():
    pytest.importorskip("sqlglot", reason="SQL is read by sqlglot")
    for ansi, text in [(True, "x / y"), (True, "cast(s as int)"), (True, "x % y"), (False, "x / y")]:
        flow = ebb.Dataflow(ansi=ansi)
        flow.input("rows", "x long, y long, s string")
        flow.output("out", flow.sql(f"select {text} as q, try_cast(s as int) as c from rows"))
        if ansi:
            with pytest.raises(NumberOverflow, match="has no value"):
                flow.compute(rows=[(1, 0, "a")])
        else:
            assert flow.compute(rows=[(1, 0, "a")])["out"].rows() == [(None, None, 1)]
        assert len(flow.compute(rows=[(4, 2, "3")])["out"].rows()) == 1


def test_the_option_is_a_boolean():
    with pytest.raises(ebb.EbbflowError, match="ansi says"):
        ebb.Dataflow(ansi="yes")
