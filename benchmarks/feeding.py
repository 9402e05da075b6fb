"""Feeding and reading: what a row costs on its way in and on its way out, with no work between.

A million rows through a program that does nothing with them: from numpy or Arrow in, as Arrow out.

Rule: the rows differ and their times are given row by row, as a log of changes has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ebbflow as ebb
from benchmarks import measure
from benchmarks.draws import draws
from benchmarks.generator import Checks


def program() -> ebb.Dataflow:
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("pairs", "src long, dst long"))
    return flow


def run(rows: int, form: str = "numpy", seed: int = 42) -> dict[str, Any]:
    measure.get_ready()
    src, dst = draws(0, rows, 0, seed)
    table: Any = {"src": src, "dst": dst, "t": np.arange(rows) // 10, "d": np.ones(rows, np.int64)}
    if form == "arrow":
        import pyarrow

        table = pyarrow.table(table)
    checks = Checks()
    with program().run() as live:
        began = measure.CLOCK()
        live.apply("pairs", table, time="t", diff="d")
        fed = measure.CLOCK()
        live.advance_to(rows)
        worked = measure.CLOCK()
        changes = live.changes("copy")
        given = measure.CLOCK()
        answer = changes.to_arrow()
        ended = measure.CLOCK()
    measure.add(checks, answer, ("src", "dst"))
    per_row = 1e9 / rows
    return {
        "apply_ns": (fed - began) * per_row,
        "work_ns": (worked - fed) * per_row,
        "read_ns": (ended - worked) * per_row,
        "changes_ns": (given - worked) * per_row,
        "checks": checks.told(),
    }
