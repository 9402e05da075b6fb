"""TPC-H's 22 queries by `flow.sql`: a single change that alters the answer, a thousandth of the rows, the load.

    ebbflow bench sql                              scale 0.01
    ebbflow bench sql --size 0.1 --query 1,22      scale 0.1, these queries
    ebbflow bench sql --size 0.1 --against spark   Spark recomputes as well
    ebbflow bench sql --size 0.1 --against dbsp    dbsp keeps five of the queries as well

A row of a table on which the answer depends goes, and comes back: each is one step, from handing over the row to having
read the changes of the answer.  Rows whose going leaves the answer as it was are passed over.  DuckDB starts over on
the same core, in turns with ours; which rows may matter is found by DuckDB too, outside the clock.

Rule: with all rows, without a thousandth of them and with all again, the answer is DuckDB's.
"""

from __future__ import annotations

import glob
import importlib
import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import ebbflow as ebb
from benchmarks import crate, measure, runner
from benchmarks.report import Figures

SCALES = ("0.01", "0.1", "1")
QUERIES = tuple(range(1, 23))
ENOUGH = 200  # single changes that alter the answer
TRIED = 3_000  # rows that are tried for it, at most
SHARES = 5  # times that a thousandth goes and comes back
ON_SPARK = 3  # recomputations by Spark, of which the fastest counts
TYPES = {"integer": "int", "bigint": "long", "varchar": "string"}
GOAL_US = 5_000.0  # of a single change, at most
OF_DBSP = ("dbsp_us", "dbsp_p99", "dbsp_max", "dbsp_share_us", "dbsp_load_s")

Say = Callable[[str], None]
Beside = Callable[[int, Path, Figures, float], Figures | str]  # a query, the tables, what ours found, seconds at most

IN_NATION = "(select s_suppkey from supplier join nation on s_nationkey = n_nationkey where n_name = '{}')"
# Which table's rows go, and which of them may matter; {answer} is the query itself.
CHANGES: dict[int, tuple[str, str]] = {
    1: ("lineitem", "l_shipdate <= date '1998-09-02'"),
    2: ("partsupp", "ps_partkey in (select p_partkey from ({answer}))"),
    3: ("lineitem", "l_orderkey in (select l_orderkey from ({answer}))"),
    4: ("orders", "o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-10-01'"),
    5: (
        "lineitem",
        "(l_orderkey, l_suppkey) in (select o_orderkey, s_suppkey from orders join customer on o_custkey = c_custkey "
        "join supplier on s_nationkey = c_nationkey join nation on n_nationkey = s_nationkey join region on n_regionkey"
        " = r_regionkey where r_name = 'ASIA' and year(o_orderdate) = 1994)",
    ),
    6: ("lineitem", "year(l_shipdate) = 1994 and l_discount between 0.05 and 0.07 and l_quantity < 24"),
    7: (
        "lineitem",
        "year(l_shipdate) in (1995, 1996) and (l_orderkey, l_suppkey) in (select o_orderkey, s_suppkey from orders join"
        " customer on o_custkey = c_custkey join nation c on c_nationkey = c.n_nationkey, supplier join nation s on "
        "s_nationkey = s.n_nationkey where (c.n_name, s.n_name) in (('FRANCE', 'GERMANY'), ('GERMANY', 'FRANCE')))",
    ),
    8: (
        "lineitem",
        "l_partkey in (select p_partkey from part where p_type = 'ECONOMY ANODIZED STEEL') and l_orderkey in (select "
        "o_orderkey from orders join customer on o_custkey = c_custkey join nation on c_nationkey = n_nationkey join "
        "region on n_regionkey = r_regionkey where r_name = 'AMERICA' and year(o_orderdate) in (1995, 1996))",
    ),
    9: ("lineitem", "l_partkey in (select p_partkey from part where p_name like '%green%')"),
    10: (
        "lineitem",
        "l_returnflag = 'R' and l_orderkey in (select o_orderkey from orders where o_custkey in (select c_custkey from "
        "({answer})) and o_orderdate >= date '1993-10-01' and o_orderdate < date '1994-01-01')",
    ),
    11: ("partsupp", f"ps_suppkey in {IN_NATION.format('GERMANY')}"),
    12: ("lineitem", "l_shipmode in ('MAIL', 'SHIP') and year(l_receiptdate) = 1994 and l_shipdate < l_commitdate"),
    13: ("orders", "o_comment not like '%special%requests%'"),
    14: ("lineitem", "l_shipdate >= date '1995-09-01' and l_shipdate < date '1995-10-01'"),
    15: (
        "lineitem",
        "l_suppkey in (select s_suppkey from ({answer})) and l_shipdate >= date '1996-01-01' and l_shipdate < date "
        "'1996-04-01'",
    ),
    16: (
        "partsupp",
        "ps_partkey in (select p_partkey from part where p_brand <> 'Brand#45' and p_type not like 'MEDIUM POLISHED%' "
        "and p_size in (49, 14, 23, 45, 19, 3, 36, 9))",
    ),
    17: (
        "lineitem",
        "l_partkey in (select p_partkey from part where p_brand = 'Brand#23' and p_container = 'MED BOX')",
    ),
    18: ("lineitem", "l_orderkey in (select o_orderkey from ({answer}))"),
    19: (
        "lineitem",
        "l_shipinstruct = 'DELIVER IN PERSON' and l_shipmode in ('AIR', 'AIR REG') and l_quantity <= 30 and l_partkey "
        "in (select p_partkey from part where p_brand in ('Brand#12', 'Brand#23', 'Brand#34'))",
    ),
    20: (
        "partsupp",
        "ps_suppkey in (select s_suppkey from supplier where s_name in (select s_name from ({answer}))) and ps_partkey "
        "in (select p_partkey from part where p_name like 'forest%')",
    ),
    21: (
        "lineitem",
        "l_receiptdate > l_commitdate and l_suppkey in (select s_suppkey from supplier where s_name in (select s_name "
        "from ({answer})))",
    ),
    22: (
        "customer",
        "substring(c_phone from 1 for 2) in ('13', '31', '23', '29', '30', '18', '17') and c_acctbal > 0 and c_custkey "
        "not in (select o_custkey from orders)",
    ),
}


