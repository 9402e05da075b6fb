"""Outputs that are declared while the program runs."""

from __future__ import annotations

import random

import pytest

import ebbflow as ebb
from ebbflow.errors import HistoryGone, NotComplete, NotKept
from ebbflow.frontend.running import results
from tests.tuned import tuned


def program(late: bool):
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    pairs = edges.join(edges.select(node="dst", to="src"), on={"src": "node"})
    flow.output("pairs", pairs)
    if not late:
        declare(flow, edges)
    return flow, edges


def declare(flow, edges):
    flow.output("degrees", edges.group_by("src").agg(n=ebb.count(), most=ebb.max("dst")))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("options", [{}, {"seal_rows": 2, "keep_records": 2}], ids=["records", "sealed"])
def test_a_late_output_says_from_then_on_what_an_early_one_says(workers, options):
    draw = random.Random(7)
    early_flow, _ = program(late=False)
    late_flow, edges = program(late=True)
    early, late = (tuned(flow, workers=workers, **options) for flow in (early_flow, late_flow))
    there: list[tuple] = []
    for step in range(12):
        for live in (early, late):
            draw.seed(step)
            if live is early:
                kept = list(there)
            new = [(draw.choice([None, 1, 2, 3, 4]), draw.randrange(5)) for _ in range(6)]
            gone = draw.sample(kept, min(len(kept), 4))
            live.insert("edges", new, time=3 * step)
            live.delete("edges", gone, time=3 * step + 1)
            live.advance_to(3 * step + 3)
        there = kept + new
        for row in gone:
            there.remove(row)
        if step == 5:
            declare(late_flow, edges)
            late.changes("degrees")
    want, got = early.snapshot("degrees"), late.snapshot("degrees")
    assert list(got) == list(want)
    assert late.frontier("degrees") == early.frontier("degrees")


def test_its_past_stands_at_the_last_complete_time():
    flow, edges = program(late=True)
    live = flow.run()
    live.insert("edges", [(1, 2), (1, 3), (None, 4)], time=0)
    live.delete("edges", [(1, 2)], time=5)
    live.advance_to(8)
    declare(flow, edges)
    assert live.changes("degrees").rows() == [(None, 1, 4, 7, 1), (1, 1, 3, 7, 1)]


def test_an_input_that_is_kept_nowhere_is_refused_in_a_sentence_and_the_session_goes_on():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    flow.output("degrees", edges.group_by("src").count())
    live = flow.run()
    live.insert("edges", [(1, 2)], time=0)
    live.advance_to(1)
    flow.output("copy", edges)
    with pytest.raises(NotKept, match='reads the input "edges", of which this session keeps no whole copy') as refused:
        live.changes("copy")
    assert "Declare the output before flow.run()" in str(refused.value)
    live.insert("edges", [(1, 3)], time=1)
    live.advance_to(2)
    assert live.snapshot("degrees").rows() == [(1, 2, 1)]


# ---- what an output shows is read by a later one ---------------------------------------------------


def reachable(coordinates=("time",)):
    flow = ebb.Dataflow(time=coordinates)
    edges = flow.input("edges", "src long, dst long")
    roots = flow.input("roots", "node long")
    reach = roots.iterate(lambda r: r.join(edges, on={"node": "src"}).select(node="dst").concat(roots).distinct())
    flow.output("reach", reach)
    return flow, reach


def declare_more(flow, reach):
    by_parity = reach.select(odd=reach.node % 2, node="node")
    flow.output("parity", by_parity.group_by("odd").agg(n=ebb.count(), last=ebb.max("node")))


def declare_most(flow, reach):
    pairs = reach.select(odd=reach.node % 2).distinct().join(reach.select(node="node", odd=reach.node % 2), on="odd")
    flow.output("pairs", pairs)


