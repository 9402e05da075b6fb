"""`live.explain(analyze=True)` says how often the walk visited each node, and how often each tactic reduced a key."""

from __future__ import annotations

import re

import pytest

import ebbflow as ebb


def counted(live):
    return [line.strip()[2:] for line in live.explain(analyze=True).splitlines() if "so far:" in line]


def reach():
    flow = ebb.Dataflow()
    edges, start = flow.input("edges", "src long, dst long"), flow.input("start", "node long")
    flow.output(
        "reach",
        start.iterate(lambda r: r.join(edges, on={"node": "src"}).select(node="dst").union(start).distinct()),
    )
    return flow


def told(live, words):
    """What is told of the work at the first node that says these words."""
    lines = live.explain(analyze=True).splitlines()
    at = next(i for i, line in enumerate(lines) if re.match(rf" *\d+ +{words}\b", line))
    return next(line.strip()[2:] for line in lines[at:] if "so far:" in line)


def lengthened(live):
    """A chain of five edges, walked from its start, and then one more."""
    live.insert("edges", [(i, i + 1) for i in range(5)])
    live.insert("start", [(0,)])
    live.commit()
    live.insert("edges", [(5, 6)])
    live.commit()


@pytest.mark.parametrize("workers", [1, 2])
def test_counts_are_those_of_the_visits_and_of_the_keys_that_were_reduced(workers):
    flow = ebb.Dataflow()
    flow.output("degrees", flow.input("edges", "src long, dst long").group_by("src").count())
    with flow.run(workers=workers) as live:
        assert counted(live) == ["so far: never visited"]
        live.insert("edges", [(i, k) for i in range(100) for k in range(3)])  # every worker has some
        live.commit()
        assert counted(live) == [f"so far: visited {'once' if workers == 1 else '2 times'}; totals 100 times"]
        live.delete("edges", [(1, 2)])
        live.commit()
        assert counted(live) == [f"so far: visited {workers + 1} times; totals 101 times"]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_node_in_a_loop_is_visited_in_each_round_that_has_something_for_it(workers):
    with reach().run(workers=workers) as live:
        live.insert("edges", [(i, i + 1) for i in range(5)])
        live.insert("start", [(0,)])
        live.commit()
        (before,) = map(int, re.findall(r"visited (\d+) times;", told(live, "distinct")))
        # 0 and 1 at round 0, perhaps on two workers; then one at each of four rounds
        assert before == 5 if workers == 1 else before in (5, 6)
        assert told(live, "arrange by node") == "so far: visited 2 times"  # the start comes, and goes a round later
        live.insert("edges", [(5, 6)])
        live.commit()
        assert f"visited {before + 1} times;" in told(live, "distinct")
        assert told(live, "arrange by node") == "so far: visited 2 times"


def test_a_walk_that_is_taken_in_steps_visits_as_often(monkeypatch):
    with reach().run() as live:
        lengthened(live)
        at_once = counted(live)
    with reach().run(explore=True) as live:  # node by node, by a clock
        lengthened(live)
        assert counted(live) == at_once
    monkeypatch.setattr("ebbflow.engine.walk.FULL", 0)  # it pauses after each
    with reach().run() as live:
        lengthened(live)
        assert counted(live) == at_once


def test_an_index_is_told_of_where_it_is_asked_for_and_only_what_had_something_to_do_is_visited():
    flow = ebb.Dataflow()
    left, right = flow.input("left", "a long, b long"), flow.input("right", "b long, c long")
    flow.output("both", left.join(right, on="b"))
    with flow.run() as live:
        live.insert("left", [(1, 2)])
        live.commit()
        assert counted(live) == ["so far: visited once", "so far: never visited"]
        assert told(live, "arrange by") == "so far: visited once"
        live.insert("right", [(2, 3)])
        live.commit()
        assert counted(live) == ["so far: visited once", "so far: visited once"]


def test_a_function_of_python_is_one_visit():
    flow = ebb.Dataflow()
    flow.output("more", flow.input("xs", "x long").map_rows(lambda row: (row.x + 1,), {"x": int}))
    with flow.run() as live:
        live.insert("xs", [(1,), (2,)])
        live.commit()
        assert counted(live) == ["so far: visited once"]


def test_without_analyze_it_is_the_plan_that_the_program_shows():
    flow = reach()
    with flow.run() as live:
        assert str(live.explain()) == str(flow.explain())
        live.insert("edges", [(1, 2)])
        live.insert("start", [(1,)])
        live.commit()
        assert str(live.explain()) == str(flow.explain())


def test_a_reduction_in_a_loop_is_counted_at_the_node_that_the_user_wrote():
    flow = reach()
    with flow.run() as live:
        live.insert("edges", [(1, 2), (2, 3), (3, 1)])
        live.insert("start", [(1,)])
        live.commit()
        live.delete("edges", [(2, 3)])
        live.commit()
        (times,) = re.findall(r"; count scan (\d+) times", told(live, "distinct"))
        assert 0 < int(times) < live.counters()["visits"]  # which has those of the join too


def test_kept_programs_count_too(tmp_path):
    flow = ebb.Dataflow()
    xs = flow.input("xs", "k long, x long")
    flow.output("least", xs.group_by("k").agg(x=ebb.min("x")))
    with flow.run(checkpoint=tmp_path / "kept") as live:
        live.insert("xs", [(1, 5), (1, 4)])
        live.commit()
        assert re.fullmatch("so far: visited once; .* once", counted(live)[0])
    with flow.run(checkpoint=tmp_path / "kept") as live:
        live.delete("xs", [(1, 4)])
        live.commit()
        assert re.match("so far: visited 2 times; ", counted(live)[0])  # it goes on
