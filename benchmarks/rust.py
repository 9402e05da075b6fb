"""The Rust original as a peer: its programs, and its result in our words.

It does the same work with the same times, so all that both add up must be equal.

Rule: what is missing in its result is missing in ours; nothing is made up.
"""

from __future__ import annotations

from typing import Any

from benchmarks.crate import Crate
from benchmarks.measure import SPREAD

PROGRAMS = Crate("rust", "the Rust peer", "rust-dd", 60)


def in_our_words(found: dict[str, Any]) -> dict[str, Any]:
    """The peer's result, under the names that our workloads use."""
    told: dict[str, Any] = {}
    if "ns_rounds" in found:
        told["us_per_time"] = sum(found["ns_rounds"]) / len(found["ns_rounds"]) / 1e3
    for theirs, ours in _SAME.items():
        if theirs in found:
            told[ours] = found[theirs]
    for theirs, ours in (("all", "steps"), ("first", "first_steps"), ("last", "last_steps"), ("lat", "steps")):
        if found.get(theirs):
            told[ours] = _spread(found[theirs])
    if "lat_orders" in found:
        told["steps"] = _spread(found["lat_orders"])
    if "first_steps" in told and found.get("rss_mb"):
        for share in ("p50", "p99"):
            told[f"plain_{share}"] = told["last_steps"][share] / told["first_steps"][share]
        told["memory_growth"] = found["rss_mb"][-1] / max(found["rss_mb"][0], 1)
    checks = {ours: found[theirs] for theirs, ours in _CHECKS.items() if theirs in found}
    if found.get("prog") == "q1":
        checks = {"updates": found["out_updates"], "result": sorted(_q1(line) for line in found["result"])}
    elif found.get("prog") == "q13":
        checks["result"] = sorted([str(orders), str(customers)] for orders, customers, _ in found["result"])
    if checks:
        told["checks"] = checks
    return told


def _spread(latencies: dict[str, float]) -> dict[str, float]:
    return {name: latencies[f"{name}_us"] for name in SPREAD}


def _q1(line: str) -> list[str]:
    """'AF qty=1 ext_cents=2 ... n=6 x1' as the columns of our report."""
    group, *sums = line.split()
    return [group[0], group[1], *(part.partition("=")[2] for part in sums[:-1])]


_SAME = {
    "us_per_time": "us_per_time",
    "load_s": "load_s",
    "secs": "s",
    "bytes_per_edge": "bytes_per_edge",
    "peak_mb": "peak_mb",
    "rss_load_mb": "resident_load_mb",
}
_CHECKS = {
    "out_updates": "updates",
    "out_updates_after_load": "later",
    "sum_diffs": "size",
    "check_final": "final",
    "check_times": "times",
}
