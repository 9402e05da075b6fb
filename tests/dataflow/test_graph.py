"""A graph keeps each node once, knows schemas and loops, and forgets a refused body."""

import pytest

from ebbflow.columns.schema import DOUBLE, LONG, Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import Place, PlanError
from ebbflow.expressions.typed import Column

PAIR = Schema((Field("a", LONG), Field("b", LONG)))


@pytest.fixture
def graph():
    graph = Graph()
    graph.names[graph.add(n.Input("edges", PAIR))] = "edges"
    return graph


def test_a_node_is_kept_once_with_its_first_place(graph):
    first = graph.add(n.Arrange(0, ("a",)), Place("f.py", 1))
    assert graph.add(n.Arrange(0, ("a",)), Place("f.py", 9)) == first
    assert graph.places[first] == Place("f.py", 1)
    assert graph.add(n.Arrange(0, ("b",))) != first


def test_schemas_follow_from_the_nodes(graph):
    mapped = graph.add(n.Linear(0, n.Map((("x", Column("a", LONG)),))))
    assert graph.schemas[mapped].names == ("x",)
    left, right = graph.add(n.Arrange(0, ("a",))), graph.add(n.Arrange(mapped, ("x",)))
    joined = graph.add(n.Join(left, right, (("b", 0, "b"), ("y", 1, "x"))))
    assert str(graph.schemas[joined]) == "b long, y long"
    apply = n.Apply(n.Function(len, 1, "len"), "rows", Schema((Field("z", DOUBLE),)))
    assert str(graph.schemas[graph.add(n.Linear(0, apply))]) == "z double"
    assert graph.schemas[graph.add(n.Concat((0, 0)))] == PAIR


def test_what_a_node_reads_enters_the_loop(graph):
    with graph.loop() as outer, graph.loop() as inner:
        (start,) = graph.lift((0,), graph.here)
        variable = graph.add(n.Feedback(start, inner, 0))
        both = graph.add(n.Concat((variable, 0)))
        assert graph.bind(variable, both) == both
    assert graph.scopes[both] == (outer, inner)
    assert graph.nodes[both] == n.Concat((variable, start))
    assert graph.loops[inner].parent == outer and graph.loops[outer].parent is None
    assert graph.here == ()


def test_an_arrangement_enters_as_one(graph):
    arranged = graph.add(n.Arrange(0, ("a",)))
    with graph.loop() as loop:
        (entered,) = graph.lift((arranged,), (loop,))
    assert isinstance(graph.nodes[entered], n.Arrange)
    assert graph.nodes[graph.nodes[entered].source] == n.Linear(0, n.Enter(loop))


def test_a_collection_of_a_loop_does_not_enter_another(graph):
    with graph.loop():
        (inside,) = graph.lift((0,), graph.here)
    with graph.loop() as other, pytest.raises(PlanError, match="edges lives in a loop, and cannot be used outside it"):
        graph.lift((inside,), (other,))


def test_a_variable_becomes_only_what_has_its_columns(graph):
    with graph.loop() as loop:
        variable = graph.add(n.Feedback(*graph.lift((0,), graph.here), loop, 0))
        narrow = graph.add(n.Linear(variable, n.Map((("a", Column("a", LONG)),))))
        with pytest.raises(PlanError, match=r"starts with \(a long, b long\) and its body returns \(a long\)"):
            graph.bind(variable, narrow)
        graph.bind(variable, variable)


def test_a_refused_body_is_forgotten(graph):
    kept = graph.add(n.Arrange(0, ("a",)))
    with pytest.raises(ZeroDivisionError), graph.loop() as loop:
        variable = graph.add(n.Feedback(*graph.lift((0,), graph.here), loop, 0))
        graph.names[variable] = "v"
        graph.bind(variable, variable)
        with graph.loop():
            raise ZeroDivisionError
    assert len(graph.nodes) == len(graph.schemas) == len(graph.scopes) == len(graph.places) == kept + 1
    assert graph.loops == [] and graph.next_of == {} and graph.names == {0: "edges"} and graph.here == ()
    assert graph.add(n.Arrange(0, ("a",))) == kept
    assert graph.add(n.Arrange(0, ("b",))) == kept + 1


def test_readers_count_what_a_variable_becomes(graph):
    with graph.loop() as loop:
        (start,) = graph.lift((0,), graph.here)
        variable = graph.add(n.Feedback(start, loop, 0))
        negated = graph.add(n.Linear(variable, n.Negate()))
        graph.bind(variable, negated)
    assert graph.reads(variable) == (start, negated)
    assert graph.consumers() == [[start], [variable], [negated], [variable]]
    assert graph.ancestors(start) == {0, start}
    assert graph.ancestors(variable) == {0, start, variable, negated}


def test_a_part_of_a_graph_is_a_graph(graph):
    unused = graph.add(n.Input("unused", PAIR))
    with graph.loop() as loop:
        (start,) = graph.lift((0,), graph.here)
        variable = graph.add(n.Feedback(start, loop, 0))
        graph.bind(variable, graph.add(n.Concat((variable, start))))
        left = graph.add(n.Linear(graph.next_of[variable], n.Leave(loop)))
    part = graph.leading_to(left)
    assert len(part.nodes) == len(graph.nodes) - 1
    assert n.Input("unused", PAIR) not in part.nodes and graph.nodes[unused] == n.Input("unused", PAIR)
    (moved,) = part.next_of
    assert part.nodes[part.next_of[moved]] == n.Concat((moved, part.nodes[moved].start))
    assert part.names == {0: "edges"} and part.loops == graph.loops
