"""A first look: reachability in a graph, one edge taken away, and what that cost beside starting over.

The small graph is shown whole, so that every line can be checked by eye; the larger one is there for the counts.

Rule: everything it prints was computed while you watched, through the public interface alone.
"""

from __future__ import annotations

import random
from typing import Any

import ebbflow as ebb

SMALL = [(1, 2), (2, 3), (3, 1), (3, 4)]
GONE = (2, 3)
GOING = 100  # edges that leave the larger graph
PROGRAM = """\
flow  = ebb.Dataflow()
edges = flow.input("edges", "src long, dst long")
roots = flow.input("roots", "root long")
start = roots.select("root", node="root")
reach = start.iterate(lambda reach:
            reach.join(edges, on={"node": "src"}).select("root", node="dst").union(start).distinct())
flow.output("reach", reach)
"""


def program() -> ebb.Dataflow:
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    roots = flow.input("roots", "root long")
    start = roots.select("root", node="root")
    reach = start.iterate(
        lambda reach: reach.join(edges, on={"node": "src"}).select("root", node="dst").union(start).distinct()
    )
    flow.output("reach", reach)
    return flow


def show(nodes: int = 1000, edges: int = 2000) -> None:
    print(PROGRAM)
    _on_the_small_graph()
    _on_a_larger_graph(nodes, edges)


def _on_the_small_graph() -> None:
    with program().run() as live:
        print(f"edges {_arrows(SMALL)}, root 1; at time 0 the nodes it reaches appear:")
        live.insert("edges", SMALL, time=0)
        live.insert("roots", [(1,)], time=0)
        live.advance_to(1)
        print(live.changes("reach"))
        print(f"\nThe edge {_arrows([GONE])} goes at time 1. What changes:")
        live.delete("edges", [GONE], time=1)
        live.advance_to(2)
        print(live.changes("reach"))


def _on_a_larger_graph(nodes: int, edges: int) -> None:
    drawn = random.Random(7)
    graph = list({(drawn.randrange(nodes), drawn.randrange(nodes)): None for _ in range(edges)})
    gone, kept = graph[:GOING], graph[GOING:]
    roots = [(root,) for root in range(10)]
    print(f"\nA random graph of {nodes:,} nodes and {len(graph):,} edges, 10 roots; {len(gone)} edges go, one by one.")

    with program().run() as live:
        live.insert("edges", graph, time=0)
        live.insert("roots", roots, time=0)
        live.advance_to(1)
        live.changes("reach")
        before = live.counters()
        for time, edge in enumerate(gone, start=1):
            live.delete("edges", [edge], time=time)
            live.advance_to(time + 1)
        maintained = _spent(before, live.counters())["rows"] / len(gone)
        changed = len(live.changes("reach")) / len(gone)
        now = sorted(live.snapshot("reach"))

    with program().run() as fresh:
        fresh.insert("edges", kept, time=0)
        fresh.insert("roots", roots, time=0)
        before = fresh.counters()
        fresh.advance_to(1)
        anew = _spent(before, fresh.counters())["rows"]
        assert sorted(fresh.snapshot("reach")) == now, "keeping a result up to date must give what starting over gives"

    print(f"  rows of the result                       {len(now):>9,}")
    print(f"  of them changed, per edge that went      {changed:>11,.1f}")
    print(f"  rows touched to keep it right, per edge  {maintained:>11,.1f}")
    print(f"  rows touched by starting over once       {anew:>9,}, which gives the same result")


def _spent(before: dict[str, Any], after: dict[str, Any]) -> dict[str, int]:
    return {name: int(after[name] - before[name]) for name in ("visits", "rows")}


def _arrows(edges: list[tuple[int, int]]) -> str:
    return ", ".join(f"{src} → {dst}" for src, dst in edges)