# ---- the data ---------------------------------------------------------------------------------------------


def connected() -> Any:
    """A connection to DuckDB, on one core, that knows TPC-H."""
    import duckdb

    extension = importlib.import_module("duckdb_extension_tpch")
    (path,) = glob.glob(os.path.join(os.path.dirname(extension.__file__), "**", "*.duckdb_extension"), recursive=True)
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true", "threads": "1"})
    connection.execute(f"load '{path}'")
    connection.execute("set default_null_order = 'nulls_first_on_asc_last_on_desc'")  # Spark's
    return connection


def tables(scale: str, say: Say) -> Path | str:
    """A directory with the tables as files, made once; or a sentence saying why there is none."""
    place = crate.cache() / "tpch" / f"duckdb-sf{scale}"
    if place.is_dir():
        return place
    try:
        connection = connected()
    except (ImportError, ValueError):
        return "`ebbflow bench sql` needs DuckDB and its package of TPC-H: pip install duckdb duckdb-extension-tpch."
    say(f"making the tables of TPC-H at scale {scale}, once")
    place.parent.mkdir(parents=True, exist_ok=True)
    with connection, tempfile.TemporaryDirectory(dir=place.parent) as unfinished:
        connection.execute(f"call dbgen(sf={scale})")
        whole = Path(unfinished) / "whole"
        whole.mkdir()
        for (name,) in connection.execute("show tables").fetchall():
            connection.execute(f"copy {name} to '{whole / name}.parquet' (format parquet)")
        whole.rename(place)
    return place


def text_of(connection: Any, number: int) -> str:
    (text,) = connection.execute("select query from tpch_queries() where query_nr = ?", [number]).fetchone()
    return str(text).rstrip("; \n")


def program(connection: Any, query: str, names: list[str]) -> ebb.Dataflow:
    flow = ebb.Dataflow()
    for name in names:
        columns = connection.execute(f"describe {name}").fetchall()
        flow.input(name, ", ".join(f"{column[0]} {TYPES.get(column[1].lower(), column[1])}" for column in columns))
    flow.output("answer", flow.sql(query))
    return flow


# ---- ours, beside DuckDB ----------------------------------------------------------------------------------


def run(number: int | None = None, numbers: tuple[int, ...] = (), directory: str = "") -> Figures:
    """What a process of its own does: one query by us and DuckDB, or several by Spark."""
    return on_spark(numbers, directory) if number is None else query_of(number, directory)


