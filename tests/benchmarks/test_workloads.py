"""Every workload gives the answers that its question has; only then does it matter how fast."""

from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest

from benchmarks import (
    arrangement,
    bfs,
    chains,
    components,
    degrees,
    draws,
    feeding,
    generator,
    hub,
    reach,
    recompute,
    scc,
    shapes,
    startup,
    sustained,
    workers,
)
from tests.benchmarks import by_hand

GRAPHS = {"degrees": degrees, "reach": reach, "bfs": bfs, "scc": scc, "components": components}
ASKED = [  # the tools that are installed, which is never all of them
    (tool, workload)
    for tool in recompute.TOOLS
    for workload in GRAPHS
    if recompute.can(tool, workload) and find_spec(tool) is not None
]
SMALL = {"nodes": 40, "edges": 80, "times": 30, "seed": 7}
ON_GRAPHS = [(workload, getattr(by_hand, name)) for name, workload in GRAPHS.items()]
NAMED = list(GRAPHS)
OF_THE_PEER = [
    ({"skew": 0}, [(413, 160), (331, 326), (343, 765), (267, 592), (539, 832), (802, 942)]),
    ({"skew": 1}, [(163, 160), (331, 326), (343, 0), (267, 92), (39, 832), (19, 442)]),
    ({"skew": 2}, [(25, 160), (331, 326), (93, 0), (17, 92), (9, 832), (0, 192)]),
    ({"skew": 3}, [(13, 35), (331, 326), (93, 0), (17, 92), (0, 832), (0, 67)]),
    ({"shape": "bipartite", "skew": 2}, [(413, 535), (826, 331), (343, 500), (592, 267), (39, 832), (567, 302)]),
    ({"shape": "grid"}, [(242, 211), (783, 782), (273, 242), (784, 783), (304, 273), (785, 784)]),
    ({"shape": "chain"}, [(127, 128), (980, 981), (834, 835), (688, 689), (542, 543), (396, 397)]),
    ({"shape": "star"}, [(64, 0), (0, 491), (917, 0), (0, 345), (771, 0), (0, 199)]),
]
UNEVEN = [
    {"skew": 1},
    {"skew": 3},
    {"shape": "bipartite", "skew": 2},
    *({"shape": s} for s in ("grid", "chain", "star")),
]


def test_edges_are_those_of_the_definition():
    window = generator.Window(1000, 20, 10)
    assert list(zip(window.src.tolist(), window.dst.tolist())) == [by_hand.edge(i, 1000) for i in range(30)]


@pytest.mark.parametrize("skew", [0, 1, 2, 3])
@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_edges_of_every_shape_and_skew_are_those_of_the_definition(shape, skew):
    for nodes in (7, 50, 1_000):
        window = generator.Window(nodes, 200, 100, 42, skew, shape)
        found = list(zip(window.src.tolist(), window.dst.tolist()))
        assert found == [by_hand.edge(i, nodes, 42, skew, shape) for i in range(300)]


@pytest.mark.parametrize(("graph", "edges"), OF_THE_PEER, ids=str)
def test_edges_are_those_that_the_peer_prints(graph, edges):
    """As `SKEW=3 SHAPE=random edges 1000 0 6` said."""
    window = generator.Window(1_000, 6, 0, **graph)
    assert list(zip(window.src.tolist(), window.dst.tolist())) == edges


@pytest.mark.parametrize("shape", ["grid", "chain", "star"])
def test_a_fixed_graph_comes_whole_before_an_edge_comes_again(shape):
    whole = shapes.edges_of(shape, 100)
    src, dst = shapes.stream(shape, 2 * whole, 100, 42, 0)
    edges = list(zip(src.tolist(), dst.tolist()))
    assert len(set(edges[:whole])) == whole and edges[whole:] == edges[:whole]
    assert 0 < shapes.window_of(shape, 100) < whole


