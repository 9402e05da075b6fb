"""Every row that is measured: which program, on what, and which figure it has to reach.

`first` is the ratio ours / peer that must be shown, `goal` where we are going; where a figure stands alone (bytes,
seconds of start-up) both are that figure.  The set `small` ends within five minutes, `seed` and `large` are the whole;
`skewed` has the graphs and keys on which work is not spread evenly: power laws, fixed shapes and hubs.

Rule: a row is data.  What is measured lies in the workload's own file.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks import shapes
from benchmarks.hub import KINDS

SIZES = ("small", "seed", "large", "skewed")
TIME = "us per time"


@dataclass(frozen=True)
class Measure:
    """One figure of a run: where it stands in the result, and what it should be."""

    name: str
    path: str  # dotted, the same in our results and in a peer's
    unit: str
    first: float | None = None
    goal: float | None = None
    stands_alone: bool = False  # first and goal are the figure itself, not the ratio to the peer


@dataclass(frozen=True)
class Row:
    workload: str
    size: str
    sets: tuple[str, ...]
    module: str
    options: dict[str, Any]
    measures: tuple[Measure, ...]
    step: int | None = None
    workers: int = 1
    rust: tuple[str, ...] | None = None  # the peer's program and its arguments
    repeats: int = 3
    needs: str | None = None  # data to be made before: a scale of TPC-H
    note: str = field(default="", compare=False)

    @property
    def label(self) -> str:
        parts = [self.workload, self.size, f"step {self.step:,}" if self.step else "", ""]
        parts[3] = f"{self.workers} workers" if self.workers > 1 else ""
        return ", ".join(part for part in parts if part)


def short(number: int) -> str:
    """1k, 2M: as people say it."""
    for power, letter in ((10**6, "M"), (10**3, "k")):
        if number >= power and number % power == 0:
            return f"{number // power}{letter}"
    return str(number)


# ---- graphs ------------------------------------------------------------------------------------------

TINY, GRAPH, MILLION, WIDE = (1_000, 2_000), (10_000, 50_000), (1_000_000, 2_000_000), (1_000_000, 10_000_000)
HUGE, HUNDRED = (10_000_000, 50_000_000), (100_000, 200_000)


def graph_row(
    workload: str,
    graph: tuple[int, int],
    step: int,
    times: int,
    sets: tuple[str, ...],
    *measures: Measure,
    workers: int = 1,
    **options: Any,
) -> Row:
    nodes, edges = graph
    module = workload.partition(",")[0]
    given = {"nodes": nodes, "edges": edges, "step": step, "times": times, "workers": workers, **options}
    row = Row(workload, size_of(given), sets, module, given, measures, step, workers)
    return replace(row, rust=rust_arguments(row))


def size_of(options: dict[str, Any]) -> str:
    """The graph in a few words: 1k/2k, skew 3."""
    shape, skew = options.get("shape", "random"), options.get("skew", 0)
    words = f"{short(options['nodes'])}/{short(options['edges'])}"
    words = words if shape == "random" else f"{shape} of {short(options['nodes'])}"
    return f"{words}, skew {skew}" if skew else words


def rust_arguments(row: Row) -> tuple[str, ...] | None:
    """The peer's command line for a row of a graph; it has an answer for every time."""
    o = row.options
    if o.get("one_answer"):
        return None
    if row.module == "degrees":
        mode = "general" if o.get("general") else "total"
        rounds = -(-o["times"] // o["step"])
        numbers = (o["nodes"], o["edges"], o["step"], rounds, mode, o["workers"])
    elif row.module in ("reach", "sustained"):
        numbers = (o["nodes"], o["edges"], o.get("roots", 10), o.get("step", 1), o["times"], o["workers"])
    elif row.module in ("bfs", "scc", "components"):
        numbers = (o["nodes"], o["edges"], o["step"], o["times"], o["workers"])
        numbers = (*numbers, "staged") if row.module == "components" else numbers
    else:
        return row.rust
    return ("reach" if row.module == "sustained" else row.module, *map(str, numbers))


def per_time(first: float | None = None, goal: float | None = None) -> Measure:
    return Measure("time", "us_per_time", TIME, first, goal)


def load(first: float | None = None, goal: float | None = None) -> Measure:
    return Measure("load", "load_s", "s", first, goal)


def per_change(first: float | None = None, goal: float | None = None) -> Measure:
    """Where a step has one answer, whatever the number of its changes."""
    return Measure("time", "us_per_time", "us per change", first, goal)


SLOWEST = Measure("max", "steps.max", "us a step", 0.5)

GRAPHS = (
    graph_row("degrees", GRAPH, 100_000, 200_000, ("small",), per_time(0.7, 0.2)),
    graph_row("degrees", GRAPH, 100_000, 500_000, ("seed",), per_time(0.7, 0.2)),
    graph_row("degrees", HUGE, 100_000, 500_000, ("large",), per_time(0.6, 0.25), load(0.6)),
    graph_row("degrees, no short cut", GRAPH, 10_000, 10_000, ("small",), per_time(1.0, 0.4), general=True),
    graph_row("degrees, no short cut", GRAPH, 100_000, 500_000, ("seed",), per_time(1.0, 0.4), general=True),
    graph_row("reach", TINY, 1, 2_000, ("small",), per_time(0.25, 0.08)),
    graph_row("reach", TINY, 100, 5_000, ("small",), per_time(0.45, 0.2)),
    graph_row("reach", TINY, 1_000, 5_000, ("small",), per_time(0.45, 0.2)),
    graph_row("reach", TINY, 10_000, 10_000, ("small",), per_time(0.45, 0.2)),
    graph_row("reach", TINY, 1_000, 5_000, ("small",), per_time(0.7, 0.3), workers=2),
    graph_row("reach", TINY, 1, 20_000, ("seed",), per_time(0.25, 0.08)),
    *(graph_row("reach", TINY, s, 20_000, ("seed",), per_time(0.45, 0.2)) for s in (10, 100, 1_000, 10_000)),
    *(graph_row("reach", TINY, s, 20_000, ("seed",), per_time(0.7, 0.3), workers=2) for s in (100, 1_000)),
    graph_row("reach", MILLION, 1, 2_000, ("large",), per_time(0.5, 0.2), load(), SLOWEST),
    *(graph_row("reach", MILLION, s, 10_000, ("large",), per_time(0.5, 0.2), load()) for s in (10, 100, 1_000)),
    *(graph_row("reach", MILLION, s, 10_000, ("large",), per_time(0.7, 0.3), workers=2) for s in (100, 1_000)),
    graph_row("bfs", TINY, 1, 10_000, ("small",), per_time(0.3, 0.1)),
    graph_row("bfs", TINY, 1_000, 50_000, ("small",), per_time(0.7, 0.3)),
    graph_row("bfs", TINY, 1, 100_000, ("seed",), per_time(0.3, 0.1)),
    graph_row("bfs", TINY, 100, 100_000, ("seed",), per_time(0.4, 0.12)),
    graph_row("bfs", TINY, 1_000, 100_000, ("seed",), per_time(0.7, 0.3)),
    *(graph_row("bfs", WIDE, s, 20_000, ("large",), per_time(1.0, 0.4), load(0.7)) for s in (100, 1_000)),
    graph_row("scc", TINY, 1, 300, ("small",), per_time(0.3, 0.08)),
    graph_row("scc", TINY, 100, 1_000, ("small",), per_time(0.6, 0.25)),
    graph_row("scc", TINY, 1, 2_000, ("seed",), per_time(0.3, 0.08)),
    graph_row("scc", TINY, 10, 2_000, ("seed",), per_time(0.4, 0.15)),
    graph_row("scc", TINY, 100, 2_000, ("seed",), per_time(0.6, 0.25)),
    graph_row("scc", HUNDRED, 1_000, 2_000, ("large",), per_time(0.8, 0.3), load()),
    graph_row("components", TINY, 1, 500, ("small",), per_time()),
    *(graph_row("components", TINY, step, 2_000, ("seed",), per_time()) for step in (1, 100, 1_000)),
    graph_row("components", HUNDRED, 100, 2_000, ("large",), per_time(), load()),
)

# ---- where work is not spread evenly -------------------------------------------------------------------

NO_SLOWER = Measure("max", "steps.max", "us a step", 1.0)  # the slowest step of ours by the slowest of the peer


def skewed_row(workload: str, skew: int, step: int, times: int) -> Row:
    first = {1: 0.3, 100: 0.35, 1_000: 0.4}[step]
    goal = {("scc", 1): 0.05, ("scc", 100): 0.12}.get((workload, step), {1: 0.15, 100: 0.3}.get(step))
    return graph_row(workload, TINY, step, times, ("skewed",), per_time(first, goal), NO_SLOWER, skew=skew)


def shaped_row(workload: str, shape: shapes.Shape, nodes: int, times: int, skew: int = 0) -> Row:
    graph = (nodes, shapes.window_of(shape, nodes))
    power = {"skew": skew} if skew else {}
    return graph_row(workload, graph, 1, times, ("skewed",), per_time(), NO_SLOWER, shape=shape, **power)


def hub_row(kind: str, values: int, times: int, sets: tuple[str, ...]) -> Row:
    options = {"kind": kind, "values": values, "times": times}
    rust = ("hub", kind, str(values), str(times))
    return Row(f"hub, {kind}", f"{short(values)} values", sets, "hub", options, (per_time(), NO_SLOWER), 1, rust=rust)


def growth_row(kind: str, values: int, beside: int, times: int) -> Row:
    """A change of a key with many values by one of a key with few, in turns."""
    options = {"kind": kind, "values": values, "beside": beside, "times": times}
    growth = Measure("growth", "growth", f"{short(values)} / {short(beside)} values", 2.0, stands_alone=True)
    return Row(f"hub, {kind}", f"{short(values)} values", ("skewed",), "hub", options, (growth,), 1)


UNEVEN = (
    *(
        skewed_row(workload, skew, step, times)
        for workload, counts in (
            ("bfs", (20_000, 50_000, 50_000)),
            ("reach", (3_000, 10_000, 10_000)),
            ("scc", (500, 1_000, 2_000)),
            ("components", (1_000, 2_000, 5_000)),
        )
        for skew in (2, 3)
        for step, times in zip((1, 100, 1_000), counts)
    ),
    *(skewed_row("degrees", skew, 1_000, 100_000) for skew in (2, 3)),
    *(shaped_row(workload, "grid", 10_000, 300) for workload in ("bfs", "reach", "components")),
    *(shaped_row(workload, "chain", 10_001, 20) for workload in ("bfs", "components")),
    *(shaped_row(workload, "star", 10_000, 300) for workload in ("bfs", "reach", "scc", "components")),
    *(shaped_row(workload, "bipartite", 10_000, 300, skew=2) for workload in ("reach", "components")),
    *(hub_row(kind, 1_000, 300, ("small", "skewed")) for kind in KINDS),
    *(hub_row(kind, 1_000_000, 100, ("skewed",)) for kind in KINDS),
    *(growth_row(kind, 1_000_000, 1_000, 500) for kind in KINDS),
)

# What those who start over have, and dbsp: one answer for all changes of a step.
ONE_ANSWER = (
    graph_row("degrees, one answer a step", GRAPH, 100_000, 500_000, ("seed",), per_change(), one_answer=True),
    *(
        graph_row("reach, one answer a step", TINY, step, 20_000, ("seed",), per_change(), one_answer=True)
        for step in (100, 1_000, 10_000)
    ),
    *(
        graph_row("scc, one answer a step", HUNDRED, step, 4_000, ("large",), per_change(), one_answer=True)
        for step in (50, 100)
    ),
)

# ---- one worker and two, in turns ----------------------------------------------------------------------


def workers_row(graph: tuple[int, int], step: int, times: int, sets: tuple[str, ...]) -> Row:
    """What two workers take of the time of one; they are to gain half as much again."""
    nodes, edges = graph
    options = {"nodes": nodes, "edges": edges, "step": step, "times": times}
    share = Measure("share", "share", "two / one", 1 / 1.5, 1 / 1.8, stands_alone=True)
    size = f"{short(nodes)}/{short(edges)}"
    return Row("reach, two workers by one", size, sets, "workers", options, (share,), step, workers=2)


IN_TURNS = (
    workers_row(TINY, 1_000, 10_000, ("small",)),
    *(workers_row(TINY, step, 40_000, ("seed",)) for step in (100, 1_000)),
    *(workers_row(MILLION, step, 20_000, ("large",)) for step in (100, 1_000)),
)

# ---- one key with a long history ---------------------------------------------------------------------


def chain_row(workload: str, kind: str, peer: str, times: int, sets: tuple[str, ...], live: int = 1) -> Row:
    return Row(
        f"chains, {workload}",
        f"{short(times)} times",
        sets,
        "chains",
        {"kind": kind, "times": times, "live": live},
        (Measure("time", "s", "s", 0.5, 0.2),),
        rust=("chains", peer, str(times), str(live)),
    )


CHAINS = (
    chain_row("odd with even", "join", "join-total", 100_000, ("small",)),
    chain_row("count", "count", "count-total", 100_000, ("small",)),
    chain_row("min", "min", "min", 100_000, ("small",)),
    chain_row("min of 100", "min", "min", 100_000, ("small", "seed"), live=100),
    chain_row("odd with even", "join", "join-total", 1_000_000, ("seed",)),
    chain_row("odd with even, no short cut", "join-general", "join-general", 1_000_000, ("seed",)),
    chain_row("count", "count", "count-total", 1_000_000, ("seed",)),
    chain_row("min", "min", "min", 1_000_000, ("seed",)),
)

# ---- reports -----------------------------------------------------------------------------------------


def report_row(query: str, scale: str, batch: int, sets: tuple[str, ...], first: float, goal: float) -> Row:
    return Row(
        f"TPC-H {query.upper()}",
        f"SF {scale}",
        sets,
        "tpch",
        {"query": query, "batch": batch},
        (Measure("time", "s", "s", first, goal),),
        step=batch,
        rust=("tpch", query, "", str(batch)),
        needs=scale,
    )


REPORTS = (
    report_row("q1", "0.01", 1_000, ("small",), 0.8, 0.3),
    report_row("q13", "0.01", 1_000, ("small",), 0.8, 0.4),
    *(report_row("q1", "1", batch, ("large",), 0.8, 0.3) for batch in (1_000, 10_000, 100_000)),
    *(report_row("q13", "1", batch, ("large",), 0.8, 0.4) for batch in (1_000, 10_000, 100_000)),
)

# ---- memory, a long run, the start, the border -----------------------------------------------------------


def memory_row(name: str, nodes: int, edges: int, sets: tuple[str, ...], first: float, goal: float) -> Row:
    return Row(
        f"arrangement, {name}",
        short(edges),
        sets,
        "arrangement",
        {"nodes": nodes, "edges": edges},
        (Measure("bytes", "bytes_per_edge", "bytes an edge", first, goal, stands_alone=True),),
        rust=("arrange", str(nodes), str(edges)),
        repeats=1,
    )


def sustained_row(times: int, sets: tuple[str, ...], with_peer: bool) -> Row:
    options = {"nodes": TINY[0], "edges": TINY[1], "times": times, "workers": 1}
    drift = [
        Measure(f"drift {s}", f"drift_{s}", "last / first, a row", 1.3, 1.1, stands_alone=True) for s in ("p50", "p99")
    ]
    age = [Measure(f"age {s}", f"age_{s}", "last / afresh", 1.3, 1.1, stands_alone=True) for s in ("p50", "p99")]
    plain = [Measure(f"plain {s}", f"plain_{s}", "last / first", stands_alone=True) for s in ("p50", "p99")]
    memory = Measure("memory", "memory_growth", "last / first", 1.1, 1.02, stands_alone=True)
    measures = (*drift, *age, *plain, memory)
    row = Row("sustained", f"{short(times)} times", sets, "sustained", options, measures, step=1, repeats=1)
    return replace(row, rust=rust_arguments(row)) if with_peer else row


def start_row(kind: str, what: str, sets: tuple[str, ...], first: float, goal: float, repeats: int = 3) -> Row:
    seconds = Measure("time", "s", "s", first, goal, stands_alone=True)
    return Row(f"start, {what}", "", sets, "startup", {"kind": kind}, (seconds,), repeats=repeats)


def border_row(form: str) -> Row:
    return Row(
        f"rows in and out, {form}",
        "1M rows",
        ("small", "seed"),
        "feeding",
        {"rows": 1_000_000, "form": form},
        (
            Measure("apply", "apply_ns", "ns a row", 100, stands_alone=True),
            Measure("read", "read_ns", "ns a row", 100, stands_alone=True),
        ),
    )


OTHERS = (
    memory_row("keys distinct", 0, 1_000_000, ("small",), 24, 18),
    memory_row("ten values a key", 100_000, 1_000_000, ("small",), 16, 10),
    memory_row("keys distinct", 0, 10_000_000, ("large",), 24, 18),
    memory_row("ten values a key", 1_000_000, 10_000_000, ("large",), 16, 10),
    sustained_row(10_000, ("small",), with_peer=False),
    sustained_row(100_000, ("seed",), with_peer=True),
    sustained_row(1_000_000, ("large",), with_peer=False),
    start_row("import", "import", ("small", "seed"), 0.15, 0.1),
    start_row("warm", "first result", ("small", "seed"), 1.0, 0.5),
    start_row("cold", "compiling all", ("seed",), 40, 15, repeats=1),
    border_row("numpy"),
    border_row("arrow"),
)

ROWS = GRAPHS + UNEVEN + ONE_ANSWER + IN_TURNS + CHAINS + REPORTS + OTHERS
NAMES = tuple(dict.fromkeys(row.module for row in ROWS))

# What the peer found once and for all, (module, nodes, edges, times): later, size, final, times.
KNOWN = {
    ("degrees", *GRAPH, 500_000): (3_231_362, None, "85bc2c674f8064b3", "3082dfb7b1ba5414"),
    ("reach", *TINY, 20_000): (175_306, 6_230, "0dbe4c08cd7fb359", "1d21b2945c929105"),
    ("reach", *MILLION, 10_000): (40_215, 5_577_949, "d7435ebba583f19d", "8ec1d9b0789f5985"),
    ("bfs", *TINY, 100_000): (751_003, 788, "8ec5d17bd9eb673d", "e06d3de76cf780e5"),
    ("scc", *TINY, 2_000): (6_183, 1_238, "eab37e8c5e4bc1ec", "5445763cfaa91491"),
    ("scc", *HUNDRED, 2_000): (6_115, 127_037, "203550c9a903898a", "a18e9f991f2c28d3"),
}


def known_checks(row: Row, seed: int) -> dict[str, Any] | None:
    """The sums of a row that were found before, if it is one of those."""
    o = row.options
    is_plain = seed == 42 and not o.get("skew") and not o.get("shape")
    found = KNOWN.get((row.module, o.get("nodes"), o.get("edges"), o.get("times"))) if is_plain else None
    if found is None or row.module not in ("degrees", "reach", "bfs", "scc"):
        return None
    named = dict(zip(("later", "size", "final", "times"), found))
    compared = ("size", "final") if o.get("one_answer") else tuple(named)  # answers between are not the same
    return {name: named[name] for name in compared if named[name] is not None}