@pytest.mark.parametrize("history", [None, "all"])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("coordinates", [("time",), ("epoch", "version")], ids=["line", "grid"])
def test_an_output_that_reads_what_another_shows_says_what_an_early_one_says(coordinates, workers, history):
    draw = random.Random(3)
    early_flow, reach = reachable(coordinates)
    declare_more(early_flow, reach)
    declare_most(early_flow, reach)
    late_flow, late_reach = reachable(coordinates)
    early, late = (flow.run(workers=workers, history=history) for flow in (early_flow, late_flow))
    width = len(coordinates)
    there: list[tuple] = []  # edges, and from when on
    for step in range(8):
        at = [(4 * step + draw.randrange(4), *(draw.randrange(3) for _ in coordinates[1:])) for _ in range(12)]
        news = [(draw.randrange(9), draw.randrange(9), time, 1) for time in at[:8]]
        for time in at[8:]:
            held = [edge for edge in there if all(s <= t for s, t in zip(edge[2], time, strict=True))]
            if held:
                there.remove(gone := draw.choice(held))
                news.append((*gone[:2], time, -1))
        there += [new[:3] for new in news if new[3] == 1]
        for live in (early, late):
            for src, dst, time, diff in news:
                live.apply("edges", {"src": [src], "dst": [dst]}, time=time if width > 1 else time[0], diff=diff)
            live.insert("roots", [(step,)], time=(4 * step, 0) if width > 1 else 4 * step)
            live.advance_to((4 * step + 4, 0) if width > 1 else 4 * step + 4)
        if step == 2:
            declare_more(late_flow, late_reach)
            late.changes("parity")
        if step == 4:
            declare_most(late_flow, late_reach)
            late.changes("pairs")
        for name in ("reach", *(["parity"] if step >= 2 else []), *(["pairs"] if step >= 4 else [])):
            assert late.frontier(name) == early.frontier(name)
            for first in range(4 * step, 4 * step + 4):
                for second in range(3 if width > 1 else 1):
                    time = (first, second) if width > 1 else first
                    assert list(late.snapshot(name, at=time)) == list(early.snapshot(name, at=time))
    for name in ("parity", "pairs"):
        assert list(late.snapshot(name)) == list(early.snapshot(name))


def test_it_computes_nothing_a_second_time():
    flow, reach = reachable()
    live = flow.run()
    live.insert("edges", [(i, i + 1) for i in range(400)])
    live.insert("roots", [(0,)])
    live.advance_to(1)
    whole = live.counters()["visits"]
    flow.output("n", reach.group_by().count())
    assert live.snapshot("n").rows() == [(401, 1)]
    live.delete("edges", [(399, 400)])
    live.advance_to(2)
    assert live.snapshot("n").rows() == [(400, 1)]
    assert live.counters()["visits"] - whole < whole // 10


