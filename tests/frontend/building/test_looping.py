"""Loops: variables, nests, what enters by itself, and what a body may not return."""

import pytest

import ebbflow as ebb
from ebbflow import col
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.rules.check import check
from ebbflow.errors import EbbflowError, NumberOverflow, PlanError, TypeMismatch, UnknownColumn


@pytest.fixture
def flow():
    return ebb.Dataflow()


@pytest.fixture
def edges(flow):
    return flow.input("edges", "src long, dst long")


def steps(paths, edges):
    return paths.join(edges, on={"dst": "src"}, suffix="2").select("src", dst="dst2")


def state(graph):
    return (
        len(graph.nodes),
        len(graph.loops),
        dict(graph.next_of),
        dict(graph.names),
        len(graph._known),
        list(graph._open),
    )


def test_a_loop_is_enter_feedback_and_leave(flow, edges):
    found = edges.iterate(lambda paths: steps(paths, edges).union(edges).distinct())
    graph = flow.graph
    (variable,) = graph.next_of
    assert graph.names[variable] == "paths"
    assert graph.nodes[found._node] == n.Linear(graph.next_of[variable], n.Leave(0))
    assert graph.nodes[graph.nodes[variable].start] == n.Linear(edges._node, n.Enter(0))
    assert graph.scopes[found._node] == () and graph.scopes[variable] == (0,)
    check(graph)


def test_outer_collections_enter_once(flow, edges):
    edges.iterate(lambda p: steps(p, edges).union(edges).distinct())
    enters = [node for node in flow.graph.nodes if isinstance(node, n.Linear) and isinstance(node.action, n.Enter)]
    assert len(enters) == 1


def test_loops_nest_and_use_both_outsides(flow, edges):
    def outer(kept):
        inner = kept.iterate(lambda paths: steps(paths, kept).union(edges).distinct())
        return inner.semijoin(kept, on=["src", "dst"])

    found = edges.iterate(outer)
    graph = flow.graph
    assert [loop.parent for loop in graph.loops] == [None, 0]
    assert max(graph.scopes, key=len) == (0, 1)
    assert graph.scopes[found._node] == ()
    check(graph)


def test_an_inner_loop_may_start_outside(flow, edges):
    found = edges.iterate(lambda kept: edges.iterate(lambda p: p.join(kept, on=["src", "dst"]).distinct()))
    assert [loop.parent for loop in flow.graph.loops] == [None, 0]
    check(flow.graph)
    assert flow.graph.scopes[found._node] == ()


def test_two_loops_do_not_share_variables(flow, edges):
    body = lambda p: steps(p, edges).union(edges).distinct()
    assert edges.iterate(body)._node != edges.iterate(body)._node
    assert len(flow.graph.loops) == 2


def test_mutual_recursion_has_one_loop_with_several_variables(flow, edges):
    a, b = flow.iterate(lambda a, b: (b.union(edges).distinct(), a.distinct()), a=edges, b=edges)
    graph = flow.graph
    variables = [node for node in graph.nodes if isinstance(node, n.Feedback)]
    assert [(v.loop, v.index) for v in variables] == [(0, 0), (0, 1)]
    assert a._node != b._node
    check(graph)


def test_variables_go_to_the_body_by_name_or_in_order(flow, edges):
    named = flow.iterate(
        lambda second, first: {"first": first.filter(col("src") > 1), "second": second}, first=edges, second=edges
    )
    assert len(named) == 2
    assert isinstance(flow.graph.nodes[flow.graph.nodes[named[0]._node].source].action, n.Filter)
    one = flow.iterate(lambda x: x.distinct(), anything=edges)
    assert isinstance(one, ebb.Collection)


def test_columns_are_reordered_for_the_loop(flow, edges):
    edges.iterate(lambda p: p.select("dst", "src").distinct())
    check(flow.graph)


def test_narrower_numbers_are_widened_for_the_loop(flow, edges):
    edges.iterate(lambda p: p.with_columns(src=col("src").cast("int")))
    check(flow.graph)


def test_a_bound_is_kept(flow, edges):
    edges.iterate(lambda p: p, max_rounds=3, on_limit="raise")
    assert flow.graph.loops[0].max_rounds == 3 and flow.graph.loops[0].on_limit == "raise"


leaked = []


@pytest.mark.parametrize(
    "body, error, says",
    [
        (
            lambda p: p.select("src"),
            PlanError,
            "the loop variable p starts with the columns src, dst, and the body returns src.",
        ),
        (
            lambda p: p.with_columns(src=col("src").cast("string")),
            PlanError,
            'the column "src" of the loop variable p starts as long, and the body returns it as string',
        ),
        (lambda p: p.with_columns(src=col("src") / 2), PlanError, 'cast("double")'),
        (lambda p: None, PlanError, "the body of iterate returns a collection, its next round; got None"),
        (lambda p: (p, p), PlanError, "1 variable (p), and its body returned 2 collections"),
        (lambda p: p.select("scr"), UnknownColumn, "in p, which has: src, dst"),
        (lambda p: p.group_by("src").count() if False else p.src, PlanError, "a Column"),
        (lambda p: 1 / 0, ZeroDivisionError, "division"),
    ],
)
def test_a_refused_body_leaves_nothing_behind(flow, edges, body, error, says):
    before = state(flow.graph)
    with pytest.raises(error) as refusal:
        edges.iterate(body)
    assert says in str(refusal.value)
    assert state(flow.graph) == before
    again = edges.iterate(lambda p: steps(p, edges).union(edges).distinct())
    flow.output("out", again)
    check(flow.graph)