def test_the_larger_the_skew_the_larger_the_hubs():
    largest = [np.bincount(shapes.stream("random", 20_000, 10_000, 42, skew)[0]).max() for skew in range(4)]
    assert largest[0] < 20 and all(2 * a < b for a, b in pairwise(largest))


def test_each_time_takes_the_oldest_edge_and_brings_a_new_one():
    window = generator.Window(1000, 20, 10)
    changes = window.changes(3, 2)
    rows = list(zip(*(changes[name].tolist() for name in ("src", "dst", "t", "d"))))
    e = [by_hand.edge(i, 1000) for i in range(30)]
    assert rows == [(*e[2], 3, -1), (*e[22], 3, 1), (*e[3], 4, -1), (*e[23], 4, 1)]
    assert window.single(3, 2) == [([e[2]], [e[22]]), ([e[3]], [e[23]])]


def test_sums_depend_on_the_time_of_every_change():
    one, other = generator.Checks(), generator.Checks()
    row = lambda *numbers: [np.array([number]) for number in numbers]
    one.add(*row(1, 2, 3, 1))
    other.add(*row(1, 2, 4, 1))
    assert one.final == other.final == by_hand.mix2(1, 2)
    assert one.times == by_hand.mix2(by_hand.mix2(1, 2), 3) != other.times
    one.add(*row(1, 2, 5, -1))
    assert one.final == 0 and one.size == 0 and one.updates == 2


@pytest.mark.parametrize("step", [1, 7, 30])
@pytest.mark.parametrize(
    ("workload", "answer"),
    ON_GRAPHS,
    ids=NAMED,
)
def test_a_workload_finds_what_starting_over_at_every_time_finds(workload, answer, step):
    assert workload.run(**SMALL, step=step)["checks"] == by_hand.checks(answer, **SMALL)


@pytest.mark.parametrize("graph", UNEVEN, ids=str)
@pytest.mark.parametrize(("workload", "answer"), ON_GRAPHS, ids=NAMED)
def test_on_power_laws_and_fixed_shapes_too(workload, answer, graph):
    given = SMALL | graph
    if (shape := graph.get("shape", "random")) not in shapes.DRAWN:
        given["edges"] = shapes.window_of(shape, given["nodes"])
    assert workload.run(**given, step=7)["checks"] == by_hand.checks(answer, **given)


def test_without_the_short_cut_and_with_two_workers_the_answers_are_the_same():
    assert degrees.run(**SMALL, step=10, general=True)["checks"] == by_hand.checks(by_hand.degrees, **SMALL)
    assert reach.run(**SMALL, step=10, workers=2)["checks"] == by_hand.checks(by_hand.reach, **SMALL)


@pytest.mark.parametrize(
    ("kind", "updates", "size"), [("join", 0, 0), ("join-general", 0, 0), ("count", 199, 1), ("min", 199, 1)]
)
def test_a_chain_changes_once_at_every_time(kind, updates, size):
    found = chains.run(kind, times=100)["checks"]
    assert (found["updates"], found["size"]) == (updates, size)


def test_a_minimum_of_several_live_values_moves_only_when_the_least_goes():
    assert chains.run("min", times=100, live=10)["checks"]["updates"] == 1 + 2 * 90


@pytest.mark.parametrize(("tool", "workload"), ASKED)
def test_starting_over_finds_the_last_answer(tool, workload, monkeypatch):
    monkeypatch.setattr(recompute, "ENOUGH", 0.0)
    found = recompute.run(tool, workload, **SMALL)["checks"]
    wanted = by_hand.checks(getattr(by_hand, workload), **SMALL)
    assert found == {"size": wanted["size"], "final": wanted["final"]}


def test_what_is_fed_is_read():
    by_numpy, by_arrow = (feeding.run(1000, form)["checks"] for form in ("numpy", "arrow"))
    assert by_numpy == by_arrow
    assert by_numpy["updates"] == 1000


