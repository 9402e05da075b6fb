"""dbsp, the engine of Feldera, as a peer: the same changes, and the state after each step.

It answers another question than ours do: what changed from one step to the next, not what changed at every time
within it.  Where a step is one time the two are the same; where it is many, ours has so many answers and dbsp one.

Rule: what stands after the last step is compared, since that is what both have.
"""

from __future__ import annotations

from typing import Any

from benchmarks.crate import Crate
from benchmarks.table import Row

PROGRAMS = Crate("dbsp", "dbsp", "dbsp-bench", 330)
ROOTS = 10


def arguments(row: Row) -> tuple[str, ...] | None:
    """Its command line for a row; None where it has no program for it."""
    o = row.options
    if row.module not in ("degrees", "reach") or o.get("general") or o.get("skew") or o.get("shape"):
        return None
    numbers = (o["nodes"], o["edges"], o.get("roots", ROOTS), o["step"], o["times"], o["workers"])
    return ("dbench", row.module, *map(str, numbers))


def in_our_words(found: dict[str, Any]) -> dict[str, Any]:
    """Its result, under the names that our workloads use; its own sums over times are of steps, and left out."""
    return {
        "us_per_time": found["us_per_change"],
        "load_s": found["load_s"],
        "peak_mb": found["peak_mb"],
        "checks": {"size": found["size"], "final": found["check_final"]},
    }
