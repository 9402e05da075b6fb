"""A program as a whole: inputs, outputs, names, how it shows, and what is not there yet."""

import pytest

import ebbflow as ebb
from ebbflow.dataflow import nodes as n
from ebbflow.errors import (
    DuplicateName,
    EbbflowError,
    PlanError,
    ReservedName,
    SqlError,
    TypeMismatch,
    UnknownColumn,
)


def test_an_input_has_its_schema_and_key():
    flow = ebb.Dataflow()
    accounts = flow.input("accounts", {"id": int, "owner": str}, key="id")
    assert flow.graph.nodes[accounts._node] == n.Input("accounts", accounts.schema, ("id",))
    both = flow.input("both", "a long, b long, c long", key=["a", "b"])
    assert flow.graph.nodes[both._node].key == ("a", "b")


def test_outputs_are_named_once_and_remember_whether_changes_are_kept():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    assert flow.output("a", edges) is None
    flow.output("b", edges, changes=False)
    assert [node for node in flow.graph.nodes if isinstance(node, n.Output)] == [
        n.Output("a", 0, True),
        n.Output("b", 0, False),
    ]
    assert flow.graph.names == {0: "edges"}


@pytest.mark.parametrize(
    "ask, error, says",
    [
        (lambda f, e: f.input("edges", "x long"), DuplicateName, 'the input "edges" is there already'),
        (lambda f, e: f.input("x", ""), TypeMismatch, "has no columns"),
        (lambda f, e: f.input(3, "x long"), TypeMismatch, "is text"),
        (lambda f, e: f.input("x", "_time long"), ReservedName, "_time"),
        (lambda f, e: f.input("x", "id long", key="ix"), UnknownColumn, 'Did you mean "id"'),
        (lambda f, e: f.output("edges2", 3), PlanError, "takes a collection"),
        (lambda f, e: f.output(e, "x"), TypeMismatch, "is text"),
        (lambda f, e: f.output("out", e), DuplicateName, "out"),
        (lambda f, e: f.output("x", ebb.Dataflow().input("y", "z long")), PlanError, "another dataflow"),
        (lambda f, e: f.run("a spark session"), TypeMismatch, "a Spark session first, not str"),
        (lambda f, e: f.input("", "x long"), TypeMismatch, "the name of an input is text; got none"),
        (lambda f, e: f.sql("select 1 from"), SqlError, "cannot be read"),
        (lambda f, e: f.explore(3), TypeMismatch, "a path to write"),
        (lambda f, e: f.explore(None, 3), TypeMismatch, "a function of a session"),
    ],
)
def test_mistakes_are_answered(ask, error, says):
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    flow.output("out", edges)
    before = len(flow.graph.nodes)
    with pytest.raises(error) as refusal:
        ask(flow, edges)
    assert says in str(refusal.value)
    assert len(flow.graph.nodes) == before


def test_a_program_without_outputs_has_nothing_to_do():
    flow = ebb.Dataflow()
    flow.input("edges", "src long")
    for ask in (flow.run, flow.compute):
        with pytest.raises(PlanError, match="no output"):
            ask()


def test_times_have_named_coordinates():
    assert ebb.Dataflow().graph.coordinates == ("time",)
    assert ebb.Dataflow(time=("valid", "system")).graph.coordinates == ("valid", "system")
    assert ebb.Dataflow(time="epoch").graph.coordinates == ("epoch",)
    for time in ((), ("a", "a"), ("_time",), 3, ("", "b")):
        with pytest.raises(EbbflowError):
            ebb.Dataflow(time=time)
    with pytest.raises(PlanError, match="one coordinate"):
        ebb.Dataflow(time=("a", "b")).input("x", "id long", key="id")


def test_a_program_shows_itself():
    flow = ebb.Dataflow()
    assert repr(flow) == str(flow) == "Dataflow(no inputs -> no outputs)"
    edges = flow.input("edges", "src long, dst long")
    flow.output("once", edges.distinct())
    assert repr(flow) == "Dataflow(edges -> once)"
    assert "input edges (src long, dst long)" in str(flow) and "distinct" in str(flow)
    assert "input edges (src long, dst long)" in flow.explain() and "short cut" in flow.explain()
    assert "test_dataflow.py" in str(flow)


def test_every_public_name_is_there():
    for name in ebb.__all__:
        assert getattr(ebb, name) is not None
    with pytest.raises(AttributeError):
        ebb.nothing
    assert callable(ebb.spark) and callable(ebb.changes) and callable(ebb.table)  # loaded when asked for
    assert set(ebb.__all__) <= set(dir(ebb))
