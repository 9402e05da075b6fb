"""Why a row is there: the causes that the explorer finds are rows that make it."""

import shutil
from random import Random

import pytest

import ebbflow as ebb
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.plan_json import functions_of
from ebbflow.tools.explorer import page, recording
from tests import explored
from tests.meaning.cases import make_case

HERE = explored.EVALUATOR.parent
ANSWERS = explored.HERE / "reasons.mjs"


def only_adds(graph):
    """No row of it goes because another comes."""
    for node in graph.nodes:
        match node:
            case n.Linear(_, n.Negate() | n.Apply()):
                return False
            case n.Reduce(_, _, n.Threshold()):
                continue
            case n.Reduce():
                return False
    return not functions_of(graph)


def asked(node, cases, seed):
    counts = {"programs": 0, "rows": 0, "facts": 0, "behind": 0, "inputs": 0}
    number = 0
    while counts["programs"] < cases:
        case, _, _ = make_case(seed, number)
        number += 1
        if not only_adds(case.graph):
            continue
        random = Random(f"{seed} {number} reasons")
        chosen = random.sample(range(len(case.graph.nodes)), min(6, len(case.graph.nodes)))
        question = explored.question(case.graph, case, {})
        picks = [{"node": i, "pick": random.randrange(1000)} for i in chosen]
        said = node.ask({"plan": question["plan"], "inputs": question["inputs"], "asked": picks, "most": 3000})
        assert said["wrong"] == [], (seed, number - 1, said["wrong"][:5])
        counts["programs"] += 1
        for name in ("rows", "facts", "behind", "inputs"):
            counts[name] += said[name]
    return counts


def test_the_causes_of_a_row_alone_make_it():
    with explored.Node(HERE, ANSWERS) as node:
        counts = asked(node, 30, seed=4)
    assert counts["rows"] > 50 and counts["facts"] > 500, counts


PLANTED = {
    "one side of a join": ("return fitting.flatMap(", "return fitting.slice(0, 1).flatMap("),
    "a round too early": ("[...rounds.slice(0, -1), last - 1]", "[...rounds.slice(0, -1), Math.max(0, last - 2)]"),
    "the first part of a union": ("node.sources.flatMap(", "node.sources.slice(0, 1).flatMap("),
    "no start of a loop": ("last === 0 ? same(node.start)", "last === 0 ? []"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_found(name, tmp_path):
    before, after = PLANTED[name]
    for file in HERE.glob("*.mjs"):
        shutil.copy(file, tmp_path)
    text = (tmp_path / "provenance.mjs").read_text()
    assert text.count(before) == 1
    (tmp_path / "provenance.mjs").write_text(text.replace(before, after))
    with explored.Node(tmp_path, ANSWERS) as spoiled, pytest.raises(AssertionError):
        asked(spoiled, 60, seed=4)


def why(node, flow, inputs, output, row, time=0):
    """The rows of inputs behind a row of an output, by input."""
    held = page.content(recording.recorded(flow, None, inputs))
    number = next(i for i, one in enumerate(flow.graph.nodes) if isinstance(one, n.Output) and one.name == output)
    said = node.ask({"plan": held["plan"], "inputs": held["inputs"], "why": number, "row": list(row), "time": [time]})
    return {name: sorted(map(tuple, rows)) for name, rows in said.items() if rows}


@pytest.fixture(scope="module")
def node():
    with explored.Node(HERE, ANSWERS) as node:
        yield node


def test_a_sum_and_a_place_rest_on_their_group_and_a_maximum_on_the_rows_that_reach_it(node):
    flow = ebb.Dataflow()
    x = flow.input("x", "k long, v long")
    flow.output("sums", x.group_by("k").agg(s=ebb.sum("v")))
    flow.output("highest", x.group_by("k").agg(most=ebb.max("v")))
    place = ebb.rank().over(ebb.Window.partition_by("k").order_by("v"))
    flow.output("places", x.select("k", "v", place=place))
    rows = {"x": [(1, 5), (1, 7), (1, 7), (2, 9)]}
    assert why(node, flow, rows, "sums", (1, 19)) == {"x": [(1, 5), (1, 7)]}
    assert why(node, flow, rows, "highest", (1, 7)) == {"x": [(1, 7)]}
    assert why(node, flow, rows, "places", (1, 7, 2)) == {"x": [(1, 5), (1, 7)]}


def test_a_loop_is_followed_round_by_round(node):
    flow = ebb.Dataflow()
    edges, roots = flow.input("edges", "src long, dst long"), flow.input("roots", "node long")

    def further(reached):
        return reached.rename({"node": "src"}).join(edges, on="src").select(node="dst").union(roots).distinct()

    flow.output("reach", roots.iterate(further))
    rows = {"edges": [(1, 2), (2, 3), (3, 1), (5, 3)], "roots": [(1,), (8,)]}
    assert why(node, flow, rows, "reach", (3,)) == {"edges": [(1, 2), (2, 3)], "roots": [(1,)]}
    assert why(node, flow, rows, "reach", (1,)) == {"roots": [(1,)]}
    assert why(node, flow, rows, "reach", (8,)) == {"roots": [(8,)]}
