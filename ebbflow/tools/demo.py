"""A first look: reachability in a graph, one edge taken away, and what that cost beside starting over.

The small graph is shown whole, so that every line can be checked by eye; the larger one is there for the counts.  Then
the same program on Spark, fed by files as they appear.  The picture comes first and needs no compiler: on a new machine
the engine's kernels are compiled after it.

Rule: everything it prints was computed while you watched: the picture from the definition, all else by the engine.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ebbflow as ebb
from ebbflow.dataflow import nodes as n
from ebbflow.errors import EbbflowError
from ebbflow.runtime.oracle.histories import differences
from ebbflow.runtime.oracle.meaning import Meaning
from ebbflow.runtime.oracle.moment import Moment
from ebbflow.runtime.spark.session import require
from ebbflow.tools import warm

SMALL_GRAPH = [(1, 2), (2, 3), (3, 1), (3, 4)]
TAKEN_AWAY = (2, 3)
GOING = 100  # edges that leave the larger graph
GOING_ON_SPARK = 5
SHOWN_CHANGES = 5  # changes
DEMO_PROGRAM = """\
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
    print(DEMO_PROGRAM)
    print(
        f"Edges {_arrows(SMALL_GRAPH)}; root 1. The edge {_arrows([TAKEN_AWAY])} goes at time 1. "
        "Inside the loop, by time and round:\n"
    )
    print("\n".join(picture()) + "\n", flush=True)
    warm.wait_for_kernels()
    _on_the_small_graph()
    _on_a_larger_graph(nodes, edges)


def picture() -> list[str]:
    """What changes inside the loop on the small graph, by time and round, computed from the definition."""
    graph = program().graph
    meaning = Meaning(graph)
    variable = next(i for i, node in enumerate(graph.nodes) if isinstance(node, n.Feedback))
    given = {node.name: i for i, node in enumerate(graph.nodes) if isinstance(node, n.Input)}

    def values() -> Iterator[tuple[tuple[int, int], Any]]:
        for epoch, edges in enumerate((SMALL_GRAPH, [edge for edge in SMALL_GRAPH if edge != TAKEN_AWAY])):
            moment = Moment(meaning, {given["edges"]: dict.fromkeys(edges, 1), given["roots"]: {(1,): 1}})
            for turn in range(len(SMALL_GRAPH)):
                yield (epoch, turn), moment.at(variable, (turn,))

    cells: dict[tuple[int, ...], list[str]] = {}
    for (_, node), cell, diff in differences(values()):
        cells.setdefault(cell, []).append(f"{'+' if diff > 0 else '-'} node {node}")
    lines = [
        f"  round {turn} │ " + "".join(f"{', '.join(cells.get((epoch, turn), [])):<12}" for epoch in (0, 1)).rstrip()
        for turn in reversed(range(len(SMALL_GRAPH)))
    ]
    return [*lines, f"  {'':7} └{'─' * 24}", f"  {'':7}   {'time 0':<12}time 1"]


def _on_the_small_graph() -> None:
    with program().run() as live:
        print("The result, as the engine computes it. At time 0 the nodes that root 1 reaches appear:")
        live.insert("edges", SMALL_GRAPH, time=0)
        live.insert("roots", [(1,)], time=0)
        live.advance_to(1)
        print(live.changes("reach"))
        print(f"\nThe edge {_arrows([TAKEN_AWAY])} goes at time 1. What changes:")
        live.delete("edges", [TAKEN_AWAY], time=1)
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


def show_on_spark(nodes: int = 1000, edges: int = 2000) -> None:
    """The same program, fed by Structured Streaming; without Java or PySpark, a sentence."""
    try:
        require()
    except EbbflowError as error:
        print(f"\nThe part on Spark is left out: {error.what} {error.hint}")
        return
    drawn = random.Random(7)
    graph = list({(drawn.randrange(nodes), drawn.randrange(nodes)): None for _ in range(edges)})
    roots = [(root,) for root in range(10)]
    graph.sort(key=lambda edge: (edge[0],) not in roots)  # those that leave a root go: something is to be seen
    print(
        f"\nThe same program on Spark, fed by files: {nodes:,} nodes, {len(graph):,} edges. Spark starts ...",
        flush=True,
    )
    spark = ebb.spark()
    with tempfile.TemporaryDirectory() as place:
        _on_files(spark, Path(place), graph, roots)