def test_a_refused_inner_body_leaves_nothing_behind(flow, edges):
    before = state(flow.graph)
    with pytest.raises(EbbflowError):
        edges.iterate(lambda p: p.iterate(lambda q: q.select("src")))
    assert state(flow.graph) == before


@pytest.mark.parametrize(
    "options",
    [{"max_rounds": 0}, {"max_rounds": 1.5}, {"max_rounds": True}, {"max_rounds": 2**63}, {"on_limit": "stop"}],
)
def test_bounds_that_mean_nothing_are_refused(edges, options):
    with pytest.raises(PlanError):
        edges.iterate(lambda p: p, **options)


def test_a_body_is_a_function(edges):
    with pytest.raises(PlanError, match="takes a function"):
        edges.iterate(edges)


def test_what_leaks_out_of_a_loop_is_refused(flow, edges):
    kept = []
    edges.iterate(lambda p: kept.append(p.distinct()) or p)
    with pytest.raises(PlanError, match="inside a loop"):
        flow.output("leak", kept[0])
    with pytest.raises(PlanError, match="cannot be used outside"):
        edges.iterate(lambda p: p.union(kept[0]))


def test_iterate_without_variables_is_refused(flow):
    with pytest.raises(PlanError, match="no variables"):
        flow.iterate(lambda: ())


def test_mutual_recursion_needs_an_answer_for_each(flow, edges):
    with pytest.raises(PlanError, match="2 variables"):
        flow.iterate(lambda a, b: a, a=edges, b=edges)
    with pytest.raises(PlanError, match="its body returned a"):
        flow.iterate(lambda a, b: {"a": a}, a=edges, b=edges)


# ---- rows that wait -------------------------------------------------------------------------------------


def heard(names, edges, own):
    return names.join(edges, on={"id": "src"}).select(id="dst", name="name").union(own).group_by("id").min("name")


def test_waiting_rows_enter_with_their_round_and_lose_it_again(flow, edges):
    own = edges.select(id="src", name="src")
    found = own.iterate(lambda names: heard(names, edges, own.wait(lambda r: r.name * 3)))
    (wait,) = (i for i, node in enumerate(flow.graph.nodes) if isinstance(getattr(node, "action", None), n.Wait))
    assert str(flow.graph.schemas[wait]) == "id long, name long, round long"
    assert found.columns == ["id", "name"]
    check(flow.graph)


def test_a_column_called_round_stays(flow):
    xs = flow.input("xs", "round long, x long")
    flow.output("out", xs.iterate(lambda c: c.union(xs.wait("x").negate()).distinct().union(xs).distinct()))
    assert flow.compute(xs=[(7, 1)])["out"].rows() == [(7, 1, 1)]


@pytest.mark.parametrize("rounds", [3, "x", col("x") + 1, lambda r: ebb.when(r.x > 1, None).otherwise(-r.x)])
def test_the_round_may_be_anything_that_is_a_whole_number(flow, rounds):
    xs = flow.input("xs", "x long")
    flow.output("out", xs.filter(ebb.lit(False)).iterate(lambda c: c.union(xs.wait(rounds)).distinct()))
    assert flow.compute(xs=[(1,), (2,)])["out"].rows() == [(1, 1), (2, 1)]


def test_rounds_that_a_bounded_loop_does_not_have_never_come(flow):
    xs = flow.input("xs", "x long")
    flow.output("out", xs.iterate(lambda c: c.filter(ebb.lit(False)).union(xs.wait("x")), max_rounds=3))
    assert flow.compute(xs=[(0,), (2,), (3,), (2**62,)])["out"].rows() == [(0, 1), (2, 1)]


def test_a_round_beyond_what_can_be_counted_is_refused(flow):
    xs = flow.input("xs", "x long")
    flow.output("out", xs.iterate(lambda c: c.union(xs.wait("x")).distinct()))
    with flow.run() as live:
        live.insert("xs", [(2**62,)])
        with pytest.raises(NumberOverflow, match="waits for round 4,611,686,018,427,387,904 of its loop at time 0"):
            live.commit()
        live.discard()


def test_wait_is_for_what_comes_into_a_loop(flow, edges):
    with pytest.raises(PlanError, match="edges is not used in a loop"):
        edges.wait(3)
    with pytest.raises(PlanError, match="is inside the loop already"):
        edges.iterate(lambda c: c.wait(3))
    with pytest.raises(TypeMismatch, match="a round is a whole number"):
        edges.iterate(lambda c: c.union(edges.wait(col("src") / 2)).distinct())
