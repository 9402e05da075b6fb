import json
from random import Random
from xml.etree import ElementTree

import pytest

from ebbflow.columns.schema import BOOLEAN, STRING, Field, Schema
from ebbflow.dataflow import explain
from ebbflow.dataflow import nodes as n
from ebbflow.errors import Place
from ebbflow.expressions.typed import Call
from tests.dataflow.random_graphs import random_graph
from tests.meaning.programs import ONE, Sketch, lit, reach, strong

SVG = "{http://www.w3.org/2000/svg}"


def reaching():
    s = Sketch()
    edges, roots = s.input("edges"), s.input("roots", ONE)
    found = reach(s, edges, roots)
    s.output("reach", found)
    s.graph.names |= {edges: "edges", 2: "start"}
    s.graph.places[edges] = Place("/somewhere/program.py", 4)
    return s.graph


def test_the_text_has_a_line_for_each_node_and_loops_as_blocks():
    assert explain.text(reaching()).splitlines() == [
        "   0 input edges (a long, b long)    program.py:4",
        "   1 input roots (a long)",
        '   2 select a, b = a <- 1            "start"',
        "     loop 0",
        "   3   enter loop 0 <- 2",
        "   4   variable loop 0 <- 3 then 10",
        "   5   enter loop 0 <- 0",
        "   6   arrange by b <- 4             1 reader",
        "   7   arrange by a <- 5             1 reader",
        "   8   join a, b = right.b <- 6, 7",
        "   9   union <- 8, 3",
        "  10   distinct <- 9",
        "  11 leave loop 0 <- 10",
        "  12 output reach <- 11",
    ]


def test_an_arrangement_says_how_many_read_it():
    s = Sketch()
    x = s.input("x")
    s.output("twice", s.join(x, x, {"a": "a"}, b="left.b", c="right.b"))
    assert "arrange by a <- 0            2 readers" in explain.text(s.graph)


def test_what_the_planner_did_is_said_below_the_node():
    lines = explain.text(
        reaching(), {7: ["exchange left out: placed by a"], 10: ["short cut: total order"]}
    ).splitlines()
    assert lines[lines.index(next(line for line in lines if line.startswith("   7"))) + 1].strip() == (
        "- exchange left out: placed by a"
    )
    assert "         - short cut: total order" in lines


def test_a_bounded_loop_says_its_bound():
    s = Sketch()
    x = s.input("x")
    s.output("out", s.iterate(x, lambda v, loop: s.negate(v), max_rounds=3, on_limit="raise"))
    assert "loop 0, at most 3 rounds, then raises" in explain.text(s.graph)


def test_dot_has_a_cluster_for_each_loop_and_quotes_what_needs_it():
    s = Sketch()
    names = s.input("names", Schema((Field("a", STRING),)))
    kept = s.filter(names, Call("eq", (s.col(names, "a"), lit('say "hi"\\', STRING)), BOOLEAN))
    s.output("kept", kept)
    s.output("scc", strong(s, s.input("edges")))
    written = explain.dot(s.graph)
    assert written.count("subgraph cluster_") == 3
    assert '\\"hi\\"' in written
    assert written.count("{") == written.count("}")
    assert sum("->" in line for line in written.splitlines()) == len(s.graph.next_of) + sum(
        len(n.sources_of(node)) for node in s.graph.nodes
    )


def test_the_picture_is_well_formed_and_names_every_node():
    s = Sketch()
    names = s.input("a<b&c", Schema((Field('quo"te', STRING),)))
    s.output("out", names)
    s.output("scc", strong(s, s.input("edges")))
    tree = ElementTree.fromstring(explain.html(s.graph, {0: ["kept & shared"]}))
    nodes = [each.get("data-node") for each in tree.iter(f"{SVG}g")]
    assert nodes == [str(number) for number in range(len(s.graph.nodes))]
    titles = [each.text for each in tree.iter(f"{SVG}title")]
    assert "a<b&c" in titles[0] and '`quo"te` string' in titles[0] and "kept & shared" in titles[0]
    assert len(list(tree.iter(f"{SVG}polyline"))) == len(s.graph.next_of) + sum(
        len(set(n.sources_of(node))) for node in s.graph.nodes
    )


def test_the_picture_takes_its_ink_from_the_page():
    tree = ElementTree.fromstring(explain.html(reaching()))
    for each in tree.iter(f"{SVG}text"):
        assert each.get("fill") == "currentColor"
    for each in tree.iter(f"{SVG}polyline"):
        assert each.get("stroke") == "currentColor"


def test_text_fits_its_box():
    tree = ElementTree.fromstring(explain.html(reaching()))
    for group in tree.iter(f"{SVG}g"):
        box = group.find(f"{SVG}rect")
        for line in group.iter(f"{SVG}text"):
            assert len(line.text) * explain.LETTER <= float(box.get("width"))


@pytest.mark.parametrize("seed", range(10))
def test_any_graph_can_be_shown(seed):
    graph = random_graph(Random(seed), depth=3)
    assert len(explain.text(graph).splitlines()) == len(graph.nodes) + len(graph.loops)
    ElementTree.fromstring(explain.html(graph))
    assert json.dumps(explain.to_json(graph))
