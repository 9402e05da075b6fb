"""Steps cost what they change, for ever: work and memory of a step do not grow with the steps before it.

Counts, not seconds.  A window slides over edges one step at a time; keys come and go and never come back.
"""

import pytest

import ebbflow as ebb

WARM, LAST = 2_000, 1_000


def edge(i):
    """A graph of 100 nodes and 200 edges at a time, without randomness that could run dry."""
    return (i * 7919) % 100, (i * 104_729 + i // 3) % 100


def reaching():
    flow = ebb.Dataflow()
    edges, roots = flow.input("edges", "src long, dst long"), flow.input("roots", "root long")
    start = roots.select("root", node="root")
    step = lambda r: r.join(edges, on={"node": "src"}).select("root", node="dst").union(start).distinct()
    flow.output("reach", start.iterate(step), changes=False)
    return flow


def counted(live, steps, change):
    """The counters of each step, and the words that are alive after it."""
    seen = []
    before = live.counters()
    for i in range(steps):
        change(i)
        live.advance_to(i + 1)
        now = live.counters()
        seen.append({name: now[name] - before[name] for name in now if name != "words"} | {"words": now["words"]})
        before = now
    return seen


def mean(steps, name):
    return sum(step[name] for step in steps) / len(steps)


def sliding(live, steps, window=200):
    live.insert("roots", [(0,)], time=0)

    def change(i):
        live.insert("edges", [edge(i)], time=i)
        if i >= window:
            live.delete("edges", [edge(i - window)], time=i)

    return counted(live, steps, change)


@pytest.mark.slow
def test_a_sliding_window_costs_the_same_in_its_last_thousand_steps():
    with reaching().run() as live:
        steps = sliding(live, 20_000)
        first, last = steps[WARM : WARM + LAST], steps[-LAST:]
        for name in ("visits", "rows", "changes", "answers"):
            assert mean(last, name) < 1.3 * mean(first, name) + 1, name
        assert max(step["words"] for step in last) <= 1.1 * max(step["words"] for step in first)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_short_sliding_window_is_flat_too(workers):
    with reaching().run(workers=workers) as live:
        steps = sliding(live, 3_000 if workers == 1 else 1_500, window=100)
        middle = len(steps) // 2
        first, last = steps[middle - 400 : middle], steps[-400:]
        assert mean(last, "rows") < 1.5 * mean(first, "rows") + 1
        assert max(step["words"] for step in last) <= 1.25 * max(step["words"] for step in first)


def grouping(flow, things):
    flow.output("n", things.group_by("k").count(), changes=False)


def joining(flow, things):
    flow.output("out", things.join(things.select(k="k", w="v"), on="k"), changes=False)


def looping(flow, things):
    flow.output("out", things.iterate(lambda c: c.union(things).distinct()), changes=False)


def topping(flow, things):
    flow.output("out", things.group_by("k").top(1, order_by="-v"), changes=False)


@pytest.mark.parametrize("make", [grouping, joining, looping, topping])
def test_keys_that_come_and_go_for_ever_leave_nothing_behind(make):
    flow = ebb.Dataflow()
    make(flow, flow.input("things", "k long, v long"))
    with flow.run() as live:

        def change(i):
            live.insert("things", [(i, i % 3)], time=i)
            if i >= 10:
                live.delete("things", [(i - 10, (i - 10) % 3)], time=i)

        steps = counted(live, 12_000, change)
        first, last = steps[3_000:6_000], steps[-3_000:]
        assert max(step["words"] for step in last) <= 1.1 * max(step["words"] for step in first)
        assert mean(last, "rows") <= 1.1 * mean(first, "rows") + 1


def test_what_an_output_has_shown_is_summed_up_as_it_goes(monkeypatch):
    """What a session holds beside the engine: as much as the collection is large, however long it has been changing."""
    monkeypatch.setattr("ebbflow.frontend.running.output_log.LOG", 256)  # changes kept as they came; more otherwise
    flow = ebb.Dataflow()
    flow.output("n", flow.input("xs", "x long").group_by("x").count(), changes=False)
    with flow.run() as live:
        held = []
        for i in range(4_000):
            live.insert("xs", [(i % 50,)], time=i)
            live.advance_to(i + 1)
            held.append(sum(len(part.diffs) for part in live._outputs["n"]._log))
        assert max(held[-1_000:]) <= max(held[1_000:2_000]) <= 1_000
        assert len(live.snapshot("n")) == 50


def test_times_of_two_coordinates_are_forgotten_as_the_frontier_passes():
    flow = ebb.Dataflow(time=("valid", "system"))
    flow.output("n", flow.input("xs", "x long").group_by("x").count(), changes=False)
    with flow._run_tuned({"forget_times": 64}) as live:  # a few thousand otherwise, which would take longer
        words = []
        for i in range(1_500):
            live.insert("xs", [(i % 5,)], time=(i, i))
            if i >= 10:
                live.delete("xs", [((i - 10) % 5,)], time=(i, i))
            live.advance_to((i + 1, i + 1))
            words.append(live.counters()["words"])
        assert max(words[-400:]) <= 1.25 * max(words[400:800])
