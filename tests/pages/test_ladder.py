"""Claims about the ladder: every rung is short, stands alone, and gives the changes that rung 0 gives."""

import ast
import runpy
from functools import cache
from random import Random

import numpy as np
import pytest

from tests.house.layers import ROOT

RUNGS = sorted((ROOT / "docs" / "ladder").glob("rung*.py"))
PLAIN = RUNGS[:5]


@cache  # one of them compiles a kernel
def loaded(path):
    return runpy.run_path(str(path))


def asked(names, edges):
    """A rung's answer for other edges than its own."""
    answer = names["answer"]
    there = answer.__globals__
    own = {name: there[name] for name in ("EDGES", "ARRIVAL", "FRONTIERS") if name in there}
    there["EDGES"] = np.array([(*edge, time, diff) for edge, time, diff in edges]) if "np" in there else edges
    if "ARRIVAL" in there:
        there["ARRIVAL"], there["FRONTIERS"] = [edges[::2], edges[1::2]], [0, 100]
    try:
        return answer()
    finally:
        there.update(own)


def a_history(random):
    """Edges between four nodes that come and go: a deletion only of what is there."""
    there, changes = [], []
    for time in range(random.randint(1, 8)):
        for _ in range(random.randint(0, 3)):
            if there and random.random() < 0.4:
                edge = there.pop(random.randrange(len(there)))
                changes.append((edge, time, -1))
            else:
                edge = (random.randint(1, 4), random.randint(1, 4))
                there.append(edge)
                changes.append((edge, time, 1))
    merged = {}
    for edge, time, diff in [*changes, ((9, 9), 0, 1)]:  # the root is there from time 0 on, so something happens then
        merged[edge, time] = merged.get((edge, time), 0) + diff
    return [(edge, time, diff) for (edge, time), diff in merged.items() if diff]


def test_there_are_seven():
    assert [path.stem for path in RUNGS] == [
        "rung0_bag", "rung1_changes", "rung2_index", "rung3_frontiers", "rung4_loops", "rung5_columns", "rung6_spark",
    ]  # fmt: skip


@pytest.mark.parametrize("path", RUNGS, ids=lambda path: path.stem)
def test_a_rung_is_short_and_plain_python_as_long_as_possible(path):
    text = path.read_text()
    tree = list(ast.walk(ast.parse(text)))
    imported = {name.name.split(".")[0] for node in tree if isinstance(node, ast.Import) for name in node.names}
    imported |= {str(node.module).split(".")[0] for node in tree if isinstance(node, ast.ImportFrom)}
    allowed = {"rung5_columns": {"numpy", "numba"}, "rung6_spark": {"ebbflow"}}.get(path.stem, {"collections"})
    assert imported <= allowed
    assert len(text.splitlines()) <= 90


@pytest.mark.parametrize("path", RUNGS[1:], ids=lambda path: path.stem)
def test_a_rung_gives_what_rung_0_gives(path):
    right = loaded(RUNGS[0])["answer"]()
    assert right[-1] == (4, 12, 1) and len(right) == 7
    assert loaded(path)["answer"]() == right


@pytest.mark.parametrize("path", RUNGS[1:], ids=lambda path: path.stem)
def test_so_it_does_for_edges_at_random(path):
    first, rung = loaded(RUNGS[0]), loaded(path)
    for seed in range(1000 if path in PLAIN else 60):
        edges = a_history(Random(seed))
        assert asked(rung, edges) == asked(first, edges), f"seed {seed}"


@pytest.mark.parametrize("path", RUNGS[1:], ids=lambda path: path.stem)
def test_a_result_changes_where_two_unordered_times_meet(path):
    """Node 4 comes at (0, 2) by three edges, and at (3, 1) by two: at (3, 2) one of the two must go."""
    edges = [((1, 2), 0, 1), ((2, 3), 0, 1), ((3, 4), 0, 1), ((2, 4), 3, 1)]
    assert asked(loaded(path), edges) == [(node, 0, 1) for node in (1, 2, 3, 4)]


@pytest.mark.slow
def test_on_spark_rung_6_gives_it_too(spark):
    assert loaded(RUNGS[6])["answer"](spark) == loaded(RUNGS[0])["answer"]()


def test_an_index_touches_less_than_computing_anew():
    names = loaded(PLAIN[2])
    names["answer"].__globals__["touched"] = 0
    names["answer"]()
    assert 0 < names["answer"].__globals__["touched"] < 80
