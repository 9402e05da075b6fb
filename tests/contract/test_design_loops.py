"""What DESIGN 7 and 9 say of loops: the program of the page, nesting, mutual recursion, bounds, Ctrl-C."""

import os
import signal
import threading
import time

import pyarrow as pa
import pytest

import ebbflow as ebb
from ebbflow import col

# The program as it stands on the page.
# fmt: off
PAGE = """\
import ebbflow as ebb
from ebbflow import col

flow  = ebb.Dataflow()                                # Dataflow(time=("valid", "system")): two coordinates
edges = flow.input("edges", "src long, dst long")     # DDL as in Spark; or {"src": int, ...}, a dataclass, an Arrow or Spark schema
roots = flow.input("roots", "root long")              # flow.input(..., key="id"): rows are replaced by key (upsert)

start = roots.select("root", node="root")             # names keep, keywords name or compute
reach = start.iterate(lambda reach:
            reach.join(edges, on={"node": "src"})     # left columns, then the right's other columns
                 .select("root", node="dst")
                 .union(start)
                 .distinct())
flow.output("reach", reach)

with flow.run(workers=2) as live:                     # run(checkpoint="dir") survives restarts
    live.insert("edges", [(1, 2), (2, 3)], time=0)    # rows, dict of arrays, anything Arrow (pandas, Polars, DuckDB)
    live.insert("roots", [(1,)], time=0)
    live.delete("edges", [(2, 3)], time=7)
    live.apply("edges", table, time="ts", diff="d")   # bulk changes: per-row times and diffs, by column name or array
    live.advance_to(8)                                # no more input before 8: does the work. advance_to(edges=8, roots=5), or an antichain [(3, 0), (0, 5)]
    show(live.changes("reach"))                       # Table: root, node, _time, _diff: what became complete since the last call
    show(live.snapshot("reach", at=5))                # Table: root, node, _count
    show(live.frontier("reach"))                      # [(8,)]
    live.close()                                      # no more input, ever
"""  # noqa: E501
# fmt: on


def test_the_program_of_the_page():
    shown = []
    table = pa.table({"src": [3, 3], "dst": [4, 5], "ts": [1, 6], "d": [1, 2]})
    exec(PAGE, {"table": table, "show": shown.append})
    changes, snapshot, frontier = shown
    assert changes.columns == ["root", "node", "_time", "_diff"]
    come = [(1, 1, 0, 1), (1, 2, 0, 1), (1, 3, 0, 1), (1, 4, 1, 1), (1, 5, 6, 1)]
    assert changes.rows() == [*come, (1, 3, 7, -1), (1, 4, 7, -1), (1, 5, 7, -1)]
    assert snapshot.columns == ["root", "node", "_count"]
    assert snapshot.rows() == [(1, 1, 1), (1, 2, 1), (1, 3, 1), (1, 4, 1)]
    assert frontier == [(8,)]


def test_mutual_recursion_as_on_the_page():
    flow = ebb.Dataflow()
    steps, zero = flow.input("steps", "a long, b long"), flow.input("zero", "n long")
    start_a, start_b = zero, zero.filter(ebb.lit(False))
    a, b = flow.iterate(
        lambda a, b: (
            b.join(steps, on={"n": "a"}).select(n="b").union(zero).distinct(),
            a.join(steps, on={"n": "a"}).select(n="b").distinct(),
        ),
        a=start_a,
        b=start_b,
    )
    flow.output("even", a)
    flow.output("odd", b)
    with flow.run(workers=2) as live:
        live.insert("steps", [(i, i + 1) for i in range(5)], time=0)
        live.insert("zero", [(0,)], time=0)
        live.delete("steps", [(2, 3)], time=1)
        live.advance_to(1)
        assert [row[0] for row in live.snapshot("even")] == [0, 2, 4]
        assert [row[0] for row in live.snapshot("odd")] == [1, 3, 5]
        live.advance_to(2)
        assert [row[0] for row in live.snapshot("even")] == [0, 2]
        assert [row[0] for row in live.snapshot("odd")] == [1]


def components(flow, edges):
    both = edges.union(edges.select(src="dst", dst="src"))
    start = both.select(id="src", component="src").distinct()
    return start.iterate(
        lambda labels: (
            labels.join(both, on={"id": "src"})
            .select(id="dst", component="component")
            .union(start)
            .group_by("id")
            .agg(component=ebb.min("component"))
        )
    )


def test_a_loop_that_keeps_the_least_label():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    flow.output("components", components(flow, edges))
    with flow.run() as live:
        live.insert("edges", [(1, 2), (2, 3), (4, 5), (3, 4)], time=0)
        live.delete("edges", [(3, 4)], time=1)
        live.insert("edges", [(5, 3)], time=2)
        live.advance_to(3)
        assert [row[:2] for row in live.snapshot("components", at=0)] == [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1)]
        assert [row[:2] for row in live.snapshot("components", at=1)] == [(1, 1), (2, 1), (3, 1), (4, 4), (5, 4)]
        assert [row[:2] for row in live.snapshot("components", at=2)] == [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1)]


