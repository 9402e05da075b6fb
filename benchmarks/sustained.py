"""Sustained: reach in single steps, for a long time.

What a step costs at the end against what it cost at the beginning, per unit of answer (drift), and against what it
costs a session that is begun where those last steps begin (age); and whether memory stays.

Rule: the last thousand steps are compared with the first thousand of the same run, and with the same thousand afresh.
"""

from __future__ import annotations

from typing import Any

from benchmarks import measure, reach
from benchmarks.generator import SEED


def run(times: int, seed: int = SEED, **options: Any) -> dict[str, Any]:
    found = reach.run(step=1, times=times, seed=seed, **options)
    fresh = begun_at(times - min(measure.EDGE_OF_A_RUN, (times + 1) // 2), times, seed, **options)
    for name in ("size", "final"):
        assert fresh["checks"][name] == found["checks"][name], "both end with the same answer"
    grown = found["checks"]["size"] / found["size_load"]
    for share in ("p50", "p99"):
        found[f"drift_{share}"] = found["last_steps"][share] / found["first_steps"][share] / grown
        found[f"age_{share}"] = found["last_steps"][share] / fresh["steps"][share]
    memory = found["resident_mb"]
    settled = memory[min(len(memory) - 1, max(1, len(memory) // 10))]  # the first tenth fills what is kept warm
    found["memory_growth"] = memory[-1] / settled
    return found


def begun_at(start: int, times: int, seed: int = SEED, **options: Any) -> dict[str, Any]:
    """The same changes from a time on, in a session that loads the graph of then: edge i is drawn from seed + 2i."""
    return reach.run(step=1, times=times - start, seed=seed + 2 * start, **options)