def query_of(number: int, directory: str) -> Figures:
    measure.get_ready()
    with connected() as connection:
        files = sorted(Path(directory).glob("*.parquet"))
        query = text_of(connection, number)
        names = [file.stem for file in files if file.stem in query.lower()]
        for file in files:
            connection.execute(f"create table {file.stem} as select * from '{file}'")
        arrow = lambda text: connection.execute(text).arrow().read_all()
        table, part = CHANGES[number][0], share_of(connection, number)
        chosen = connection.execute(singles_of(connection, number, query)).fetchall()
        share = arrow(f"select * {part}")
        before = measure.resident_mb()
        with program(connection, query, names).run() as live:
            given = {name: arrow(f"select * from {name}") for name in names}
            began = measure.CLOCK()
            for name, rows in given.items():
                live.insert(name, rows, time=0)
            live.advance_to(1)
            loaded = measure.CLOCK() - began
            rows_given = sum(map(len, given.values()))
            del given
            state = {"words": live.counters()["words"] * 8, "resident_mb": measure.resident_mb() - before}
            turns = Turns(live, connection, query)
            turns.compare()
            singles = turns.singles(table, chosen)
            shares = turns.shares(table, share, part)
            turns.compare()
    return {
        "load_s": loaded, "rows": rows_given, "state_bytes": state["words"], "resident_mb": state["resident_mb"],
        "tried": turns.tried, "altering": len(singles), "share_rows": len(share),
        "steps": measure.spread(singles) if singles else None, "share_s": median(shares),
        "duckdb_s": median(turns.duckdb), "checks": {"same": turns.same, "rows": turns.rows},
    }  # fmt: skip


def singles_of(connection: Any, number: int, query: str) -> str:
    """A query: the rows that are tried one at a time, in their order."""
    table, matters = CHANGES[number]
    return (
        f"select * from (select * from {table} where {matters.replace('{answer}', query)}) order by "
        f"{hash_of(connection, table)} limit {TRIED}"
    )


def share_of(connection: Any, number: int) -> str:
    """The end of a query or a deletion: from which table a thousandth goes, and which of it."""
    table, _ = CHANGES[number]
    return f"from {table} where {hash_of(connection, table)} % 1000 = 7"


def hash_of(connection: Any, table: str) -> str:
    columns = [column[0] for column in connection.execute(f"describe {table}").fetchall()]
    return f"hash({', '.join(columns)})"


class Turns:
    """A session and DuckDB, which are asked in turns."""

    def __init__(self, live: Any, connection: Any, query: str):
        self.live, self.connection, self.query = live, connection, query
        self.now, self.tried, self.rows, self.same = 1, 0, 0, True
        self.duckdb: list[float] = []

    def singles(self, table: str, chosen: list[tuple[Any, ...]]) -> list[float]:
        """Seconds of the steps that altered the answer."""
        found: list[float] = []
        for row in islice(cycle(chosen), TRIED):
            self.tried += 1
            for edit in (self.live.delete, self.live.insert):
                took, altered = self.step(partial(edit, table, [row]))
                if altered and self.tried > 3:  # the first are slower: what is needed is loaded
                    found.append(took)
            if len(found) >= ENOUGH:
                break
            if self.tried % 50 == 0:
                self.recomputed()
        return found

    def shares(self, table: str, share: Any, part: str) -> list[float]:
        found: list[float] = []
        for i in range(SHARES):
            found.append(self.step(partial(self.live.delete, table, share))[0])
            if i == 0:
                self.connection.execute("begin transaction")
                self.connection.execute(f"delete {part}")
                self.compare()
                self.connection.execute("rollback")
            found.append(self.step(partial(self.live.insert, table, share))[0])
            self.recomputed()
        return found

    def step(self, edit: Callable[..., None]) -> tuple[float, bool]:
        began = measure.CLOCK()
        edit(time=self.now)
        self.now += 1
        self.live.advance_to(self.now)
        changes = self.live.changes("answer")
        few = len(changes) < measure.FEW
        altered = len(changes.rows()) > 0 if few else len(changes.to_arrow()) > 0
        return measure.CLOCK() - began, altered

    def recomputed(self) -> list[tuple[Any, ...]]:
        began = measure.CLOCK()
        found: list[tuple[Any, ...]] = self.connection.execute(self.query).fetchall()
        self.duckdb.append(measure.CLOCK() - began)
        return found

    def compare(self) -> None:
        mine = [row for *row, count in self.live.snapshot("answer") for _ in range(count)]
        theirs = self.recomputed()
        self.rows = max(self.rows, len(theirs))
        self.same = self.same and are_alike(mine, theirs)


