from dataclasses import replace

import pytest

from ebbflow.columns.schema import LONG, STRING, Field, Schema
from ebbflow.dataflow.lower import lower
from ebbflow.dataflow.plan_check import check_plan
from ebbflow.expressions.typed import Column
from ebbflow.operators import node as kinds
from tests.meaning.cases import make_case
from tests.meaning.programs import Sketch, call, lit


def planned():
    """A filter between an input and a reduction."""
    s = Sketch()
    x = s.input("x")
    s.output("out", s.aggregate(s.filter(x, call("lt", s.col(x, "a"), lit(3))), ("b",), n=("max", "a")))
    return lower(s.graph, lambda stage: False)


def reduction(plan):
    return next(cell for cell in plan.cells if cell.kind == kinds.REDUCE)


def with_stage(plan, **changes):
    cell = reduction(plan)
    (pipe,) = cell.pipes
    (stage,) = pipe.stages
    cell.pipes = [replace(pipe, stages=(replace(stage, **changes),))]
    return cell


def refused(plan):
    with pytest.raises(AssertionError) as found:
        check_plan(plan)
    return str(found.value)


def test_plans_of_random_programs_pass():
    for number in range(60):
        check_plan(lower(make_case(3, number)[0].graph, lambda stage: False))


def test_a_column_that_the_stage_does_not_have_is_named_with_its_node():
    plan = planned()
    cell = with_stage(plan, condition=call("lt", Column("z", LONG), lit(3)))
    said = refused(plan)
    assert f"node {cell.node}, Reduce(" in said
    assert 'the expression lt(z, 3) reads the column "z", and its stage has (a long, b long)' in said


def test_a_column_of_another_type_is_named():
    plan = planned()
    with_stage(plan, columns=(Column("b", STRING), Column("a", LONG)))
    assert 'the expression b reads "b" as string' in refused(plan)


def test_a_condition_is_a_boolean():
    plan = planned()
    with_stage(plan, condition=Column("a", LONG))
    assert "the condition a is a long" in refused(plan)


def test_a_stage_takes_the_columns_that_its_cell_gives_by_name_and_position():
    plan = planned()
    with_stage(plan, schema=Schema((Field("b", LONG), Field("a", LONG))))
    assert "a stage takes (b long, a long) from a cell that gives (a long, b long)" in refused(plan)


def test_what_arrives_is_what_is_kept():
    plan = planned()
    with_stage(plan, columns=(Column("b", LONG),))
    assert "rows of the types (long) arrive where (long, long) are kept" in refused(plan)


def joined():
    s = Sketch()
    s.output("out", s.join(s.input("x"), s.input("y"), {"a": "a"}, a="left.a", b="right.b"))
    plan = lower(s.graph, lambda stage: False)
    return plan, next(cell for cell in plan.cells if cell.kind == kinds.JOIN)


def test_a_join_gives_columns_of_its_arrangements():
    plan, cell = joined()
    cell.columns = (cell.columns[0], ("b", 1, "c"))
    assert 'the column "b" is "c" of an arrangement that has' in refused(plan)


def test_an_arrangement_is_read_by_its_own_key():
    plan, cell = joined()
    cell.left = replace(cell.left, key=("b",), values=("a",))
    assert "an arrangement by ('a',) is read by ('b',)" in refused(plan)
