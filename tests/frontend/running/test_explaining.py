"""`live.explain(analyze=True)` says how often each tactic reduced a key."""

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


@pytest.mark.parametrize("workers", [1, 2])
def test_counts_are_those_of_the_keys_that_were_reduced(workers):
    flow = ebb.Dataflow()
    flow.output("degrees", flow.input("edges", "src long, dst long").group_by("src").count())
    with flow.run(workers=workers) as live:
        assert counted(live) == ["so far: no key"]
        live.insert("edges", [(1, 2), (1, 3), (2, 3)])
        live.commit()
        assert counted(live) == ["so far: totals 2 times"]
        live.delete("edges", [(1, 2)])
        live.commit()
        assert counted(live) == ["so far: totals 3 times"]


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
        lines = live.explain(analyze=True).splitlines()
        (at,) = (i for i, line in enumerate(lines) if "so far:" in line)
        above = [line for line in lines[:at] if not line.strip().startswith("- ")][-1]
        assert "distinct" in above
        (times,) = re.findall(r"so far: count scan (\d+) times", lines[at])
        assert 0 < int(times) < live.counters()["visits"]  # which has those of the join too


def test_kept_programs_count_too(tmp_path):
    flow = ebb.Dataflow()
    xs = flow.input("xs", "k long, x long")
    flow.output("least", xs.group_by("k").agg(x=ebb.min("x")))
    with flow.run(checkpoint=tmp_path / "kept") as live:
        live.insert("xs", [(1, 5), (1, 4)])
        live.commit()
        assert counted(live) and "no key" not in counted(live)[0]
