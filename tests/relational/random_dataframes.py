"""Random queries as DataFrames, kept while rows come and go: at each time what Spark answers itself.

    python -m tests.relational.random_dataframes --cases 300 --seed 1

The queries are those that `random_sql` asks of DuckDB.

Rule: at each time the same bag of rows as Spark's, of the same types.
"""

from __future__ import annotations

import argparse
import random
import sys

import ebbflow as ebb
from ebbflow.errors import DataFrameError
from tests.relational.against_duckdb import SCHEMAS, history
from tests.relational.of_spark import compare
from tests.relational.random_sql import written

SPELT = {"long": "bigint", "short": "smallint", "byte": "tinyint"}


def show(spark, rows) -> None:
    for name, columns in SCHEMAS.items():
        typed = ", ".join(f"{column} {kind}" for column, kind in columns)
        spark.createDataFrame(rows[name], typed).createOrReplaceTempView(name)


def ask(spark, seed: int) -> bool:
    """Compare one query; whether Spark could answer it.  AssertionError, with the query, where the two differ."""
    from pyspark.errors import PySparkException

    query = written(seed)
    rows: dict[str, list[tuple]] = {name: [] for name in SCHEMAS}
    try:
        show(spark, rows)
        flow = ebb.Dataflow()
        try:
            df = spark.sql(query)
        except PySparkException:
            return False
        flow.output("answer", flow.dataframe(df))
        read = {node.name: node.schema.names for node in flow.graph.nodes if type(node).__name__ == "Input"}
        if not set(read) & set(SCHEMAS):  # nothing is read that could change
            compare(flow.compute()["answer"], df)
            return True
        with flow.run() as live:
            for time, step in enumerate(history(random.Random(seed))):
                for name, (come, gone) in step.items():
                    for row in gone:
                        rows[name].remove(row)
                    rows[name] += come
                    if name in read:
                        places = [[column for column, _ in SCHEMAS[name]].index(column) for column in read[name]]
                        live.insert(name, [tuple(row[i] for i in places) for row in come], time=time)
                        live.delete(name, [tuple(row[i] for i in places) for row in gone], time=time)
                live.advance_to(time + 1)
                show(spark, rows)
                asked, found = spark.sql(query), live.snapshot("answer")
                try:
                    theirs = asked.collect()
                except PySparkException:
                    return False
                compare(found, theirs, time)
                mine = [SPELT.get(str(kind), str(kind)) for kind in found.schema.types[:-1]]
                kinds = [field.dataType.simpleString() for field in asked.schema.fields]
                assert mine == kinds, (time, mine, kinds)
    except Exception as problem:
        problem.add_note(f"seed {seed}: {query}")
        raise
    return True


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.relational.random_dataframes", description=__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    spark = ebb.spark("local[2]", **{"spark.sql.shuffle.partitions": 2})
    failures = refused = answered = 0
    for seed in range(asked.seed, asked.seed + asked.cases):
        try:
            answered += ask(spark, seed)
        except DataFrameError as refusal:
            refused += 1
            print(f"refused: {refusal.what}\n  {' '.join(refusal.__notes__)}", flush=True)
        except Exception as problem:  # whatever it is, the next query is asked
            failures += 1
            print(f"{type(problem).__name__}: {str(problem)[:600]}\n  {' '.join(problem.__notes__)}", flush=True)
    print(f"{asked.cases} queries, {answered} compared, {refused} refused, {failures} failures")
    return 1 if failures or refused else 0


if __name__ == "__main__":
    sys.exit(main())
