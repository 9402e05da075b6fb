"""What histories cost, by operation counts: lines cost what lines cost, and a grid its times.

Counts, not seconds: they are the same on every machine.
"""

import numpy as np
import pytest

from ebbflow.columns.text_pool import Pool
from tests.meaning.programs import ONE, Sketch, call, lit
from tests.meaning.runtimes import RUNTIMES


def feed(runtime, name, times, diffs):
    count = len(times)
    runtime.feed(name, np.full((1, count), 7, np.int64), np.array(times, np.int64), np.array(diffs, np.int64))


def work(runtime):
    """Everything that is counted and not merely held."""
    counted = runtime.counters()
    return sum(counted[name] for name in ("visits", "rows", "changes", "answers", "replayed"))


def flicker(count):
    return [1 if i % 2 == 0 else -1 for i in range(count)]


def counting(*coordinates):
    s = Sketch(*coordinates)
    s.output("out", s.aggregate(s.input("x", ONE), ("a",), n=("count_rows", None)))
    return RUNTIMES["local-1"](s.graph, Pool())


def joining(*coordinates):
    s = Sketch(*coordinates)
    s.output("out", s.join(s.input("x", ONE), s.input("y", ONE), {"a": "a"}, a="left.a"))
    return RUNTIMES["local-1"](s.graph, Pool())


def count_along(times):
    runtime = counting("one", "two")
    feed(runtime, "x", times, [1] * len(times))
    runtime.advance({"x": ()})
    return runtime


def join_along(*lines):
    runtime = joining(*("one", "two")[: len(lines[0][0])])
    for name, line in zip("xy", lines, strict=True):
        feed(runtime, name, line, flicker(len(line)))
    runtime.advance({"x": (), "y": ()})
    return runtime


def lines(count):
    return [(i, 0) for i in range(count)], [(i, 1) for i in range(count)]


def test_a_reduction_along_two_parallel_lines_is_near_linear():
    few, many = (work(count_along([*lines(count)[0], *lines(count)[1]])) for count in (100, 800))
    assert many < 8 * few * 1.25


def test_a_reduction_over_a_grid_answers_once_at_each_of_its_times():
    for count in (10, 20, 40):
        corner = [(i, 0) for i in range(count)] + [(0, i) for i in range(1, count)]
        assert count_along(corner).counters()["answers"] == count * count


def test_a_replay_over_a_grid_looks_at_few_buffered_rows_for_each_of_its_times():
    """At a time of an n by n grid some n buffered times can still be told apart, and no more."""
    for count in (10, 20, 40):
        corner = [(i, 0) for i in range(count)] + [(0, i) for i in range(1, count)]
        everywhere = [(i, j) for i in range(count) for j in range(count)]
        for times in (corner, everywhere):
            assert count_along(times).counters()["replayed"] <= 16 * count**3


def test_a_join_along_one_line_is_near_linear():
    few, many = (
        work(join_along([(2 * i,) for i in range(count)], [(2 * i + 1,) for i in range(count)])) for count in (100, 800)
    )
    assert many < 8 * few * 1.25


def test_a_join_along_two_parallel_lines_is_near_linear():
    few, many = (work(join_along(*lines(count))) for count in (100, 800))
    assert many < 8 * few * 1.5


def odd_and_even(count):
    """One record at many times, counted; the odd counts never meet the even ones."""
    s = Sketch()
    counts = s.aggregate(s.input("x", ONE), ("a",), n=("count_rows", None))
    parity = call("mod", s.col(counts, "n"), lit(2))
    odd, even = (s.filter(counts, call("eq", parity, lit(rest))) for rest in (1, 0))
    s.output("out", s.join(odd, even, {"a": "a"}, a="left.a", n="left.n", m="right.n"))
    runtime = RUNTIMES["local-1"](s.graph, Pool())
    feed(runtime, "x", [(i,) for i in range(count)], [1] * count)
    runtime.advance({"x": ()})
    assert len(runtime.take("out")[2]) == 0
    return runtime


def test_odd_counts_and_even_counts_never_meet_and_cost_near_linear_work():
    few, many = (work(odd_and_even(count)) for count in (500, 4000))
    assert many < 8 * few * 1.25


@pytest.mark.slow
def test_odd_counts_and_even_counts_at_a_million_times():
    assert work(odd_and_even(1_000_000)) < 1.25 * 1000 * work(odd_and_even(1000))
