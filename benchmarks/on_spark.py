"""On Spark: what a step costs beside recomputing, and what a large load takes of memory.

    python -m benchmarks.on_spark step --shards 8           one change on a view with a loop of twenty rounds
    python -m benchmarks.on_spark load --edges 10000000     edges through Spark into degrees and reach
    python -m benchmarks.on_spark components                one, 200 and 2,000 changes beside a recomputation by Spark

Rule: the peer is Spark itself, recomputing the same view in the same run and the same session.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import ebbflow as ebb
from ebbflow.algorithms import connected_components

MASTER = "local[2]"


def median(seconds: list[float]) -> float:
    return sorted(seconds)[len(seconds) // 2]


def reachability(roots: int = 1) -> ebb.Dataflow:
    flow = ebb.Dataflow()
    edges, start = flow.input("edges", "src long, dst long"), flow.input("roots", "root long")
    begin = start.select("root", node="root")
    step = lambda reach: reach.join(edges, on={"node": "src"}).select("root", node="dst").union(begin).distinct()
    flow.output("reach", begin.iterate(step), changes=False)
    degrees = edges.group_by("src").count().select(degree="count").group_by("degree").count()
    flow.output("degrees", degrees)
    return flow


def memory(pid: int | str = "self") -> dict[str, float]:
    """Megabytes a process has now, and had at most."""
    found = {}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(("VmRSS", "VmHWM", "RssAnon")):
            name, amount = line.split(":")
            found[name] = int(amount.split()[0]) / 1024
    return found


def below(pid: int) -> list[int]:
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        found = [int(c) for t in tasks for c in Path(f"/proc/{pid}/task/{t}/children").read_text().split()]
    except OSError:
        return []
    return [one for child in found for one in (child, *below(child))]


def workers() -> list[dict[str, float]]:
    """The memory of Spark's Python workers, the largest first."""
    found = []
    for pid in below(os.getpid()):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"pyspark" in command and b"daemon" in command:
                found.append(memory(pid))
        except OSError:
            continue
    return sorted(found, key=lambda one: -one.get("VmHWM", 0))


def step(spark: Any, shards: int, place: str) -> dict[str, Any]:
    """One change on a view with a loop of twenty rounds, durable."""
    live = reachability().run(spark, checkpoint=place, shards=shards)
    live.insert("edges", [(i, i + 1) for i in range(20)])
    live.insert("roots", [(0,)])
    live.commit()
    before, seconds = live.counters()["jobs"], []
    for i in range(41):
        (live.delete if i % 2 == 0 else live.insert)("edges", [(0, 1)])
        began = time.perf_counter()
        live.commit()
        seconds.append(time.perf_counter() - began)
    jobs = live.counters()["jobs"] - before
    return {
        "shards": shards,
        "median": median(seconds),
        "best": min(seconds),
        "worst": max(seconds),
        "jobs a step": jobs / 41,
    }


def load(spark: Any, edges: int, nodes: int, shards: int, place: str, width: int | None) -> dict[str, Any]:
    """Many edges through Spark into degrees and reach."""
    live = reachability().run(spark, checkpoint=place, shards=shards, width=width)
    frame = spark.range(0, edges, 1, 8).selectExpr(
        f"pmod(xxhash64(id, 1L), {nodes}L) as src", f"pmod(xxhash64(id, 2L), {nodes}L) as dst"
    )
    began = time.perf_counter()
    live.insert("edges", frame, time=0)
    staged = time.perf_counter() - began
    live.insert("roots", [(0,)], time=0)
    began = time.perf_counter()
    live.advance_to(1)
    found: dict[str, Any] = {"edges": edges, "nodes": nodes, "shards": shards, "packed s": staged}
    found["loaded s"] = time.perf_counter() - began
    found |= {"supersteps": live.counters()["supersteps"], "jobs": live.counters()["jobs"]}
    found["reached"] = len(live.snapshot("reach"))
    found["driver MB"] = memory()
    found["worker MB"] = workers()
    seconds = []
    for i in range(1, 8):
        live.insert("edges", [(i, i + 17)], time=i)
        began = time.perf_counter()
        live.advance_to(i + 1)
        seconds.append(time.perf_counter() - began)
    found["one change s"] = seconds
    degrees = {row[0]: row[1] for row in live.snapshot("degrees").rows()}
    found["nodes with edges"], found["edges counted"] = sum(degrees.values()), sum(d * n for d, n in degrees.items())
    found["worker MB after"] = workers()
    return found


def components(spark: Any, nodes: int, place: str) -> dict[str, Any]:
    """Connected components of 100,000 nodes: changes beside a recomputation in plain PySpark."""
    flow = ebb.Dataflow()
    given = flow.input("edges", "src long, dst long")
    flow.output("components", connected_components(given))
    live = flow.run(spark, checkpoint=place)
    frame = lambda first, count: spark.range(first, first + count, 1, 2).selectExpr(
        f"pmod(xxhash64(id, 1L), {nodes}L) as src", f"pmod(xxhash64(id, 2L), {nodes}L) as dst"
    )
    began = time.perf_counter()
    live.insert("edges", frame(0, 2 * nodes))
    live.commit()
    found: dict[str, Any] = {"nodes": nodes, "load s": time.perf_counter() - began}
    at = 2 * nodes
    for size in (1, 200, 2000):
        seconds = []
        for _ in range(3):
            rows = frame(at, size)
            at += size
            began = time.perf_counter()
            live.insert("edges", rows)
            live.commit()
            seconds.append(time.perf_counter() - began)
        found[f"{size} changes s"] = median(seconds)
    began = time.perf_counter()
    found["recomputed"] = recomputed(spark, frame(0, at))
    found["recomputation s"] = time.perf_counter() - began
    found["ours"] = len({row[1] for row in live.snapshot("components").rows()})
    return found


def recomputed(spark: Any, edges: Any) -> int:
    """The number of components by joins and least labels, as one writes it in PySpark."""
    from pyspark.sql import functions as F

    both = edges.union(edges.selectExpr("dst as src", "src as dst")).distinct().localCheckpoint()
    labels = both.select(F.col("src").alias("id")).distinct().withColumn("label", F.col("id")).localCheckpoint()
    while True:
        near = both.join(labels, both.dst == labels.id).groupBy("src").agg(F.min("label").alias("near"))
        new = labels.join(near, labels.id == near.src).select("id", F.least("label", "near").alias("label"))
        new = new.localCheckpoint()
        changed = new.alias("a").join(labels.alias("b"), "id").filter("a.label != b.label").limit(1).count()
        labels = new
        if not changed:
            return labels.select("label").distinct().count()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.on_spark", description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["step", "load", "components"])
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--nodes", type=int, default=None)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--width", type=int, default=None)
    asked = parser.parse_args()
    spark = ebb.spark(MASTER, **{"spark.driver.memory": "2g"})
    place = tempfile.mkdtemp(prefix="bench-")
    try:
        if asked.what == "step":
            found = step(spark, asked.shards, place + "/state")
        elif asked.what == "load":
            found = load(
                spark, asked.edges, asked.nodes or asked.edges // 2, asked.shards, place + "/state", asked.width
            )
        else:
            found = components(spark, asked.nodes or 100_000, place + "/state")
        print(json.dumps(found, indent=1))
    finally:
        spark.stop()
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
