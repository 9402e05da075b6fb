"""On Spark: what a micro-batch costs beside recomputing the view with Spark, and what a large load takes of memory.

    ebbflow bench spark                     small sizes, within five minutes
    ebbflow bench spark --size large        degrees 10M/50M, TPC-H at scale 1, reach and components 100k/200k, a load
    ebbflow bench spark --cluster           on a Master and two Workers on the loopback instead of local[2]
    python -m benchmarks.on_spark step      one change on a view with a loop of twenty rounds

A micro-batch goes in as a DataFrame, is one durable step, and its changes are read in the driver.  The peer recomputes
the same view from all its rows in plain PySpark, in the same session, and its answer is read in the driver; edges come
from a formula over `spark.range`, which is cheaper than any file.  Components are also recomputed by GraphX.

Rule: both sides end with the same answer, shown by sums over it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

import numpy as np

import ebbflow as ebb
from benchmarks import standalone, tpch
from benchmarks.generator import Checks
from ebbflow.algorithms import connected_components

MASTER, CLUSTER = "local[2]", "two Workers"
REPEATS = {1: 9, 1_000: 5, 100_000: 1}  # of a batch of so many changes; of other sizes three times
SOON = 20.0  # seconds of a recomputation that is worth repeating, as the first is slower
ROOTS = 10
WARM_UP = 2  # steps after a load, that are told apart: both of Spark's processes have to take up the state

Say = Callable[[str], None]
Found = dict[str, Any]


# ---- the views --------------------------------------------------------------------------------------------


@dataclass
class Graph:
    """Random edges, of which the oldest go and new ones come."""

    spark: Any
    nodes: int
    edges: int
    gone: int = 0
    come: int = 0
    output = ""
    pair = ("", "")

    @property
    def total(self) -> int:
        return self.edges

    def frame(self, first: int, end: int, few: bool = False) -> Any:
        pick = lambda k: f"pmod(xxhash64(id, {k}L), {self.nodes}L)"
        return self.spark.range(first, end, 1, 1 if few else 8).selectExpr(f"{pick(1)} as src", f"{pick(2)} as dst")

    def load(self) -> Iterator[tuple[str, Any]]:
        yield "edges", self.frame(0, self.edges)

    def batch(self, changes: int) -> tuple[str, Any]:
        """The next so many changes: half of them edges that go."""
        old, new = changes // 2, changes - changes // 2
        few = changes <= 10_000
        come = self.frame(self.edges + self.come, self.edges + self.come + new, few).selectExpr("*", "1L as d")
        gone = self.frame(self.gone, self.gone + old, few).selectExpr("*", "-1L as d")
        self.gone, self.come = self.gone + old, self.come + new
        return "edges", come.unionAll(gone) if old else come

    def all(self) -> Any:
        return self.frame(self.gone, self.edges + self.come)

    def sums(self, answer: Any, diffs: Any = None) -> Checks:
        checks, ones = Checks(), np.ones(answer.num_rows, np.int64)
        a, b = (answer.column(name).to_numpy() for name in self.pair)
        checks.add(a, b, ones, ones if diffs is None else diffs)
        return checks


class Degrees(Graph):
    output, pair = "degrees", ("degree", "nodes")

    def flow(self) -> ebb.Dataflow:
        flow = ebb.Dataflow()
        counts = flow.input("edges", "src long, dst long").group_by("src").agg(degree=ebb.count())
        flow.output("degrees", counts.group_by("degree").agg(nodes=ebb.count()))
        return flow

    def peers(self) -> dict[str, Callable[[], Any]]:
        counted = lambda: self.all().groupBy("src").count().withColumnRenamed("count", "degree").groupBy("degree")
        return {"DataFrames": lambda: counted().count().withColumnRenamed("count", "nodes").toArrow()}


class Reach(Graph):
    output, pair = "reach", ("root", "node")

    def flow(self) -> ebb.Dataflow:
        flow = ebb.Dataflow()
        edges, start = flow.input("edges", "src long, dst long"), flow.input("roots", "root long")
        begin = start.select("root", node="root")
        step = lambda reach: reach.join(edges, on={"node": "src"}).select("root", node="dst").union(begin).distinct()
        flow.output("reach", begin.iterate(step))
        return flow

    def load(self) -> Iterator[tuple[str, Any]]:
        yield from super().load()
        yield "roots", [(root,) for root in range(ROOTS)]

    def peers(self) -> dict[str, Callable[[], Any]]:
        return {"DataFrames": self.recomputed}

    def recomputed(self) -> Any:
        """Round by round, only what the last one found is joined again."""
        edges = self.all().distinct().localCheckpoint()
        new = self.spark.range(0, ROOTS, 1, 1).selectExpr("id as root", "id as node").localCheckpoint()
        reached = new
        while True:
            near = new.join(edges, new.node == edges.src).selectExpr("root", "dst as node").distinct()
            new = near.join(reached, ["root", "node"], "left_anti").localCheckpoint()
            if new.isEmpty():
                return reached.toArrow()
            reached = reached.unionAll(new).localCheckpoint()


class Components(Graph):
    output, pair = "components", ("node", "component")

    def flow(self) -> ebb.Dataflow:
        flow = ebb.Dataflow()
        found = connected_components(flow.input("edges", "src long, dst long"))
        names = found.schema.names
        flow.output("components", found.rename({names[0]: "node", names[1]: "component"}))
        return flow

    def peers(self) -> dict[str, Callable[[], Any]]:
        return {"DataFrames": self.recomputed, "GraphX": self.by_graphx}

    def recomputed(self) -> Any:
        """Every node takes the least label near it, until none changes."""
        from pyspark.sql import functions as F

        edges = self.all()
        both = edges.union(edges.selectExpr("dst as src", "src as dst")).distinct().localCheckpoint()
        labels = both.select(F.col("src").alias("id")).distinct().withColumn("label", F.col("id")).localCheckpoint()
        while True:
            near = both.join(labels, both.dst == labels.id).groupBy("src").agg(F.min("label").alias("near"))
            new = labels.join(near, labels.id == near.src)
            new = new.selectExpr("id", "least(label, near) as label", "near < label as moved").localCheckpoint()
            labels = new.select("id", "label")
            if new.filter("moved").isEmpty():
                return labels.selectExpr("id as node", "label as component").toArrow()

    def by_graphx(self) -> Any:
        """The one that Spark brings, through its JVM; writing the edges as the text that it reads is not timed."""
        import pyarrow as pa

        context, jvm = self.spark.sparkContext, self.spark._jvm
        place = tempfile.mkdtemp(prefix="bench-")
        try:
            self.all().selectExpr("concat(src, ' ', dst)").write.mode("overwrite").text(f"{place}/edges")
            level = jvm.org.apache.spark.storage.StorageLevel.MEMORY_ONLY()
            began = time.perf_counter()
            loader = jvm.org.apache.spark.graphx.GraphLoader
            graph = loader.edgeListFile(context._jsc.sc(), f"{place}/edges", False, 4, level, level)
            found = graph.ops().connectedComponents().vertices()
            found.count()
            self.took = time.perf_counter() - began
            found.saveAsTextFile(f"{place}/found")
            lines = [line for part in sorted(Path(f"{place}/found").glob("part-*")) for line in part.open()]
            pairs = np.array([line.strip("()\n").split(",") for line in lines], np.int64).reshape(-1, 2)
            return pa.table({"node": pairs[:, 0], "component": pairs[:, 1]})
        finally:
            shutil.rmtree(place, ignore_errors=True)


@dataclass
class Report:
    """A report of TPC-H; some of its rows go and come back."""

    spark: Any
    directory: str
    total: int = 0
    turn: int = 0
    table = ""
    output = ""
    columns: ClassVar[dict[str, tuple[str, ...]]] = {}  # of each table, as we read them

    def __post_init__(self) -> None:
        self.rows, self.chosen = self.read(self.table), dict[int, Any]()
        self.total = self.rows.count()

    def read(self, table: str) -> Any:
        return self.spark.read.parquet(f"{self.directory}/{table}.parquet").selectExpr(*self.columns[table])

    def batch(self, changes: int) -> tuple[str, Any]:
        """Some rows go, and the next time the same ones come back.

        A limit takes other rows each time it is evaluated on several machines: it is evaluated once.
        """
        self.turn += 1
        if changes not in self.chosen:
            self.chosen[changes] = self.rows.limit(changes).localCheckpoint()
        some = self.chosen[changes].limit(changes)  # which says to whoever plans how many there are at most
        return self.table, some.selectExpr("*", f"{-1 if self.turn % 2 else 1}L as d")


class Q1(Report):
    table, output = "lineitem", "q1"
    columns: ClassVar = {
        "lineitem": (
            "l_returnflag as flag",
            "l_linestatus as status",
            "cast(l_quantity as long) as quantity",
            "cast(l_extendedprice * 100 as long) as price",
            "cast(l_discount * 100 as long) as discount",
            "cast(l_tax * 100 as long) as tax",
            "l_shipdate as shipped",
        )
    }

    def flow(self) -> ebb.Dataflow:
        return tpch.q1()

    def load(self) -> Iterator[tuple[str, Any]]:
        yield "lineitem", self.rows

    def peers(self) -> dict[str, Callable[[], Any]]:
        text = "quantity, price, net, charge, discount"
        net = self.rows.filter("shipped <= date '1998-09-02'").selectExpr("*", "price * (100 - discount) as net")
        charged = net.selectExpr("*", "net * (100 + tax) as charge")
        sums = [f"sum({name}) as {name}" for name in text.split(", ")]
        from pyspark.sql import functions as F

        grouped = lambda: charged.groupBy("flag", "status").agg(*map(F.expr, [*sums, "count(*) as orders"]))
        return {"DataFrames": lambda: grouped().toArrow()}


class Q13(Report):
    """Whether a comment speaks of special requests is looked up by Spark where the row comes from, on both sides."""

    table, output = "orders", "q13"
    columns: ClassVar = {
        "orders": ("o_custkey as custkey", "o_comment like '%special%requests%' as special"),
        "customer": ("c_custkey as custkey",),
    }

    def flow(self) -> ebb.Dataflow:
        flow = ebb.Dataflow()
        customers, orders = (
            flow.input("customer", "custkey long"),
            flow.input("orders", "custkey long, special boolean"),
        )
        plain = orders.filter(~orders.special).select("custkey")
        counts = plain.union(customers).group_by("custkey").agg(there=ebb.count())
        flow.output("q13", counts.select(orders=lambda r: r.there - 1).group_by("orders").agg(customers=ebb.count()))
        return flow

    def load(self) -> Iterator[tuple[str, Any]]:
        yield "customer", self.read("customer")
        yield "orders", self.rows

    def peers(self) -> dict[str, Callable[[], Any]]:
        from pyspark.sql import functions as F

        def found() -> Any:
            orders = self.rows.filter("not special").groupBy("custkey").count()
            counts = self.read("customer").join(orders, "custkey", "left").selectExpr("coalesce(count, 0) as orders")
            return counts.groupBy("orders").agg(F.count("*").alias("customers")).toArrow()

        return {"DataFrames": found}


VIEWS: dict[str, Any] = {"degrees": Degrees, "q1": Q1, "q13": Q13, "reach": Reach, "components": Components}


# ---- measuring --------------------------------------------------------------------------------------------


def measured(
    spark: Any, name: str, options: Found, batches: list[int], place: str, say: Say, servers: Sequence[int] = ()
) -> Found:
    """One view: loaded, changed by micro-batches of some sizes, and recomputed."""
    view = VIEWS[name](spark, **options)
    share = max(1, view.total // 1000)
    sizes = sorted({size for size in (*batches, share) if size < view.total})
    found: Found = {"view": name, "total": view.total, "share": share, "steps": {}}
    answer = Answer(view)
    live = view.flow().run(spark, checkpoint=f"{place}/{name}")
    try:
        say("load")
        began = time.perf_counter()
        for which, rows in view.load():
            live.insert(which, rows)
        answer.add(live.commit()[view.output])
        found["load s"] = time.perf_counter() - began
        took = {}
        for size, repeats in [(1, WARM_UP), *((size, REPEATS.get(size, 3)) for size in sizes)]:
            seconds, jobs = [], live.counters()["jobs"]
            even = repeats + repeats % 2 if isinstance(view, Report) else repeats  # what went comes back
            for i in range(even):
                say(f"{size:,} changes, {i + 1} of {even}")
                which, rows = view.batch(size)
                began = time.perf_counter()
                live.apply(which, rows, diff="d")
                changes = live.commit()[view.output]
                changes.to_arrow()
                seconds.append(time.perf_counter() - began)
                answer.add(changes)
            if "first s" not in found:
                found["first s"] = seconds
                continue
            took[size] = median(seconds)
            each = (live.counters()["jobs"] - jobs) / even
            found["steps"][size] = {"s": took[size], "worst s": max(seconds), "jobs": each, "runs": seconds}
        found["memory"] = memories(servers)  # before the peers have theirs, and processes that idle end
        found["peers"] = {}
        for peer, recompute in view.peers().items():
            found["peers"][peer] = recomputed(view, peer, recompute, answer, say)
        best = min(one["s"] for one in found["peers"].values())
        found["cheaper from"] = crossing(took, best)
    finally:
        live.close()
    return found


def recomputed(view: Any, peer: str, recompute: Callable[[], Any], answer: Answer, say: Say) -> Found:
    took: list[float] = []
    while not took or (len(took) < 3 and took[-1] < SOON):
        say(f"recomputed by {peer}, {len(took) + 1}")
        began = time.perf_counter()
        view.took = None
        table = recompute()
        took.append(view.took or time.perf_counter() - began)
    return {"s": min(took), "runs": took, "same": answer.is_same(table)}


class Answer:
    """What a view says, as sums over its changes; of a few rows, as they are."""

    def __init__(self, view: Any):
        self.view, self.checks, self.rows = view, Checks(), dict[tuple[Any, ...], int]()
        self.is_small = isinstance(view, Report)

    def add(self, changes: Any) -> None:
        table = changes.to_arrow()
        diffs = table.column("_diff").to_numpy()
        if not self.is_small:
            more = self.view.sums(table, diffs)
            self.checks.size += more.size
            self.checks.final = (self.checks.final + more.final) % 2**64
            return
        for row, diff in zip(plain(table), diffs.tolist()):
            self.rows[row] = self.rows.get(row, 0) + diff

    def is_same(self, table: Any) -> bool:
        if self.is_small:
            return {row for row, n in self.rows.items() if n} == set(plain(table))
        theirs = self.view.sums(table)
        return (theirs.size, theirs.final) == (self.checks.size, self.checks.final)


def plain(table: Any) -> list[tuple[Any, ...]]:
    names = sorted(name for name in table.column_names if not name.startswith("_"))
    return list(zip(*(table.column(name).to_pylist() for name in names)))


def crossing(took: dict[int, float], whole: float) -> float | None:
    """So many changes cost as much as recomputing: on a line between two sizes, and on the last line behind them."""
    points = sorted(took.items())
    if points[0][1] >= whole:
        return 0.0
    for (a, x), (b, y) in pairwise(points):
        if y >= whole:
            return a + (b - a) * (whole - x) / (y - x)
    (a, x), (b, y) = points[-2:] if len(points) > 1 else [(0, 0.0), points[0]]
    slope = (y - x) / (b - a)
    return b + (whole - y) / slope if slope > 0 else None


# ---- a load, and its memory -------------------------------------------------------------------------------


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
        if line.startswith(("VmRSS", "VmHWM")):
            name, amount = line.split(":")
            found[name] = round(int(amount.split()[0]) / 1024)
    return found


def memories(servers: Sequence[int] = ()) -> Found:
    """The memory of the driver, of the largest JVM, and of Spark's Python workers, the largest first.  Linux only.

    servers: the processes of a cluster's Workers, whose executors are looked at too.
    """
    workers, jvm = [], 0
    for pid in [one for root in (os.getpid(), *servers) for one in standalone.below(root)]:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if command.split(b"\0")[0].endswith(b"java"):
                jvm = max(jvm, memory(pid).get("VmHWM", 0))
            elif b"daemon" in command:
                workers.append(memory(pid).get("VmHWM", 0))
        except OSError:
            continue
    return {"driver MB": memory().get("VmHWM"), "JVM MB": jvm, "workers MB": sorted(workers, reverse=True)}


def load(
    spark: Any, edges: int, nodes: int, place: str, say: Say, servers: Sequence[int] = (), **options: Any
) -> Found:
    """Many edges through Spark into degrees and reach, then single changes."""
    graph = Graph(spark, nodes, edges)
    live = reachability().run(spark, checkpoint=f"{place}/load", **options)
    say("packed")
    began = time.perf_counter()
    live.insert("edges", graph.frame(0, edges), time=0)
    found: Found = {"edges": edges, "nodes": nodes, "packed s": time.perf_counter() - began}
    live.insert("roots", [(0,)], time=0)
    say("loaded")
    began = time.perf_counter()
    live.advance_to(1)
    found["loaded s"] = time.perf_counter() - began
    found |= {"supersteps": live.counters()["supersteps"], "jobs": live.counters()["jobs"], **memories(servers)}
    seconds = []
    for i in range(1, 10):
        say(f"change {i}")
        live.insert("edges", [(i, i + 17)], time=i)
        began = time.perf_counter()
        live.advance_to(i + 1)
        seconds.append(time.perf_counter() - began)
    found |= {"first s": seconds[:WARM_UP], "one change s": median(seconds[WARM_UP:]), "runs": seconds[WARM_UP:]}
    degrees = live.snapshot("degrees").rows()
    found["counted"] = sum(row[0] * row[1] for row in degrees)
    found["same"] = found["counted"] == edges + 9
    found["after"] = memories(servers)
    live.close()
    return found


def step(spark: Any, shards: int, place: str) -> Found:
    """One change on a view with a loop of twenty rounds, durable."""
    live = reachability().run(spark, checkpoint=f"{place}/step", shards=shards)
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
    live.close()
    return {"shards": shards, "s": median(seconds), "best": min(seconds), "worst": max(seconds), "jobs": jobs / 41}


# ---- the process that measures ------------------------------------------------------------------------------

SMALL: list[Found] = [
    {"name": "step"},
    {"name": "degrees", "options": {"nodes": 20_000, "edges": 100_000}, "batches": [1, 1_000]},
    {"name": "q1", "needs": "0.01", "batches": [1, 1_000]},
    {"name": "q13", "needs": "0.01", "batches": [1, 1_000]},
    {"name": "reach", "options": {"nodes": 1_000, "edges": 2_000}, "batches": [1]},
    {"name": "components", "options": {"nodes": 1_000, "edges": 2_000}, "batches": [1]},
    {"name": "load", "options": {"nodes": 50_000, "edges": 100_000}},
]
LARGE: list[Found] = [
    {"name": "step"},
    {"name": "components", "options": {"nodes": 100_000, "edges": 200_000}, "batches": [1, 1_000, 100_000]},
    {"name": "reach", "options": {"nodes": 100_000, "edges": 200_000}, "batches": [1, 1_000, 100_000]},
    {"name": "q13", "needs": "1", "batches": [1, 1_000, 100_000]},
    {"name": "q1", "needs": "1", "batches": [1, 1_000, 100_000]},
    {"name": "load", "options": {"nodes": 5_000_000, "edges": 10_000_000}},
    {"name": "degrees", "options": {"nodes": 10_000_000, "edges": 50_000_000}, "batches": [1, 1_000, 100_000]},
]
SETS = {"small": SMALL, "large": LARGE}


def work(orders: list[Found], settings: Found, say: Callable[[Found], None]) -> None:
    """What a process of its own does: a session, some views, a line of JSON for each thing there is to say."""
    place = tempfile.mkdtemp(prefix="bench-")
    settings = dict(settings)
    servers = settings.pop("servers", ())
    spark = ebb.spark(settings.pop("master", MASTER), **{"spark.driver.memory": "3g", **settings})
    try:
        for order in orders:
            name, options = order["name"], order.get("options", {})
            saying: Say = lambda what, name=name: say({"say": f"{name}: {what}"})
            say({"say": name})
            if name == "step":
                found = step(spark, 8, place)
            elif name == "load":
                found = load(spark, options["edges"], options["nodes"], place, saying, servers)
            else:
                found = measured(spark, name, options, order["batches"], place, saying, servers)
            say({"order": order, "found": found})
            for one in Path(place).iterdir():
                shutil.rmtree(one, ignore_errors=True)
    finally:
        spark.stop()
        shutil.rmtree(place, ignore_errors=True)


def asked(orders: list[Found], settings: Found, say: Say, limit: float) -> Iterator[tuple[Found, Found | str]]:
    """Each order with what was found, or with the reason why nothing was; those of one process share a session."""
    told = json.dumps([orders, settings])
    command = [sys.executable, "-m", "benchmarks.on_spark", "work", told]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    left = list(orders)
    with tempfile.TemporaryFile("w+") as log:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        late = threading.Timer(limit, child.kill)
        late.start()
        assert child.stdout is not None
        try:
            for line in child.stdout:
                if line.startswith('{"say"'):
                    say(json.loads(line)["say"])
                elif line.startswith('{"order"'):
                    left.pop(0)
                    yield orders[len(orders) - len(left) - 1], json.loads(line)["found"]
            child.wait()
        finally:
            late.cancel()
            if child.poll() is None:
                for pid in standalone.below(child.pid):
                    standalone.end(pid)
                child.kill()
                child.wait()
        log.seek(0)
        last = next((line.strip() for line in reversed(log.read().splitlines()) if line.strip()), "")
    for order in left:
        yield order, f"{order['name']} was not measured: its process ended ({child.returncode}). {last[:300]}"


def orders_of(size: str, names: tuple[str, ...], batches: tuple[int, ...] = ()) -> list[Found]:
    """The rows of a set; with micro-batches of other sizes than their own, if some are given."""
    chosen = [order for order in SETS["small" if size == "small" else "large"] if not names or order["name"] in names]
    return [order | {"batches": list(batches)} if batches and "batches" in order else order for order in chosen]


def all_of(
    chosen: list[Found], apart: bool, on_cluster: bool, tables: Callable[[str], Path | str], say: Say, limit: float
) -> Iterator[tuple[Found, Found | str]]:
    """Every row that was chosen, each in a process of its own or all in one."""
    orders = []
    for order in chosen:
        if "needs" in order:
            place = tables(order["needs"])
            if isinstance(place, str):
                yield order, place
                continue
            order = order | {"options": {"directory": str(place)}}
        orders.append(order)
    with ExitStack() as stack:
        settings: Found = {}
        if on_cluster:
            place = Path(tempfile.mkdtemp(prefix="cluster-"))
            stack.callback(shutil.rmtree, place, True)
            say("starting a Master and two Workers")
            cluster = stack.enter_context(standalone.cluster(place))
            settings = {**cluster.settings, "servers": cluster.workers}
        for group in [[order] for order in orders] if apart else [orders]:
            yield from asked(group, settings, say, limit)


def main() -> None:
    if sys.argv[1] == "work":
        work(*json.loads(sys.argv[2]), lambda one: print(json.dumps(one), flush=True))
    elif sys.argv[1] == "step":
        work([{"name": "step"}], {}, lambda one: print(json.dumps(one, indent=1), flush=True))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
