import pytest

from ebbflow.columns.schema import BOOLEAN, LONG
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.node_names import called, detail, expression, kind, loop_called
from ebbflow.expressions.typed import Call, Column, Literal
from tests.meaning.programs import PAIR, Sketch, own

A, B = Column("a", LONG), Column("b", LONG)


@pytest.mark.parametrize(
    "expr, written",
    [
        (A, "a"),
        (Literal(None, LONG), "null"),
        (Call("add", (A, Literal(1, LONG)), LONG), "a + 1"),
        (Call("mul", (Call("add", (A, B), LONG), B), LONG), "(a + b) * b"),
        (Call("not", (Call("eq", (A, B), BOOLEAN),), BOOLEAN), "not(a == b)"),
        (Call("cast", (A,), LONG, ("long",)), "cast(a, 'long')"),
    ],
)
def test_an_expression_reads_as_a_person_would_write_it(expr, written):
    assert expression(expr) == written


@pytest.mark.parametrize(
    "node, words",
    [
        (n.Input("x", PAIR, ("a",)), "input x (a long, b long), replaced by a"),
        (n.Output("out", 0, False), "output out, changes not kept"),
        (n.Linear(0, n.Map((("a", A), ("c", B)))), "select a, c = b"),
        (n.Linear(0, n.Delay((A,))), "delay a"),
        (n.Linear(0, n.Wait("a")), "wait until a"),
        (n.Linear(0, n.Apply(own("swapped"), "rows", PAIR)), "map_rows swapped"),
        (n.Linear(0, n.Inspect(own("swapped"))), "inspect swapped"),
        (n.Linear(0, n.Negate()), "negate "),
        (n.Arrange(0, ()), "arrange by nothing"),
        (n.Join(0, 1, (("a", 0, "a"), ("c", 0, "b"), ("b", 1, "b"))), "join a, c = left.b, b = right.b"),
        (n.Reduce(0, ("a", "b"), n.Threshold(None), PAIR), "distinct "),
        (n.Reduce(0, ("a", "b"), n.Threshold(own("minus_count")), PAIR), "threshold minus_count"),
        (n.Reduce(0, ("a",), n.Top(3, (("b", True), ("a", False))), PAIR), "top by a; first 3 by -b, a"),
        (n.Reduce(0, (), n.Own(own("first_row"), "rows", PAIR), PAIR), "reduce over all; first_row"),
        (
            n.Reduce(
                0, ("a",), n.Aggregates((n.Aggregate("count_rows", None, "n"), n.Aggregate("sum", "b", "s"))), PAIR
            ),
            "aggregate by a; n = count(), s = sum(b)",
        ),
    ],
)
def test_a_node_says_what_it_does_and_with_what(node, words):
    assert f"{kind(node)} {detail(node)}" == words


def test_people_are_told_the_names_they_gave():
    s = Sketch()
    x = s.input("x")
    loop = s.loop()
    inside = s.arrange(s.enter(x, loop), "a")
    both = s.concat(x, s.negate(x))
    s.graph.names[both] = "both"
    assert called(s.graph, inside) == '"x"', "entering and arranging are not theirs"
    assert called(s.graph, both) == '"both"'
    assert called(s.graph, s.distinct(x)) == "the distinct"


def test_a_place_is_told_by_its_loops():
    s = Sketch()
    assert loop_called(s.graph, ()) == "outside all loops"
    assert loop_called(s.graph, (4,)) == "in loop 4"
    assert loop_called(s.graph, (1, 2, 5)) == "in loop 5 (inside 1, 2)"