def test_a_long_run_tells_how_its_end_compares_with_its_beginning():
    found = sustained.run(**SMALL)
    assert all(found[f"{name}_{share}"] > 0 for name in ("drift", "age", "plain") for share in ("p50", "p99"))
    assert found["memory_growth"] > 0 and found["windows"] == 1 and found["steps"]["p50"] > 0
    assert found["checks"] == by_hand.checks(by_hand.reach, **SMALL)


def test_the_end_of_a_long_run_takes_turns_with_sessions_begun_afresh(monkeypatch):
    """What is compared is eleven stretches of each, of the same size and over the same changes; one slow step does
    not decide.
    """
    monkeypatch.setattr(sustained.measure, "EDGE_OF_A_RUN", 10)
    gone, go_on = [], sustained.Going.go_on

    def noted(one, count):
        go_on(one, count)
        slow = len(gone) == 40  # a disturbance, in one stretch of one of them
        one.stretches[-1] = sustained.Stretch({"p50": 100.0 if slow else 1.0, "p99": 2.0}, one.stretches[-1].size)
        gone.append((id(one), count, one.checks.size))

    monkeypatch.setattr(sustained.Going, "go_on", noted)
    graph = {"nodes": 40, "edges": 80, "seed": 7}
    found = sustained.run(times=300, **graph)
    turns = gone[-3 * 11 :]
    old, same, first = (turns[i::3] for i in range(3))
    assert found["windows"] == 11 and len(gone) == 19 + 3 * 11
    assert {count for _, count, _ in gone} == {10} and [size for *_, size in old] == [size for *_, size in same]
    assert [size for *_, size in first] == [size for *_, size in gone[:11]], "the beginning, once more"
    assert found["age_p50"] == found["age_p99"] == 1
    assert found["drift_p50"] == pytest.approx(found["drift_p99"], rel=0.2), "the median of eleven sizes, or the next"
    assert found["checks"] == by_hand.checks(by_hand.reach, times=300, **graph)


def test_a_session_of_many_changes_does_exactly_what_one_begun_there_does():
    graph, before, more = {"nodes": 200, "edges": 400}, 3000, 200
    counts = lambda found: found["counts"]["times"]
    upto, whole = (counts(reach.run(step=1, times=times, **graph)) for times in (before, before + more))
    afresh = counts(reach.run(step=1, times=more, seed=draws.SEED + 2 * before, **graph))
    for name in ("visits", "rows", "changes", "answers"):
        assert whole[name] - upto[name] == afresh[name] > 0, name


def test_an_arrangement_tells_bytes_and_a_start_its_seconds():
    assert "bytes_per_edge" in arrangement.run(nodes=0, edges=2000, piece=500)
    assert 0 < startup.run("import")["s"] < 60


@pytest.mark.parametrize("kind", hub.KINDS)
def test_a_hub_answers_every_change(kind):
    found = hub.run(kind, values=50, times=20)
    assert found["checks"]["later"] == by_hand.hub_changes(kind, values=50, times=20)
    assert found["steps"]["p999"] > 0


def test_a_hub_of_many_values_takes_turns_with_one_of_few():
    found = hub.run("join", values=200, times=20, beside=50)
    assert found["growth"] > 0
    assert found["checks"] == hub.run("join", values=200, times=20)["checks"]


def test_one_worker_and_two_take_turns_and_find_the_same(monkeypatch):
    monkeypatch.setattr(workers, "TURN", 8)
    found = workers.run(**SMALL, step=4)
    assert found["checks"] == reach.run(**SMALL, step=4)["checks"]
    assert found["turns"] == 4 and found["share"] > 0


@pytest.mark.parametrize("workload", [degrees, reach, scc])
def test_a_step_with_one_answer_ends_where_those_with_many_end(workload):
    one, many = (workload.run(**SMALL, step=7, one_answer=which)["checks"] for which in (True, False))
    assert (one["size"], one["final"]) == (many["size"], many["final"])
    assert one["later"] < many["later"]