def test_a_refused_step_leaves_a_later_output_as_it_was():
    flow, reach = reachable()
    live = flow.run()
    live.insert("roots", [(1,), (2,)])
    live.advance_to(1)
    flow.output("inverse", reach.select(x=10 // reach.node))
    assert live.snapshot("inverse").rows() == [(5, 1), (10, 1)]
    flow.output("sum", reach.group_by().agg(total=ebb.sum("node")))
    assert live.snapshot("sum").rows() == [(3, 1)]
    live.insert("roots", [(2**62,), (2**62 + 1,)])
    with pytest.raises(ebb.EbbflowError):
        live.advance_to(2)
    assert live.snapshot("reach").rows() == [(1, 1), (2, 1)]
    live.discard()
    live.insert("roots", [(5,)])
    live.advance_to(2)
    assert live.snapshot("sum").rows() == [(8, 1)]
    assert live.snapshot("inverse").rows() == [(2, 1), (5, 1), (10, 1)]


# ---- where inputs are not all as far ---------------------------------------------------------------


def two_inputs():
    flow = ebb.Dataflow()
    a, b = flow.input("a", "k long, v long"), flow.input("b", "k long, w long")
    return flow, a, b


def test_stages_that_hand_on_what_nobody_sees_are_no_outputs_to_read():
    flow, a, b = two_inputs()
    counts = a.group_by("k").agg(n=ebb.count())
    flow.output("counts", counts)
    flow.output("both", counts.join(b, on="k"))
    live = flow.run()
    live.insert("a", [(1, 2), (1, 3)])
    live.insert("b", [(1, 7)])
    live.advance_to(1)
    flow.output("late", counts.select("n").distinct())
    assert live.snapshot("late").rows() == [(2, 1)]


def test_what_reads_a_loop_waits_for_all_that_the_loop_waits_for():
    flow = ebb.Dataflow()
    a, b = flow.input("a", "x long"), flow.input("b", "x long")
    p, q = flow.iterate(lambda p, q: (p.concat(a).distinct(), q.concat(b).distinct()), p=a, q=b)
    flow.output("p", p)
    flow.output("q", q)
    live = flow.run(history="all")
    live.advance_to(1)
    flow.output("late", p.group_by().count())
    assert live.frontier("late") == live.frontier("p") == [(1,)]
    live.insert("a", [(7,)], time=2)
    live.advance_to(a=11)
    assert live.frontier("late") == live.frontier("p") == [(1,)]
    live.advance_to(a=11, b=11)
    assert [live.snapshot("late", at=at).rows() for at in (1, 2, 10)] == [[], [(1, 1)], [(1, 1)]]


def joined_late():
    """A join of two outputs that are not equally far, declared when the one is at 10 and the other at 3."""
    flow, a, b = two_inputs()
    flow.output("A", a.distinct())
    flow.output("B", b.distinct())
    live = flow.run()
    live.insert("a", [(1, 10)], time=0)
    live.insert("b", [(1, 20)], time=0)
    live.advance_to(a=5, b=1)
    live.advance_to(a=10, b=3)
    flow.output("J", a.distinct().join(b.distinct(), on="k"))
    return live


def test_a_past_that_was_summed_up_does_not_come_back():
    live = joined_late()
    live.delete("a", [(1, 10)], time=12)
    live.frontier("J")
    live.advance_to(a=14, b=7)
    for at in (3, 4):
        with pytest.raises(HistoryGone):
            live.snapshot("J", at=at)
    assert live.snapshot("J", at=5).rows() == live.snapshot("J", at=6).rows() == [(1, 10, 20, 1)]


def test_while_its_past_is_ahead_of_its_frontier_a_snapshot_says_so():
    live = joined_late()
    with pytest.raises(NotComplete, match="its past is summed up at 5, and its frontier is 3"):
        live.snapshot("J")
    live.advance_to(a=10, b=6)
    assert live.snapshot("J").rows() == [(1, 10, 20, 1)]


def test_times_that_are_lost_are_refused_and_the_session_goes_on():
    flow, a, b = two_inputs()
    flow.output("two", a.join(a, on={"v": "k"}, suffix="2"))
    flow.output("B", b.distinct())
    live = flow.run()
    live.insert("a", [(1, 2)], time=0)
    live.insert("b", [(1, 2)], time=0)
    live.advance_to(4)
    live.advance_to(5)
    flow.output("later", b.distinct().delay(lambda time: time + 10))
    with pytest.raises(NotKept, match="delays rows by their times, which are summed up by now"):
        live.frontier("later")
    live.advance_to(a=[])
    flow.output("copy", a.select("v"))
    with pytest.raises(NotKept, match='reads the input "a", which is closed: when its rows came is lost'):
        live.frontier("copy")
    live.insert("b", [(3, 4)], time=6)
    live.advance_to(b=7)
    assert live.snapshot("B").rows() == [(1, 2, 1), (3, 4, 1)]


def test_before_the_first_advance_it_is_where_the_others_are():
    flow, a, _ = two_inputs()
    flow.output("A", a)
    live = flow.run()
    flow.output("late", a.distinct())
    assert live.frontier("late") == live.frontier("A") == [(0,)]
    live.insert("a", [(1, 2)], time=2)
    live.advance_to(3)
    assert live.changes("late").rows() == [(1, 2, 2, 1)]


def test_an_interruption_before_the_session_knows_of_it_leaves_nothing_twice(monkeypatch):
    flow, a, _ = two_inputs()
    flow.output("A", a.distinct())
    live = flow.run()
    live.insert("a", [(1, 2)])
    live.advance_to(1)
    flow.output("late", a.distinct().select("v"))

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(results, "show", interrupt)
        with pytest.raises(KeyboardInterrupt):
            live.snapshot("late")
    assert live.changes("late").rows() == [(2, 0, 1)]
    live.insert("a", [(3, 4)])
    live.advance_to(2)
    assert live.changes("late").rows() == [(4, 1, 1)]
