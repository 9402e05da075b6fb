"""Partitions by their index: after every change of few rows among many, the answer is that of starting over."""

import random
from collections import Counter

import numpy as np
import pytest

from ebbflow.columns.schema import DOUBLE, LONG, NULL
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow.nodes import Frame, WindowFunction
from ebbflow.errors import NumberOverflow
from ebbflow.runtime.local import LocalRuntime
from ebbflow.runtime.oracle.moment import evaluate
from tests.meaning.programs import Sketch, schema

RUNNING, ROWS = Frame("range", None, 0), Frame("rows", None, 0)


def over(op, column=None, frame=None, **more):
    return WindowFunction(op, column, f"{op}{more.get('number', '')}", frame, **more)


ASKED = {
    "number": [over("row_number")],
    "rank": [over("rank")],
    "shares": [over("percent_rank"), over("cume_dist"), over("ntile", number=3)],
    "ahead": [over("lead", "c", number=2), over("lead", "c", number=-1, default="b")],
    "running sum": [over("sum", "c", RUNNING), over("count", "c", RUNNING), over("avg", "c", RUNNING)],
    "running rows": [over("sum", "c", ROWS), over("count_rows", None, ROWS), over("last_value", "c", ROWS)],
    "until before": [over("sum", "c", Frame("rows", None, -2)), over("count_rows", None, Frame("rows", None, -2))],
    "frame": [over("sum", "c", Frame("rows", -2, 1)), over("max", "c", Frame("rows", -2, 1))],
    "ahead frame": [over("min", "c", Frame("rows", 1, 3)), over("first_value", "c", Frame("rows", 1, 3))],
    "behind frame": [
        over("nth_value", "c", Frame("rows", -4, -2), number=2),
        over("count", "c", Frame("rows", -4, -2)),
    ],
    "marks": [over("count", "c", ROWS)],
    "marks and neighbours": [over("count", "c", ROWS), over("sum", "c", ROWS), over("lead", "b", number=1)],
    "rest": [over("sum", "c", Frame("range", 0, None)), over("min", "c", Frame("rows", 1, None))],
    "peers": [over("count_rows", None, Frame("range", 0, 0)), over("max", "c", Frame("range", 0, 0))],
    "extremes": [over("max", "c", RUNNING), over("first_value", "c", RUNNING)],
    "whole": [over("sum", "c")],
    "no index": [over("dense_rank"), over("lead", "c", number=1, skips_nulls=True)],
}


@pytest.mark.parametrize("order", ["b", "-b! c"])
@pytest.mark.parametrize("asked", ASKED)
def test_a_change_is_answered_as_if_everything_were_computed(asked, order):
    rng = random.Random(f"{asked} {order}")
    s = Sketch()
    source = s.input("x", schema(b=LONG, c=DOUBLE if rng.random() < 0.5 else LONG))
    out = s.window(source, (), order, *ASKED[asked])
    s.output("out", out)
    pool, here, shown = Pool(), Counter(), Counter()
    runtime = LocalRuntime(s.graph, workers=1, pool=pool, index_rows=4)
    for time in range(16):
        changes = []
        for _ in range(30 if time == 0 else rng.choice([1, 1, 2, 3, 12])):
            gone = time and rng.random() < 0.5 and list(here)
            row = rng.choice(sorted(gone)) if gone else (rng.randint(0, 12), rng.randint(0, 4))
            row = row if gone or rng.random() < 0.9 else (NULL, NULL)
            row = (row[0], NULL) if "marks" in asked and not gone and rng.random() < 0.7 else row
            diff = -1 if gone else rng.choice([1, 1, 1, 2, -1 if time % 5 == 4 else 1])
            here[row] += diff
            here = Counter({row: count for row, count in here.items() if count})
            changes.append((row, diff))
        lanes = np.array([row for row, _ in changes], np.int64).T.copy()
        times = np.full((len(changes), 1), time, np.int64)
        runtime.feed("x", lanes, times, np.array([diff for _, diff in changes], np.int64))
        runtime.advance({"x": ((time + 1,),)})
        found, _, diffs = runtime.take("out")
        for row, diff in zip(found.T.tolist(), diffs.tolist(), strict=True):
            shown[tuple(row)] += diff
        shown = Counter({row: count for row, count in shown.items() if count})
        right = evaluate(s.graph, out, {"x": dict(here)}, pool)
        assert shown == right, (time, changes, shown - Counter(right), Counter(right) - shown)
    runtime.close()


