"""Sustained: reach in single steps, for a long time.

What a step costs at the end against what it cost at the beginning, per unit of answer, and whether memory stays.

Rule: the last thousand steps are compared with the first thousand of the same run.
"""

from __future__ import annotations

from typing import Any

from benchmarks import reach


def run(**options: Any) -> dict[str, Any]:
    found = reach.run(step=1, **options)
    grown = found["checks"]["size"] / found["size_load"]
    for share in ("p50", "p99"):
        found[f"drift_{share}"] = found["last_steps"][share] / found["first_steps"][share] / grown
    memory = found["resident_mb"]
    settled = memory[min(len(memory) - 1, max(1, len(memory) // 10))]  # the first tenth fills what is kept warm
    found["memory_growth"] = memory[-1] / settled
    return found