def are_alike(mine: list[Any], theirs: list[Any]) -> bool:
    """The same rows; quotients and averages are decimals in Spark's dialect and doubles in DuckDB: to six digits."""
    alike = lambda one, two: (
        math.isclose(one, two, rel_tol=1e-6, abs_tol=1e-6) if isinstance(one, int | float | Decimal) else one == two
    )
    return len(mine) == len(theirs) and all(
        all(map(alike, one, two)) for one, two in zip(ordered(mine), ordered(theirs), strict=True)
    )


def ordered(rows: list[Any]) -> list[Any]:
    """In an order that does not depend on the last digit of a number."""
    is_plain = lambda value: isinstance(value, float | Decimal)
    return sorted(
        rows, key=lambda row: ([repr(v) for v in row if not is_plain(v)], [float(v) for v in row if is_plain(v)])
    )


# ---- Spark ------------------------------------------------------------------------------------------------


def on_spark(numbers: tuple[int, ...], directory: str) -> Figures:
    """Seconds that Spark takes for each query, its tables in memory."""
    spark = ebb.spark("local[2]", **{"spark.driver.memory": "3g"})
    found: Figures = {}
    try:
        for file in sorted(Path(directory).glob("*.parquet")):
            frame = spark.read.parquet(str(file)).cache()
            frame.count()
            frame.createOrReplaceTempView(file.stem)
        with connected() as connection:
            texts = {number: text_of(connection, number).replace('"', "`") for number in numbers}
        for number, text in texts.items():
            took = []
            for _ in range(ON_SPARK):
                began = measure.CLOCK()
                spark.sql(text).collect()
                took.append(measure.CLOCK() - began)
            found[str(number)] = min(took)
    finally:
        spark.stop()
    return found


# ---- all of them ------------------------------------------------------------------------------------------


def measured(
    scale: str, numbers: tuple[int, ...], spark: bool, limit: float, say: Say, beside: Beside | None = None
) -> Iterator[Figures | str]:
    """The figures of each query, or a sentence saying why there are none; `beside` asks a peer for those it keeps."""
    place = tables(scale, say)
    if isinstance(place, str):
        yield place
        return
    by_spark: Figures = {}
    if spark:
        say("Spark recomputes")
        told = in_child({"numbers": numbers, "directory": str(place)}, limit)
        by_spark = told.found
        if told.trouble:
            yield f"Spark {told.trouble}"
    for number in numbers:
        say(f"Q{number} at scale {scale}")
        told = in_child({"number": number, "directory": str(place)}, limit)
        if told.trouble:
            yield f"Q{number} {told.trouble}"
            continue
        peer = beside(number, place, told.found, limit) if beside else {}
        if isinstance(peer, str):
            yield peer
            peer = {}
        yield row_of(number, scale, told.found, by_spark.get(str(number)), told.is_disturbed, peer)


def in_child(options: Figures, limit: float) -> runner.Run:
    """A part in a process of its own, on one core unless it is Spark's."""
    core = runner.quietest_core() if "number" in options else None
    environment = os.environ | {"PYTHONPATH": str(runner.CHECKOUT)}
    command = [sys.executable, "-m", "benchmarks.child", "sql", json.dumps(options)]
    return runner.process(command, environment, core, limit)


def row_of(
    number: int, scale: str, found: Figures, spark: float | None, disturbed: bool, peer: Figures | None = None
) -> Figures:
    """As the rows of other workloads are; the figures of a peer have its name before theirs."""
    peer = peer or {}
    steps = found["steps"] or {"p50": None, "p99": None, "max": None}
    one, whole = steps["p50"], found["duckdb_s"] * 1e6
    return {
        "workload": f"sql: Q{number}", "size": f"SF {scale}", "step": 1, "workers": 1, "times": None, "seed": None,
        "measure": "time", "ours": one, "rust": None, "unit": "us per change", "ratio": one / whole if one else None,
        "first": GOAL_US, "goal": None, "reached": None if one is None else "first" if one <= GOAL_US else "no",
        "checks_equal": found["checks"]["same"] and peer.get("same", True),
        "disturbed": disturbed or peer.get("disturbed", False), "trouble": "", **steps,
        "duckdb_us": whole, "spark_us": spark * 1e6 if spark else None, "share_us": found["share_s"] * 1e6,
        **{name: found[name] for name in
           ("load_s", "state_bytes", "resident_mb", "rows", "share_rows", "tried", "altering")},
        **{name: peer.get(name) for name in OF_DBSP},
    }  # fmt: skip