def work_of(rows, asked, place):
    """Comparisons and computed values of one row that comes to a partition of so many, at a place in it."""
    s = Sketch()
    out = s.window(s.input("x", schema(b=LONG, c=LONG)), (), "b", *ASKED[asked])
    s.output("out", out)
    runtime = LocalRuntime(s.graph, workers=1, pool=Pool())
    lanes = np.stack([2 * np.arange(rows), np.arange(rows) % 7]).astype(np.int64)
    spent = []
    for time, fed in enumerate([lanes, lanes[:, :1] - 1, np.array([[2 * int(place * rows) + 1], [3]], np.int64)]):
        before = runtime.counters()["replayed"]
        runtime.feed("x", fed, np.full((fed.shape[1], 1), time, np.int64), np.ones(fed.shape[1], np.int64))
        runtime.advance({"x": ((time + 1,),)})
        spent.append(runtime.counters()["replayed"] - before)
    changes = sum(np.abs(runtime.take("out")[2]))
    runtime.close()
    return spent[-1], changes


@pytest.mark.parametrize("asked, place", [("ahead", 0.5), ("frame", 0.5), ("number", 1.0), ("running sum", 1.0)])
def test_one_change_among_many_rows_costs_little_more_than_among_few(asked, place):
    few, _ = work_of(1_000, asked, place)
    many, _ = work_of(100_000, asked, place)
    assert many <= few + 60, (few, many)  # a hundred times as many rows: some comparisons more


@pytest.mark.parametrize("moved", [10, 1_000])
def test_a_mark_that_moves_costs_the_rows_that_it_passes(moved):
    """One row has a value, all others null; it moves, and another row comes far away, all at one time."""
    s, n = Sketch(), 100_000
    out = s.window(s.input("x", schema(b=LONG, c=LONG)), (), "b", over("count", "c", ROWS))
    s.output("out", out)
    runtime = LocalRuntime(s.graph, workers=1, pool=Pool())
    rows = np.stack([np.arange(n), np.full(n, NULL)]).astype(np.int64)
    marks = np.array([[n // 2, n // 2 + moved, 5], [1, 1, NULL]], np.int64)
    steps = [(rows, np.ones(n, np.int64)), (marks[:, :1], np.ones(1, np.int64)), (marks, np.array([-1, 1, 1]))]
    for time, (fed, diffs) in enumerate(steps):
        before = runtime.counters()["replayed"]
        runtime.feed("x", fed, np.full((fed.shape[1], 1), time, np.int64), diffs)
        runtime.advance({"x": ((time + 1,),)})
        changes = sum(np.abs(runtime.take("out")[2]))
    assert runtime.counters()["replayed"] - before < 4 * moved + 300
    assert changes == 2 * moved + 3  # those it passes, the mark, twice, and the row that came
    runtime.close()


def test_a_number_in_front_of_all_changes_all():
    work, changes = work_of(1_000, "number", 0.0)
    assert work >= 1_000 and changes >= 2_000


@pytest.mark.parametrize("rows", [4, 41])  # it is there before the step, or made in it
def test_a_refused_step_leaves_an_index_as_it_was(rows):
    s = Sketch()
    out = s.window(s.input("x", schema(b=LONG, c=LONG)), (), "b", over("row_number"), over("sum", "c", ROWS))
    s.output("out", out)
    runtime = LocalRuntime(s.graph, workers=1, pool=Pool(), index_rows=rows)
    lanes = np.stack([np.arange(40), np.arange(40)]).astype(np.int64)
    large = np.array([[7, 8, 9], [100, 2**62, 2**62]], np.int64)  # their sum leaves 64 bits
    for time, (fed, diff) in enumerate([(lanes, 1), (lanes[:, :2] + 50, 1), (large, 1), (lanes[:, 3:5], -1)]):
        runtime.feed("x", fed, np.full((fed.shape[1], 1), time, np.int64), np.full(fed.shape[1], diff, np.int64))
        if time == 2:
            with pytest.raises(NumberOverflow):
                runtime.advance({"x": ((time + 1,),)})
            runtime.discard()
        else:
            runtime.advance({"x": ((time + 1,),)})
    shown = Counter()
    found, _, diffs = runtime.take("out")
    for row, diff in zip(found.T.tolist(), diffs.tolist(), strict=True):
        shown[tuple(row)] += diff
    here = Counter(map(tuple, lanes.T.tolist())) + Counter(map(tuple, (lanes[:, :2] + 50).T.tolist()))
    here -= Counter(map(tuple, lanes[:, 3:5].T.tolist()))
    assert Counter({row: n for row, n in shown.items() if n}) == evaluate(s.graph, out, {"x": dict(here)}, Pool())
    runtime.close()
