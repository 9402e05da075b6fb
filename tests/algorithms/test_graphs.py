"""Claims about every algorithm: what it takes and refuses, and that how its input was cut into steps cannot be seen."""

import inspect
import subprocess
import sys
from collections import Counter
from random import Random

import networkx as nx
import pytest

import ebbflow as ebb
from ebbflow import algorithms
from ebbflow.errors import PlanError, TypeMismatch, UnknownColumn
from tests.algorithms.windows import TIMES, changes_of, sources_for, window

MORE = {"k_core": [2]}
EVERY = sorted(algorithms.__all__)


def built(name, edges, sources):
    algorithm = getattr(algorithms, name)
    return algorithm(edges, sources) if has_sources(name) else algorithm(edges, *MORE.get(name, []))


def has_sources(name):
    return "sources" in inspect.signature(getattr(algorithms, name)).parameters


def flow_of(name, edges="src long, dst long", sources="id long", time="time"):
    flow = ebb.Dataflow(time=time)
    flow.output("out", built(name, flow.input("edges", edges), flow.input("sources", sources)))
    return flow


def computed(flow, edges, sources=((1,),)):
    return flow.compute(edges=edges, sources=list(sources))["out"].rows()


def rows_of(name, edges, sources=((1,),)):
    return computed(flow_of(name), edges, sources)


# ---- cuts, workers and times ----------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", EVERY)
def test_how_the_input_was_cut_cannot_be_seen(name, seed):
    inputs = {"edges": window(seed), "sources": sources_for(seed)}
    at_once = changes_of(flow_of(name), inputs)
    assert changes_of(flow_of(name), inputs, ends=range(1, TIMES + 1)) == at_once
    assert changes_of(flow_of(name), inputs, workers=2, ends=[7, 8, 31, TIMES]) == at_once


@pytest.mark.parametrize("name", EVERY)
def test_times_that_are_only_partly_ordered_each_have_their_own_graph(name):
    """With two coordinates, at every time of a grid: what the same edges give when computed alone."""
    random = Random(name)
    grid = [(valid, system) for valid in range(3) for system in range(3)]
    edges = [(edge, random.choice(grid), 1) for edge in {(random.randrange(5), random.randrange(5)) for _ in range(10)}]
    for edge, time, _ in edges[:4]:
        edges.append((edge, tuple(min(2, part + random.randrange(2)) for part in time), -1))
    upto = lambda time: [(row, diff) for row, at, diff in edges if at[0] <= time[0] and at[1] <= time[1]]
    flow = flow_of(name, time=("valid", "system"))
    with flow.run() as live:
        for row, time, diff in edges:
            (live.insert if diff > 0 else live.delete)("edges", [row], time=time)
        live.insert("sources", [(0,), (3,)], time=(0, 0))
        live.close()
        changes = live.changes("out").rows()
    for time in grid:
        present = Counter()
        for row, diff in upto(time):
            present[row] += diff
        wanted = rows_of(name, list(present.elements()), [(0,), (3,)])
        found = Counter()
        for *row, at, diff in changes:
            if at[0] <= time[0] and at[1] <= time[1]:
                found[tuple(row)] += diff
        assert {row: count for row, count in found.items() if count} == {row[:-1]: row[-1] for row in wanted}, time


# ---- what an edge is ------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted({*EVERY} - {"strongly_connected_edges"}))
def test_an_edge_given_twice_is_one_edge(name):
    once = [(1, 2), (2, 3), (3, 1), (3, 4)]
    assert rows_of(name, once + once[:2]) == rows_of(name, once)


@pytest.mark.parametrize("name", EVERY)
def test_an_edge_with_a_null_end_connects_nothing(name):
    some = [(1, 2), (2, 1)]
    assert rows_of(name, [*some, (1, None), (None, 2), (None, None)], [(1,), (None,)]) == rows_of(name, some)


@pytest.mark.parametrize("name", EVERY)
def test_whole_numbers_of_any_width_meet(name):
    edges = [(1, 2), (2, 3), (3, 1), (3, 4)]
    assert computed(flow_of(name, "src int, dst long", "root smallint"), edges) == rows_of(name, edges)


