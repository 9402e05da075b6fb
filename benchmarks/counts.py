"""What the engine does for each workload at a small size, counted: the same figures on every machine.

Timings need a quiet machine and a person to read them; a short cut that is lost, a key that is visited twice or a loop
that goes round once more shows here as a number.  `python -m benchmarks.counts --write` writes them anew, on purpose.

Rule: what is stored is exact.  Only `words`, the memory in use, may differ by a little before anyone has to say why.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ebbflow as ebb
from benchmarks import bfs, chains, components, degrees, hub, measure, reach, scc, tpch
from benchmarks.draws import draws

STORED = Path(__file__).resolve().parent / "counts.json"
NEARLY = 0.02  # by which `words` may differ

Counts = dict[str, Any]


def graph(workload: Any, nodes: int, edges: int, step: int, times: int, **options: Any) -> Callable[[], Counts]:
    def count() -> Counts:
        found = workload.run(nodes=nodes, edges=edges, step=step, times=times, **options)
        return {**found["counts"], "checks": found["checks"]}

    return count


def hub_of(kind: str, values: int, times: int) -> Callable[[], Counts]:
    def count() -> Counts:
        found = hub.run(kind, values, times)
        return {**found["counts"], "checks": found["checks"]}

    return count


def chain(kind: str, times: int, live: int = 1) -> Callable[[], Counts]:
    def count() -> Counts:
        found = chains.run(kind, times, live)
        return {**found["counts"], "checks": found["checks"]}

    return count


def report(flow: Callable[[], ebb.Dataflow], output: str, rows: Callable[[], dict[str, Any]]) -> Callable[[], Counts]:
    """The program of a report on rows of our own, in batches of a hundred."""

    def count() -> Counts:
        with flow().run() as live:
            counted, t, read = measure.Counted(live), 0, 0
            for name, columns in rows().items():
                for start in range(0, len(next(iter(columns.values()))), 100):
                    live.apply(name, {k: v[start : start + 100] for k, v in columns.items()}, time=t)
                    t += 1
                    live.advance_to(t)
                    read += len(live.changes(output))
            return {"times": counted.now(), "checks": {"updates": read, "size": len(live.snapshot(output))}}

    return count


def items() -> dict[str, Any]:
    a, b = draws(0, 2_000, 1_000_000)
    return {
        "lineitem": {
            "flag": np.array(list("ANR"))[a % 3].tolist(),
            "status": np.array(list("FO"))[b % 2].tolist(),
            "quantity": a % 50 + 1,
            "price": b,
            "discount": a % 11,
            "tax": b % 9,
            "shipped": (np.datetime64("1992-01-01") + a % 2_500).tolist(),
        }
    }


def customers() -> dict[str, Any]:
    a, b = draws(0, 2_000, 300)
    comments = np.array(["quick", "special, pending requests", "requests, special", "special requests"])
    return {
        "customer": {"custkey": np.arange(300)},
        "orders": {"custkey": a, "comment": comments[b % 4].tolist()},
    }


CASES: dict[str, Callable[[], Counts]] = {
    "degrees, step 1": graph(degrees, 1_000, 5_000, 1, 200),
    "degrees, step 1000": graph(degrees, 1_000, 5_000, 1_000, 4_000),
    "degrees, no short cut": graph(degrees, 100, 500, 100, 400, general=True),
    "reach, step 1": graph(reach, 1_000, 2_000, 1, 300),
    "reach, step 100": graph(reach, 1_000, 2_000, 100, 300),
    "reach, step 1000": graph(reach, 200, 400, 1_000, 1_000),
    "reach, two workers": graph(reach, 1_000, 2_000, 100, 300, workers=2),
    "bfs, step 1": graph(bfs, 1_000, 2_000, 1, 300, seed=7),
    "bfs, step 1000": graph(bfs, 1_000, 2_000, 1_000, 2_000, seed=7),
    "scc, step 1": graph(scc, 200, 400, 1, 50),
    "scc, step 50": graph(scc, 200, 400, 50, 200),
    "components, step 1": graph(components, 500, 1_000, 1, 100),
    "degrees, skew 3, step 100": graph(degrees, 1_000, 5_000, 100, 1_000, skew=3),
    "reach, skew 3, step 1": graph(reach, 1_000, 2_000, 1, 200, skew=3),
    "reach, skew 3, step 100": graph(reach, 1_000, 2_000, 100, 300, skew=3),
    "bfs, skew 2, step 100": graph(bfs, 1_000, 2_000, 100, 500, skew=2),
    "bfs, skew 3, step 1": graph(bfs, 1_000, 2_000, 1, 300, skew=3),
    "bfs, skew 3, step 100": graph(bfs, 1_000, 2_000, 100, 500, skew=3),
    "scc, skew 3, step 1": graph(scc, 200, 400, 1, 50, skew=3),
    "scc, skew 3, step 50": graph(scc, 200, 400, 50, 200, skew=3),
    "components, skew 3, step 1": graph(components, 500, 1_000, 1, 100, skew=3),
    "components, skew 3, step 100": graph(components, 500, 1_000, 100, 200, skew=3),
    "reach, a grid": graph(reach, 400, 750, 1, 50, shape="grid"),
    "bfs, a chain": graph(bfs, 501, 499, 1, 10, shape="chain"),
    "reach, a star": graph(reach, 1_000, 1_980, 1, 100, shape="star"),
    "components, customers and products": graph(components, 400, 800, 1, 100, shape="bipartite", skew=2),
    **{f"hub, {kind}": hub_of(kind, 1_000, 100) for kind in hub.KINDS},
    **{f"hub of 10,000, {kind}": hub_of(kind, 10_000, 100) for kind in hub.KINDS},
    "chains, odd with even": chain("join", 2_000),
    "chains, odd with even, no short cut": chain("join-general", 200),
    "chains, count": chain("count", 5_000),
    "chains, min": chain("min", 5_000),
    "chains, min of 100": chain("min", 2_000, live=100),
    "Q1": report(tpch.q1, "q1", items),
    "Q13": report(tpch.q13, "q13", customers),
}


def differences(found: Counts, stored: Counts, path: str = "") -> list[str]:
    """What is counted otherwise than stored, each as a sentence; a counter that is new is not compared yet."""
    told: list[str] = []
    for name, then in stored.items():
        now, where = found.get(name), f"{path}{name}"
        if isinstance(now, dict) and isinstance(then, dict):
            told += differences(now, then, f"{where}: ")
        elif name == measure.IN_USE and now and then and abs(now - then) <= NEARLY * abs(then):
            continue
        elif now != then:
            told.append(f"{where} is {now} and was {then}")
    return told


def stored() -> dict[str, Counts]:
    return json.loads(STORED.read_text()) if STORED.is_file() else {}


def main() -> None:
    before, found = stored(), {}
    for name, count in CASES.items():
        found[name] = count()
        for sentence in (
            differences(found[name], before.get(name, {})) if name in before else ["counted for the first time"]
        ):
            print(f"{name}: {sentence}")
    if "--write" in sys.argv[1:]:
        lines = [f"{json.dumps(name)}: {json.dumps(counts)}" for name, counts in found.items()]
        STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(f"{STORED.name} is written anew.")


if __name__ == "__main__":
    main()