def _on_files(spark: Any, place: Path, graph: list[tuple[int, int]], roots: list[tuple[int]]) -> None:
    for name in ("edges", "roots"):
        (place / name).mkdir()
    edges = spark.readStream.schema("src long, dst long, d long").json(str(place / "edges"))
    seen = spark.readStream.schema("root long").json(str(place / "roots"))
    told: list[list[Any]] = []
    print("The first micro-batch loads the graph ...", flush=True)
    query = program().stream(
        spark,
        checkpoint=str(place / "checkpoint"),
        inputs={"edges": ebb.changes(edges, diff="d"), "roots": ebb.append(seen)},
        outputs={"reach": ebb.each(lambda changes, progress: told.append(changes.collect()))},
    )
    try:
        _put(place / "roots", 0, [{"root": root} for (root,) in roots])
        _put(place / "edges", 0, [{"src": src, "dst": dst, "d": 1} for src, dst in graph])
        query.processAllAvailable()
        seconds = []
        print(f"{GOING_ON_SPARK} edges go, one a micro-batch ...", flush=True)
        for number, (src, dst) in enumerate(graph[:GOING_ON_SPARK], start=1):
            began = time.perf_counter()
            _put(place / "edges", number, [{"src": src, "dst": dst, "d": -1}])
            query.processAllAvailable()
            seconds.append(time.perf_counter() - began)
    finally:
        query.stop()
    print("The same result from nothing, in plain PySpark ...", flush=True)
    began = time.perf_counter()
    anew = _plainly(spark, graph[GOING_ON_SPARK:], roots)
    plainly = time.perf_counter() - began
    sums: dict[tuple[int, int], int] = {}
    for change in (change for changes in told for change in changes):
        sums[change["root"], change["node"]] = sums.get((change["root"], change["node"]), 0) + change["_diff"]
    assert {row for row, count in sums.items() if count} == anew, "the stream must give what starting over gives"
    most = max(range(1, len(told)), key=lambda step: len(told[step]))
    print(f"\nWhat changes when {_arrows([graph[most - 1]])} goes:")
    for change in sorted(map(tuple, told[most]))[:SHOWN_CHANGES]:
        print("  root {}, node {}, time {}: {:+d}".format(*change))
    if len(told[most]) > SHOWN_CHANGES:
        print(f"  ... and {len(told[most]) - SHOWN_CHANGES:,} more")
    print(f"  rows of the result                                {len(anew):>9,}")
    print(
        f"  seconds per micro-batch, median of {len(seconds)}              {sorted(seconds)[len(seconds) // 2]:>11,.2f}"
    )
    print(f"  seconds to start over in plain PySpark, once      {plainly:>11,.2f}, which gives the same result")


def _put(place: Path, number: int, rows: list[dict[str, int]]) -> None:
    beside = place / f".{number}"
    beside.write_text("\n".join(map(json.dumps, rows)))
    os.replace(beside, place / f"{number}.json")


def _plainly(spark: Any, graph: list[tuple[int, int]], roots: list[tuple[int]]) -> set[tuple[int, int]]:
    """The same result without us: joins until nothing new is found."""
    edges = spark.createDataFrame(graph, "src long, dst long").persist()
    found = spark.createDataFrame([(root, root) for (root,) in roots], "root long, node long").localCheckpoint()
    fresh = found
    while not fresh.isEmpty():
        steps = fresh.join(edges, fresh.node == edges.src).select("root", edges.dst.alias("node")).distinct()
        fresh = steps.exceptAll(steps.intersect(found)).localCheckpoint()
        found = found.union(fresh).localCheckpoint()
    edges.unpersist()
    return {(row["root"], row["node"]) for row in found.collect()}


def _spent(before: dict[str, Any], after: dict[str, Any]) -> dict[str, int]:
    return {name: int(after[name] - before[name]) for name in ("visits", "rows")}


def _arrows(edges: list[tuple[int, int]]) -> str:
    return ", ".join(f"{src} → {dst}" for src, dst in edges)