@pytest.mark.parametrize("name", EVERY)
def test_other_columns_do_not_matter(name):
    edges = [(1, 2), (2, 3), (3, 1), (3, 4)]
    more = [("x", src, 0.5, dst) for src, dst in edges]
    flow = flow_of(name, "kind string, src long, weight double, dst long", "name string, id long")
    assert computed(flow, more, [("one", 1)]) == rows_of(name, edges)


@pytest.mark.parametrize("name", EVERY)
def test_no_edges_no_rows(name):
    assert rows_of(name, [], []) == []


# ---- refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_edges_with_other_names_are_told_how_to_rename(name):
    with pytest.raises(UnknownColumn) as refused:
        flow_of(name, edges="start long, end long")
    assert refused.value.what == f"{name} takes edges with the columns src and dst; these have: start, end."
    assert refused.value.hint == 'Name them so: edges.rename({"start": "src", "end": "dst"}).'
    assert refused.value.at is not None and refused.value.at.file == __file__


def test_only_the_missing_name_is_asked_for():
    with pytest.raises(UnknownColumn) as refused:
        flow_of("triangles", edges="src long, weight double, target long")
    assert refused.value.hint == 'Name it so: edges.rename({"target": "dst"}).'
    with pytest.raises(UnknownColumn) as refused:
        flow_of("triangles", edges="src long")
    assert refused.value.hint == "An edge has two ends: a column src and a column dst."


@pytest.mark.parametrize("name", EVERY)
def test_ends_of_two_types_are_refused(name):
    with pytest.raises(TypeMismatch) as refused:
        flow_of(name, edges="src long, dst string")
    assert refused.value.what == (
        f"{name} takes edges between ids of one type; src is of type long, dst of type string."
    )
    assert refused.value.hint == 'Cast one: edges.with_columns(dst=edges.dst.cast("long")).'


@pytest.mark.parametrize("name", EVERY)
def test_rows_in_place_of_a_collection_are_refused(name):
    with pytest.raises(PlanError, match=f"{name} takes edges as a collection; got a list"):
        built(name, [(1, 2)], ebb.Dataflow().input("sources", "id long"))


@pytest.mark.parametrize("name", [name for name in EVERY if has_sources(name)])
def test_sources_are_ids_of_the_edges(name):
    with pytest.raises(TypeMismatch) as refused:
        flow_of(name, sources="name string")
    assert refused.value.what == (
        f"{name} takes sources that are ids of the edges, of type long; theirs are of type string."
    )
    assert refused.value.hint == 'Cast them: sources.select(id=sources["name"].cast("long")).'
    with pytest.raises(UnknownColumn) as refused:
        flow_of(name, sources="root long, name string")
    assert refused.value.what == f'{name} takes sources with the column "id"; these have: root, name.'
    assert refused.value.hint == 'Say which it is: sources.select(id="root").'


def test_a_weight_is_a_number_that_is_there():
    def of(weight):
        flow = ebb.Dataflow()
        edges, sources = (
            flow.input("edges", "src long, dst long, length double, name string"),
            flow.input("s", "id long"),
        )
        return algorithms.shortest_paths(edges, sources, weight=weight)

    with pytest.raises(UnknownColumn) as refused:
        of("lenght")
    assert refused.value.what == (
        'shortest_paths looks for the weight "lenght" in the edges, which have: src, dst, length, name.'
    )
    assert refused.value.hint == 'Did you mean "length"?'
    with pytest.raises(TypeMismatch, match="adds up weights, and 'name' is of type string"):
        of("name")


# ---- the house ------------------------------------------------------------------------------


def test_algorithms_load_when_asked_for():
    says = "import sys, ebbflow as ebb; print('ebbflow.algorithms' in sys.modules, ebb.algorithms.reachable.__name__)"
    assert subprocess.check_output([sys.executable, "-c", says], text=True).split() == ["False", "reachable"]


def test_names_are_those_of_networkx_but_for_a_few():
    assert {name for name in EVERY if not hasattr(nx, name)} == {"reachable", "strongly_connected_edges"}
