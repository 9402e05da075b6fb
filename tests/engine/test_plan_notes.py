"""What the planner saved is said of the nodes people wrote, and is what the runtime does."""

import pytest

import ebbflow as ebb
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow.lower import lower
from ebbflow.dataflow.rewrite import rewrite
from ebbflow.dataflow.stages import cut
from ebbflow.engine import plan_notes
from ebbflow.engine.plan_notes import notes
from ebbflow.engine.worker import Worker
from ebbflow.operators import node as kinds
from ebbflow.operators.reduce.choose import TACTICS, TOTALS
from tests.meaning.cases import make_case


def said(flow, words):
    """The lines of the explanation that have these words, and the line of the node they stand under."""
    lines = str(flow.explain()).splitlines()
    found = []
    for i, line in enumerate(lines):
        if words in line:
            node = next(other for other in reversed(lines[:i]) if not other.strip().startswith("- "))
            found.append(" ".join(node.split()[1:3]))
    return found


def program():
    flow = ebb.Dataflow()
    return flow, flow.input("edges", "src long, dst long")


def test_an_arrangement_that_several_joins_read_is_shared():
    flow, edges = program()
    two = edges.join(edges, on={"dst": "src"}, suffix="2").select("src", dst="dst2")
    flow.output("three", two.join(edges, on={"dst": "src"}, suffix="3"))
    assert said(flow, "shared: one index, read by 2 sides of joins") == ["arrange by"]


def test_an_outer_collection_is_indexed_once_for_a_loop():
    flow, edges = program()
    step = lambda p: p.join(edges, on={"dst": "src"}, suffix="2").select("src", dst="dst2").union(edges).distinct()
    flow.output("paths", edges.iterate(step))
    assert said(flow, "indexed once, outside the loop") == ["arrange by"]


def test_reductions_outside_loops_take_the_short_cut_and_those_inside_do_not():
    flow, edges = program()
    flow.output("degrees", edges.group_by("src").count())
    assert said(flow, "short cut: its times are totally ordered; keeps no output") == ["aggregate by"]
    flow.output("once", edges.distinct().iterate(lambda c: c.union(edges).distinct()))
    assert sorted(said(flow, "short cut")) == ["aggregate by", "distinct <-"]


def test_a_reduction_says_its_tactic():
    flow, edges = program()
    flow.output("degrees", edges.group_by("src").count())
    assert said(flow, "tactic: totals, a hash table of sums") == ["aggregate by"]
    flow.output("least", edges.group_by("src").agg(least=ebb.min("dst")))
    assert said(flow, "; else extremes, for keys with a dozen entries; else value scan") == ["aggregate by"]
    flow = ebb.Dataflow(time=("valid", "system"))
    flow.output("out", flow.input("xs", "x long").distinct())
    assert said(flow, "; else chain scan, for keys whose times form a chain; else replay") == ["distinct <-"]


def test_the_tactic_that_is_noted_is_the_one_that_workers_lay_out():
    seen = set()
    for number in range(60):
        graph, _ = rewrite(make_case(5, number)[0].graph)
        for stage in cut(graph):
            plan = lower(stage.graph, lambda each: False)
            worker = Worker(plan, 0, 1, Pool(), reserve=1 << 26)
            for cell in (cell for cell in plan.cells if cell.kind == kinds.REDUCE):
                laid = worker.at[cell.number]
                said = [tactic.words for i, tactic in enumerate(TACTICS) if laid.choice.bits >> i & 1]
                assert f"tactic: {'; else '.join(said)}" in plan_notes.of_cell(plan, cell), number
                assert (laid.tally != 0) == (said[0] == TACTICS[TOTALS].words)
                seen.add(said[-1])
    assert len(seen) >= 5


def test_there_is_no_short_cut_with_two_coordinates_or_with_your_own_function():
    flow = ebb.Dataflow(time=("valid", "system"))
    flow.output("out", flow.input("xs", "x long").distinct())
    assert said(flow, "short cut") == []
    flow, edges = program()
    flow.output("out", edges.group_by("src").reduce(lambda rows: [(len(rows),)], "n long"))
    assert said(flow, "short cut") == []


def test_a_reduction_read_by_its_own_key_hands_on_its_answers():
    flow, edges = program()
    degrees = edges.group_by("src").count()
    flow.output("out", edges.join(degrees, on="src"))
    assert said(flow, "no index of its own: the reduction hands on its answers") == ["arrange by"]
    assert said(flow, "its output is kept") == ["aggregate by"]


def test_exchanges_that_are_left_out_are_said():
    flow, edges = program()
    degrees = edges.group_by("src").count()
    flow.output("out", degrees.group_by("src").agg(most=ebb.max("count")))
    assert said(flow, "exchange left out") == ["aggregate by"]


def test_sums_keep_no_rows_and_text_is_computed_outside():
    flow = ebb.Dataflow()
    sales = flow.input("sales", "shop string, price double")
    flow.output("out", sales.with_columns(shop=ebb.lower("shop")).group_by("shop").agg(t=ebb.sum("price")))
    assert said(flow, "keeps sums, no rows") == ["aggregate by"]
    assert said(flow, "looks at text") == ["select shop"]


def test_what_no_output_needs_is_left_out():
    flow, edges = program()
    flow.output("out", edges)
    edges.distinct()
    assert said(flow, "left out: no output needs it") == ["distinct <-"]


def test_a_program_without_outputs_and_an_unfinished_loop_have_no_notes():
    flow, edges = program()
    assert notes(flow.graph) == {}
    flow.output("out", edges)
    seen = []

    def body(paths):
        seen.append(str(flow.explain()))
        return paths.distinct()

    edges.iterate(body)
    assert "variable loop 0" in seen[0]


def test_a_collection_explains_itself_with_notes():
    _, edges = program()
    assert "short cut" in str(edges.group_by("src").count().explain())


@pytest.mark.parametrize("outputs", [1, 2])
def test_stages_do_not_lose_notes(outputs):
    flow, edges = program()
    roots = flow.input("roots", "root long")
    flow.output("degrees", edges.group_by("src").count())
    if outputs == 2:
        flow.output("roots", roots.group_by("root").count())
    assert said(flow, "short cut") == ["aggregate by"] * outputs


def test_reach_is_told_that_its_join_needs_no_exchange_and_no_second_index():
    flow = ebb.Dataflow()
    edges, roots = flow.input("edges", "src long, dst long"), flow.input("roots", "root long")
    start = roots.select("root", node="root")
    flow.output(
        "reach",
        start.iterate(lambda r: r.join(edges, on={"node": "src"}).select("root", node="dst").union(start).distinct()),
    )
    assert said(flow, "then the distinct hands on its answers, arranged by this key") == ["arrange by"]
    assert said(flow, "exchange left out: the rows are on the right worker already") == ["arrange by"]
    assert said(flow, "shared: one index") == []  # one join reads it, though its work is done in two parts
