"""TPC-H Q1 and Q13: two reports kept right while the rows of their tables arrive, batch by batch.

Q1 is six sums over a wide table in four groups; Q13 counts customers by the number of their orders whose comment does
not speak of special requests.  The data is made by tpchgen-cli when it is first wanted, and kept.

Rule: rows are in memory, as Arrow, before the clock starts; every batch is one time and one step.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import ebbflow as ebb
from benchmarks import measure
from benchmarks.generator import Checks

LAST_DAY = datetime.date(1998, 9, 2)


def q1() -> ebb.Dataflow:
    """Money in cents, shares in percent, so that all sums are whole numbers."""
    flow = ebb.Dataflow()
    items = flow.input(
        "lineitem",
        "flag string, status string, quantity long, price long, discount long, tax long, shipped date",
    )
    shipped = items.filter(items.shipped <= LAST_DAY).with_columns(net=lambda r: r.price * (100 - r.discount))
    charged = shipped.with_columns(charge=lambda r: r.net * (100 + r.tax))
    report = charged.group_by("flag", "status").agg(
        quantity=ebb.sum("quantity"),
        price=ebb.sum("price"),
        net=ebb.sum("net"),
        charge=ebb.sum("charge"),
        discount=ebb.sum("discount"),
        orders=ebb.count(),
    )
    flow.output("q1", report)
    return flow


def q13() -> ebb.Dataflow:
    """Each customer counts once by being there, so that one without orders is counted too: with zero."""
    flow = ebb.Dataflow()
    customers = flow.input("customer", "custkey long")
    orders = flow.input("orders", "custkey long, comment string")
    plain = orders.filter(~orders.comment.str.like("%special%requests%")).select("custkey")
    counts = plain.union(customers).group_by("custkey").agg(there=ebb.count())
    flow.output("q13", counts.select(orders=lambda r: r.there - 1).group_by("orders").agg(customers=ebb.count()))
    return flow


def run(query: str, directory: str, batch: int, workers: int = 1) -> dict[str, Any]:
    measure.get_ready()
    tables = lineitem(Path(directory)) if query == "q1" else customers_and_orders(Path(directory))
    checks, clock, t = Checks(), measure.Clock(), 0
    with (q1() if query == "q1" else q13()).run(workers=workers) as live:
        counted = measure.Counted(live)
        for name, table in tables.items():
            for start in range(0, len(table), batch):
                rows = table.slice(start, batch)
                began = measure.CLOCK()
                live.apply(name, rows, time=t)
                fed = measure.CLOCK()
                live.advance_to(t + 1)
                worked = measure.CLOCK()
                changes = live.changes(query)
                answer = changes.rows() if len(changes) < measure.FEW else changes.to_arrow()
                clock.step(began, fed, worked, measure.CLOCK())
                t += 1
                if query == "q13":
                    measure.add(checks, answer, ("orders", "customers"))
                else:
                    checks.updates += len(answer)
        counts = {"times": counted.now()}
        result = live.snapshot(query).rows()
    rows = sum(len(table) for table in tables.values())
    told = checks.told() if query == "q13" else {"updates": checks.updates}
    return {
        **clock.told(t),
        "s": sum(clock.steps),
        "rows": rows,
        "peak_mb": measure.peak_mb(),
        "checks": {**told, "result": sorted(list(map(str, row[:-1])) for row in result)},
        "counts": counts,
    }


def lineitem(directory: Path) -> dict[str, Any]:
    """The columns that Q1 reads, money and shares as whole numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    names = ["l_returnflag", "l_linestatus", "l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_shipdate"]
    table = pq.read_table(directory / "lineitem.parquet", columns=names)
    whole = lambda name, scale: pc.cast(pc.multiply(table[name], pa.scalar(scale)), pa.int64())
    return {
        "lineitem": pa.table(
            {
                "flag": table["l_returnflag"].cast(pa.string()),
                "status": table["l_linestatus"].cast(pa.string()),
                "quantity": whole("l_quantity", 1),
                "price": whole("l_extendedprice", 100),
                "discount": whole("l_discount", 100),
                "tax": whole("l_tax", 100),
                "shipped": table["l_shipdate"],
            }
        )
    }


def customers_and_orders(directory: Path) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    customers = pq.read_table(directory / "customer.parquet", columns=["c_custkey"])
    orders = pq.read_table(directory / "orders.parquet", columns=["o_custkey", "o_comment"])
    return {
        "customer": customers.rename_columns(["custkey"]),
        "orders": pa.table({"custkey": orders["o_custkey"], "comment": orders["o_comment"].cast(pa.string())}),
    }
