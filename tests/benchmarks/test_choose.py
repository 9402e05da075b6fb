"""What a person asks for is what runs."""

import pytest

from benchmarks import shapes
from benchmarks.choose import chosen


def ask(*names, size="seed", steps=(), workers=(), times=None, seed=42, **graph):
    return chosen(names, size, steps, workers, times, seed, **graph)


def test_a_step_of_the_table_keeps_its_goal_and_another_has_none():
    (ten, seven) = ask("scc", steps=(10, 7))
    assert (ten.step, ten.measures[0].first) == (10, 0.4)
    assert (seven.step, seven.options["step"], seven.measures[0].first) == (7, 7, None)
    assert seven.rust == ("scc", "1000", "2000", "7", "2000", "1")


def test_workers_are_chosen_likewise():
    assert {row.workers for row in ask("reach", workers=(2,))} == {2}
    assert all(row.options["workers"] == 2 for row in ask("reach", workers=(2,)))


def test_other_times_and_seeds_are_those_of_the_peer_too():
    for row in ask("reach", "bfs", times=50, seed=7):
        assert row.options["times"] == 50 and row.options["seed"] == 7
        assert row.rust is None if row.options.get("one_answer") else "50" in row.rust
    (count,) = (row for row in ask("chains", times=50) if row.workload == "chains, count")
    assert count.rust == ("chains", "count-total", "50", "1")
    assert {row.rust[3] for row in ask("hub", size="small", times=50)} == {"50"}


def test_a_skew_of_the_table_keeps_its_goal_and_another_has_none():
    (of_the_table,) = ask("bfs", steps=(100,), skew=3)
    assert (of_the_table.size, of_the_table.measures[0].first) == ("1k/2k, skew 3", 0.35)
    (other,) = ask("bfs", steps=(100,), skew=1)
    assert (other.size, other.options["skew"], other.measures[0].first) == ("1k/2k, skew 1", 1, None)
    (plain,) = ask("bfs", size="skewed", steps=(1,), skew=0)
    assert plain.size == "1k/2k" and "skew" not in plain.options and plain.measures[0].first == 0.3


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_a_shape_has_the_edges_that_it_has(shape):
    for row in ask("reach", shape=shape, steps=(1,)):
        edges = row.options["edges"]
        assert edges == shapes.window_of(shape, 1_000)
        assert row.rust is None if row.options.get("one_answer") else str(edges) in row.rust
        assert row.options.get("skew") == (2 if shape == "bipartite" else None), "few products are bought by many"


def test_rows_of_the_graph_are_preferred_to_others_on_it():
    found = ask("bfs", "degrees", "hub", "startup", size="skewed", shape="star")
    assert {(row.workload, row.size) for row in found} == {("bfs", "star of 10k")}


def test_a_skew_leaves_out_what_has_none():
    assert {row.options["skew"] for row in ask(size="skewed", skew=1)} == {1}
    found = ask(size="skewed", skew=2)
    assert found and all(row.options["skew"] == 2 for row in found)
    assert {row.options.get("shape", "random") for row in found} == set(shapes.DRAWN)
    assert len({row.label for row in found}) == len(found)
