"""A warehouse of 45 views kept on Spark while batches of a hundredth of the rows come, beside Spark recomputing all.

    ebbflow bench warehouse                        20,000 trades
    ebbflow bench warehouse --size seed            200,000 trades

A batch goes in as DataFrames, is one durable step, and the changes of all 45 views are read in the driver.  The peer
computes the views anew in the order in which they read each other, each once and kept in memory for those behind it.

Rule: after the last batch every view is what Spark recomputes.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from decimal import Decimal
from statistics import median
from typing import Any

from rich.console import Console

import ebbflow as ebb
from benchmarks import measure, runner
from benchmarks.report import Figures, number
from benchmarks.table import Measure
from benchmarks.warehouse_views import TABLES, VIEWS, Rows, Source

TRADES = {"small": 20_000, "seed": 200_000, "large": 1_000_000}
BATCHES = 3  # that are measured; one before them takes up the state
SHARE = Measure("time", "s", "s", 0.1, 0.05)  # of recomputing all


def run(trades: int) -> Figures:
    """In a process of its own."""
    source = Source(trades)
    spark = ebb.spark("local[2]", **{"spark.driver.memory": "3g", "spark.sql.shuffle.partitions": "2"})
    place = tempfile.mkdtemp(prefix="bench-")
    flow = ebb.Dataflow()
    for name, schema in TABLES.items():
        flow.input(name, schema)
    for name, text in VIEWS.items():
        flow.output(name, flow.sql(text))
    live = flow.run(spark, checkpoint=f"{place}/kept")
    try:
        began = measure.CLOCK()
        for name, rows in source.rows.items():
            live.insert(name, frame(spark, name, rows))
        live.commit()
        loaded, steps, answers, changed = measure.CLOCK() - began, [], [], 0
        for _ in range(BATCHES + 1):
            batch = {name: changes(spark, name, *both) for name, both in source.batch().items()}
            began = measure.CLOCK()
            for name, rows in batch.items():
                live.apply(name, rows, diff="d")
            answers.append(sum(len(table.to_arrow()) for table in live.commit().values()))
            steps.append(measure.CLOCK() - began)
        changed = sum(map(len, source.rows.values())) // 50
        for name, rows in source.rows.items():
            frame(spark, name, rows).cache().createOrReplaceTempView(name)
            spark.table(name).count()
        whole = min(recomputed(spark) for _ in range(2))
        wrong = [name for name in VIEWS if bag(live.snapshot(name).to_arrow()) != bag(spark.table(name).toArrow())]
        jobs = live.counters()["jobs"]
    finally:
        live.close()
        spark.stop()
        shutil.rmtree(place, ignore_errors=True)
    return {
        "load_s": loaded, "first_s": steps[0], "steps": steps[1:], "s": median(steps[1:]), "recomputed_s": whole,
        "wrong": wrong, "changes": changed, "answers": answers[1:], "jobs": jobs,
        "rows": sum(map(len, source.rows.values())),
    }  # fmt: skip


def frame(spark: Any, name: str, rows: Rows) -> Any:
    return spark.createDataFrame(rows, TABLES[name])


def changes(spark: Any, name: str, come: Rows, gone: Rows) -> Any:
    rows = [*((*row, -1) for row in gone), *((*row, 1) for row in come)]
    return spark.createDataFrame(rows, f"{TABLES[name]}, d bigint").localCheckpoint()


def recomputed(spark: Any) -> float:
    """Seconds for all views, each computed once."""
    for name in VIEWS:
        spark.catalog.uncacheTable(name) if spark.catalog.tableExists(name) else None
    began = measure.CLOCK()
    for name, text in VIEWS.items():
        spark.sql(text).createOrReplaceTempView(name)
        spark.catalog.cacheTable(name)
        spark.table(name).count()
    return measure.CLOCK() - began


def bag(table: Any) -> Counter[Any]:
    """Rows as often as they are there, numbers of all types alike."""
    names = [name for name in table.column_names if not name.startswith("_")]
    found: Counter[Any] = Counter()
    counts = table["_count"].to_pylist() if "_count" in table.column_names else [1] * len(table)
    for row, count in zip(zip(*(table[name].to_pylist() for name in names)), counts, strict=True):
        found[tuple(float(f"{v:.9g}") if isinstance(v, float | Decimal) else v for v in row)] += count
    return found


# ---- for the command --------------------------------------------------------------------------------------


def measured(size: str, limit: float) -> Figures | str:
    """The row of the warehouse, or a sentence saying why there is none."""
    environment = os.environ | {"PYTHONPATH": str(runner.CHECKOUT)}
    command = [sys.executable, "-m", "benchmarks.child", "warehouse", json.dumps({"trades": TRADES[size]})]
    told = runner.process(command, environment, None, limit, 2)
    if told.trouble:
        return f"warehouse {told.trouble}"
    found = told.found
    ratio = found["s"] / found["recomputed_s"]
    return {
        "workload": "Spark: warehouse of 45 views", "size": f"{TRADES[size]:,} trades local[2]",
        "step": found["changes"], "workers": 2, "times": None, "seed": None, "measure": "time", "ours": found["s"],
        "rust": None, "unit": "s", "ratio": ratio, "first": SHARE.first, "goal": SHARE.goal,
        "reached": "goal" if ratio <= (SHARE.goal or 0) else "first" if ratio <= (SHARE.first or 0) else "no",
        "checks_equal": not found["wrong"], "disturbed": False, "trouble": ", ".join(found["wrong"]),
        "recomputed": found["recomputed_s"], "by": "SQL, each view once", "load_s": found["load_s"],
        "first_s": found["first_s"], "jobs": found["jobs"], "runs": found["steps"], "rows": found["rows"],
        "answers": found["answers"],
    }  # fmt: skip


def show(row: Figures, console: Console) -> None:
    console.print(
        f"45 views over {row['rows']:,} rows: a batch of about {row['step']:,} changed rows takes "
        f"{number(row['ours'])} s (each: {', '.join(map(number, row['runs']))}), of which {number(row['answers'][-1])} "
        f"changes of answers; Spark recomputes all in {number(row['recomputed'])} s: "
        f"{1 / row['ratio']:.1f} times as long. The load took {number(row['load_s'])} s, the first batch "
        f"{number(row['first_s'])} s. "
        + ("Every view is equal." if row["checks_equal"] else f"NOT EQUAL: {row['trouble']}"),
        highlight=False,
    )
