"""Arrangement: how many bytes an edge costs that is kept in memory by its key.

Ten million pairs are loaded and nothing else happens; what the process has grown by, divided by their number.

Rule: the pairs are handed over in pieces, each released before the next; at the end only the arrangement is there.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import ebbflow as ebb
from benchmarks import measure
from benchmarks.draws import draws

AFTERWARDS = 200  # empty steps, in which whoever wants to may tidy up


def program() -> ebb.Dataflow:
    """The pairs arranged by src, and a reader that finds nothing so that no output is kept."""
    flow = ebb.Dataflow()
    pairs, asked = flow.input("pairs", "src long, dst long"), flow.input("asked", "id long")
    flow.output("found", asked.join(pairs, on={"id": "src"}))
    return flow


def run(nodes: int, edges: int, piece: int = 1_000_000, workers: int = 1, seed: int = 42) -> dict[str, Any]:
    measure.get_ready()
    with program().run(workers=workers) as live:
        live.insert("pairs", [(0, 0)], time=0)  # what every session has is there before
        live.delete("pairs", [(0, 0)], time=0)
        live.advance_to(1)
        give_back()
        before, took, t = measure.resident_mb(), 0.0, 1
        for start in range(0, edges, piece):
            src, dst = draws(start, min(piece, edges - start), nodes, seed)
            began = measure.CLOCK()
            live.apply("pairs", {"src": src, "dst": dst}, time=t)
            t += 1
            live.advance_to(t)
            took += measure.CLOCK() - began
        for later in range(t + 1, t + 1 + AFTERWARDS):
            live.advance_to(later)
        del src, dst
        loaded = measure.resident_mb()
        give_back()
        after = measure.resident_mb()
    return {
        "bytes_per_edge": (after - before) * 2**20 / edges,
        "load_s": took,
        "resident_load_mb": loaded - before,
        "peak_mb": measure.peak_mb(),
    }


def give_back() -> None:
    """Hand memory that is free back to the system, where the C library can."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        pass