def test_loops_nest():
    """Strongly connected edges: those whose ends have one label, forwards and backwards, until none falls out."""
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")

    def same(graph, transposed):
        nodes = transposed.select(id="src", label="src").union(transposed.select(id="dst", label="dst")).distinct()
        labels = nodes.iterate(
            lambda labels: (
                labels.join(graph, on={"id": "src"})
                .select(id="dst", label="label")
                .union(nodes)
                .group_by("id")
                .agg(label=ebb.min("label"))
            )
        )
        return (
            transposed.join(labels.rename({"id": "src", "label": "a"}), on="src")
            .join(labels.rename({"id": "dst", "label": "b"}), on="dst")
            .filter(col("a") == col("b"))
            .select("src", "dst")
        )

    def body(inner):
        forward = same(inner, inner)
        back = forward.select(src="dst", dst="src")
        return same(back, back).select(src="dst", dst="src")

    flow.output("scc", edges.iterate(body))
    with flow.run() as live:
        live.insert("edges", [(1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 6), (6, 4)], time=0)
        live.delete("edges", [(6, 4)], time=1)
        live.insert("edges", [(6, 1)], time=2)
        live.advance_to(3)
        at = lambda t: [row[:2] for row in live.snapshot("scc", at=t)]
        assert at(0) == [(1, 2), (2, 3), (3, 1), (4, 5), (5, 6), (6, 4)]
        assert at(1) == [(1, 2), (2, 3), (3, 1)]
        assert at(2) == [(1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 6), (6, 1)]


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_max_rounds_applies_the_body_at_most_so_often(rounds):
    flow = ebb.Dataflow()
    xs = flow.input("xs", "x long")
    flow.output("out", xs.iterate(lambda c: c.select(x=col("x") + 1), max_rounds=rounds))
    assert flow.compute(xs=[(10,)])["out"].rows() == [(10 + rounds, 1)]


def test_a_bounded_loop_that_settles_early_is_at_its_end():
    flow = ebb.Dataflow()
    xs = flow.input("xs", "x long")
    flow.output("out", xs.iterate(lambda c: c.select(x=ebb.least(col("x") + 1, ebb.lit(12))).distinct(), max_rounds=50))
    assert flow.compute(xs=[(10,), (3,)])["out"].rows() == [(12, 1)]


def test_a_bounded_loop_raises_if_asked_and_the_session_stays():
    flow = ebb.Dataflow()
    xs = flow.input("xs", "x long")
    climbing = xs.iterate(
        lambda c: c.select(x=ebb.least(col("x") + 1, ebb.lit(100))).distinct(), max_rounds=5, on_limit="raise"
    )
    flow.output("out", climbing)
    with flow.run() as live:
        live.insert("xs", [(98,)])
        live.commit()
        assert live.snapshot("out").rows() == [(100, 1)]
        live.insert("xs", [(3,)])
        with pytest.raises(ebb.EbbflowError) as raised:
            live.commit()
        assert type(raised.value).__name__ == "NeverSettles"
        assert "5 rounds" in str(raised.value) and "max_rounds" in str(raised.value) and "line" in str(raised.value)
        live.discard()
        live.insert("xs", [(99,)])
        live.commit()
        assert live.snapshot("out").rows() == [(100, 1)]


def interrupt_soon(seconds=0.3):
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    return timer


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_in_a_long_loop_leaves_the_session_usable(workers):
    flow = ebb.Dataflow()
    xs = flow.input("xs", "x long")
    flow.output(
        "out", xs.iterate(lambda c: c.select(x=ebb.when(col("x") > 0, col("x") + 1).otherwise(col("x"))).distinct())
    )
    with flow.run(workers=workers) as live:
        live.insert("xs", [(-5,)])
        live.commit()
        live.insert("xs", [(1,)])
        timer = interrupt_soon()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            live.commit()
        timer.join()
        assert time.monotonic() - began < 20
        assert live.snapshot("out").rows() == [(-5, 1)]
        assert live.frontier("out") == [(1,)]
        live.discard()
        live.insert("xs", [(-7,)])
        assert live.commit()["out"].rows() == [(-7, 1, 1)]


def test_ctrl_c_in_a_users_function_leaves_the_session_usable():
    flow = ebb.Dataflow()
    xs = flow.input("xs", "x long")

    def slow(row):
        if row.x > 0:
            time.sleep(20)
        return (row.x,)

    flow.output("out", xs.map_rows(slow, "x long"))
    with flow.run() as live:
        live.insert("xs", [(1,)])
        timer = interrupt_soon()
        with pytest.raises(KeyboardInterrupt):
            live.commit()
        timer.join()
        live.discard()
        live.insert("xs", [(-7,)])
        assert live.commit()["out"].rows() == [(-7, 0, 1)]


def test_a_loop_over_several_workers_gives_the_same():
    def run(workers):
        flow = ebb.Dataflow()
        edges = flow.input("edges", "src long, dst long")
        flow.output("components", components(flow, edges))
        with flow.run(workers=workers) as live:
            live.apply(
                "edges",
                {"src": list(range(50)), "dst": [(i * 7 + 3) % 50 for i in range(50)], "t": [i % 5 for i in range(50)]},
                time="t",
            )
            live.apply("edges", {"src": list(range(25)), "dst": [(i * 7 + 3) % 50 for i in range(25)]}, time=6, diff=-1)
        return live.changes("components").rows()

    assert run(1) == run(2) == run(3)


def test_the_variables_of_one_loop_advance_together():
    """Each takes the other's value of the round before, so after an odd number of rounds they have changed places."""
    flow = ebb.Dataflow()
    xs, ys = flow.input("xs", "v long"), flow.input("ys", "v long")
    a, b = flow.iterate(lambda a, b: (b, a), a=xs, b=ys, max_rounds=3)
    flow.output("a", a)
    flow.output("b", b)
    out = flow.compute(xs=[(1,)], ys=[(2,)])
    assert out["a"].rows() == [(2, 1)] and out["b"].rows() == [(1, 1)]


def test_loop_bodies_need_not_consolidate():
    flow = ebb.Dataflow()
    xs = flow.input("xs", "x long")
    flow.output("out", xs.iterate(lambda c: c + c - c))
    with flow.run() as live:
        live.insert("xs", [(1,), (2,)])
        live.commit()
        live.delete("xs", [(1,)])
        live.commit()
        assert live.snapshot("out").rows() == [(2, 1)]
