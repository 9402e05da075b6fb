"""Other tools' words for what we have.

PySpark's spellings of our verbs work as they are; words that mean something else here, and words of other tools, are
answered with ours, which is quicker than a page of documentation.

Rule: a second spelling stands in these tables and in its class; tests go through the tables line by line.
"""

from __future__ import annotations

from collections.abc import Iterable

from ebbflow.errors import UnknownMethod, did_you_mean
from ebbflow.frontend import pyspark_names

# PySpark's spellings -> our words.  Each is a method of its class, where editors and type checkers find it.
COLLECTION_ALIASES = {
    "where": "filter",
    "groupBy": "group_by",
    "groupby": "group_by",
    "groupingSets": "grouping_sets",
    "withColumn": "with_columns",
    "withColumns": "with_columns",
    "withColumnRenamed": "rename",
    "withColumnsRenamed": "rename",
    "unionByName": "union",
    "unionAll": "union",
    "crossJoin": "join",
    "orderBy": "order_by",
    "printSchema": "print_schema",
}
COLUMN_ALIASES = {
    "isNull": "is_null",
    "isNotNull": "is_not_null",
    "isNaN": "is_nan",
    "isin": "is_in",
    "astype": "cast",
    "name": "alias",
    "eqNullSafe": "eq_null_safe",
    "getItem": "get_item",
    "getField": "get_field",
    "withField": "with_field",
    "bitwiseAND": "bitwise_and",
    "bitwiseOR": "bitwise_or",
    "bitwiseXOR": "bitwise_xor",
    "startswith": "str.starts_with",
    "endswith": "str.ends_with",
    "contains": "str.contains",
    "like": "str.like",
    "ilike": "str.ilike",
    "substr": "str.substr",
}
GROUPED_ALIASES = {"mean": "avg"}
WINDOW_ALIASES = {
    "partitionBy": "partition_by",
    "orderBy": "order_by",
    "rowsBetween": "rows_between",
    "rangeBetween": "range_between",
    "unboundedPreceding": "unbounded_preceding",
    "unboundedFollowing": "unbounded_following",
    "currentRow": "current_row",
}
TABLE_ALIASES = {"toPandas": "to_pandas", "toArrow": "to_arrow"}

# join(how=...)
HOW = {
    "inner": "inner", "left": "left", "right": "right", "full": "full", "semi": "semi", "anti": "anti",
    "cross": "cross", "leftouter": "left", "rightouter": "right", "outer": "full", "fullouter": "full",
    "leftsemi": "semi", "leftanti": "anti",
}  # fmt: skip

_ROWS_HINT = (
    "Rows are known when the program runs: flow.compute(...) once, or live.snapshot(name) and live.changes(name)"
)
_RESULT = "A Table is a result and stays as it is: change the collection, or take to_pandas(), to_polars(), to_arrow()"
_FEED = "Rows come in while the program runs: live = flow.run(), then live.insert(name, rows), delete, upsert or apply"
_FIRST = (
    "A collection has no order: order_by(...).limit(n), or group_by(...).top(n, order_by=...), gives the first rows"
)

# What other tools call it -> what to write here.
FOREIGN: dict[str, str] = {
    **pyspark_names.COLLECTION,
    "merge": "join(other, on=...) joins; rows that replace others are flow.input(..., key=...) with live.upsert",
    "assign": "with_columns(name=...) adds or replaces columns",
    "mutate": "with_columns(name=...) adds or replaces columns",
    "add_columns": "with_columns(name=...) adds or replaces columns",
    "without": "drop(name, ...)",
    "insert": _FEED,
    "delete": _FEED,
    "update": _FEED,
    "upsert": _FEED,
    "transform": "with_columns(name=...), select(...), or call your function with the collection",
    "pipe": "call your function with the collection: fn(collection)",
    "query": "filter(condition) keeps rows",
    "loc": "filter(condition) keeps rows, select(...) columns",
    "iloc": _FIRST,
    "lazy": "everything is lazy here already: nothing runs before flow.run() or flow.compute(...)",
    "cache": "nothing needs caching: what is shared is indexed once and kept up to date",
    "persist": "nothing needs persisting: what is shared is indexed once; flow.run(checkpoint=...) survives restarts",
    "unpersist": "nothing is persisted by hand",
    "checkpoint": "flow.run(checkpoint=...) survives restarts",
    "repartition": "rows are placed by the planner; flow.run(workers=n) says how many share the work",
    "coalesce": "rows are placed by the planner; for nulls there is ebb.coalesce(a, b) and .fill_null(value)",
    "map_partitions": "map_batches(fn, schema) gets whole arrays",
    "mapPartitions": "map_batches(fn, schema) gets whole arrays",
    "mapInArrow": "map_batches(fn, schema) gets whole arrays",
    "mapInPandas": "map_batches(fn, schema) gets whole arrays",
    "map": "map_rows(fn, schema) for your own function; select(name=expression) is faster",
    "apply": "map_rows(fn, schema) for your own function; select(name=expression) is faster",
    "flatMap": "flat_map(fn, schema)",
    "explode": 'with_columns(x=F.explode("xs")) gives a row for each element of an array',
    "collect": _ROWS_HINT,
    "show": _ROWS_HINT,
    "head": _FIRST,
    "first": _FIRST,
    "take": _FIRST,
    "tail": _FIRST,
    "limit": _FIRST,
    "top": _FIRST,
    "nlargest": _FIRST,
    "topk": _FIRST,
    "top_k": _FIRST,
    "sort": "order_by(...).limit(n); a collection has no order otherwise",
    "sort_values": "order_by(...).limit(n); a collection has no order otherwise",
    "count": "group_by(...).count() counts rows and keeps the count up to date; group_by().count() counts them all",
    "value_counts": "group_by(column).count()",
    "sum": "group_by(...).agg(total=ebb.sum(...)); without keys group_by() is one group",
    "avg": "group_by(...).agg(mean=ebb.avg(...)); without keys group_by() is one group",
    "mean": "group_by(...).agg(mean=ebb.avg(...)); without keys group_by() is one group",
    "min": "group_by(...).agg(least=ebb.min(...)); without keys group_by() is one group",
    "max": "group_by(...).agg(most=ebb.max(...)); without keys group_by() is one group",
    "describe": "group_by().agg(n=ebb.count(), mean=ebb.avg(...), least=ebb.min(...), most=ebb.max(...))",
    "len": "group_by().count() counts rows and keeps the count right",
    "is_empty": "group_by().count() counts rows and keeps the count right",
    "toPandas": _ROWS_HINT + "; a Table has to_pandas()",
    "to_pandas": _ROWS_HINT + "; a Table has to_pandas()",
    "to_arrow": _ROWS_HINT + "; a Table has to_arrow()",
    "write": "flow.output(name, collection) names a result; sinks belong to flow.stream",
    "writeStream": "flow.stream(spark, ...) runs a program on streams",
    "createOrReplaceTempView": "flow.output(name, collection) names a result; ebb.view(name) is a sink of flow.stream",
    "unique": "distinct()",
    "dropDuplicates": "distinct(); one row per key is group_by(key).top(1, order_by=...)",
    "drop_duplicates": "distinct(); one row per key is group_by(key).top(1, order_by=...)",
    "deduplicate": "distinct(); one row per key is group_by(key).top(1, order_by=...)",
    "subtract": "a - b subtracts counts; rows of a without a partner in b are a.antijoin(b, on=...)",
    "exceptAll": "a - b subtracts counts; threshold(lambda n: max(n, 0)) leaves out what is below zero",
    "except_": "(a.distinct() - b.distinct()).distinct()",
    "intersect": "a.distinct().semijoin(b, on=list(a.columns))",
    "difference": "a - b subtracts counts; rows of a without a partner in b are a.antijoin(b, on=...)",
    "append": "union(other) puts collections together",
    "vstack": "union(other) puts collections together",
    "fillna": 'with_columns(x=col("x").fill_null(value))',
    "fill_null": 'with_columns(x=col("x").fill_null(value))',
    "dropna": 'filter(col("x").is_not_null())',
    "drop_nulls": 'filter(col("x").is_not_null())',
    "selectExpr": "select(name=expression)",
    "withWatermark": "frontiers say what is complete: live.advance_to(time)",
    "pivot": 'group_by(...).pivot("k", ["a", "b"]).sum("x") has a column for each value',
    "melt": "flat_map(fn, schema) gives several rows for each",
    "window": "group_by with the window's start, an expression, as a key",
    "rolling": "group_by with the window's start, an expression, as a key",
    "over": "with_columns(total=ebb.sum(...).over(ebb.Window.partition_by(...)))",
    "loop": "iterate(body)",
    "enter": "outer collections enter a loop by themselves: use them in the body of iterate",
    "leave": "what the body of iterate returns leaves the loop by itself",
    "arrange_by_key": "the planner indexes what is joined, once: join(other, on=...)",
    "arrange": "the planner indexes what is joined, once: join(other, on=...)",
    "reduce": "group_by(...).reduce(fn, schema)",
    "alias": "flow.output(name, c) names a result; join takes suffix= for columns of one name",
    "minus": "(a.distinct() - b.distinct()).distinct()",
    "na": 'filter(col("x").is_not_null()) and with_columns(x=col("x").fill_null(value))',
    "rdd": "map_rows(fn, schema) and flat_map(fn, schema) are for your own functions",
    "windowby": "group_by with the window's start, an expression, as a key",
    "to_polars": _ROWS_HINT + "; a Table has to_polars()",
    "toArrow": _ROWS_HINT + "; a Table has to_arrow()",
    "toDF": "rename({old: new})",
    "isEmpty": "group_by().count() counts rows and keeps the count right",
    "sample": "filter with a condition on a hash or an id of yours, so that the same rows stay chosen",
    "foreach": "live.subscribe(name, fn) calls fn with the changes of an output",
    "dtypes": "collection.schema",
}
FOREIGN_TABLE: dict[str, str] = {
    "collect": "rows(); a Table is iterated too",
    "fetchall": "rows(); a Table is iterated too",
    "to_list": "rows()",
    "to_dicts": "to_arrow().to_pylist()",
    "to_dict": "to_arrow().to_pydict()",
    "head": "show(n) prints the first n rows; rows()[:n] are they",
    "limit": "show(n) prints the first n rows; rows()[:n] are they",
    "take": "rows()[:n]",
    "first": "rows()[0]",
    "count": "len(table)",
    "shape": "len(table), len(table.columns)",
    "filter": _RESULT,
    "select": _RESULT,
    "sort": "Rows stand sorted by _time, then by record; to_pandas().sort_values(...) for another order",
    "sort_values": "Rows stand sorted by _time, then by record; to_pandas().sort_values(...) for another order",
    "dtypes": "schema",
    "write": "to_arrow(), and pyarrow writes files",
    "to_csv": "to_pandas().to_csv(path); to_arrow(), and pyarrow writes files",
    "to_parquet": "to_pandas().to_parquet(path); to_arrow(), and pyarrow writes files",
    "to_json": "to_pandas().to_json(path); to_arrow().to_pylist()",
    "to_numpy": "to_pandas().to_numpy()",
}
FOREIGN_SESSION: dict[str, str] = {
    "remove": "delete(name, rows, time=...)",
    "update": "apply(name, rows, time=..., diff=...) for changes, upsert(name, rows) for rows replaced by key",
    "update_at": "apply(name, rows, time=..., diff=...)",
    "append": "insert(name, rows, time=...)",
    "merge": "upsert(name, rows) for an input with a key",
    "advance": "advance_to(time): no more input before that time",
    "step": "advance_to(time) does the work; commit() where no times are given",
    "flush": "advance_to(time) does the work; commit() where no times are given",
    "run": "advance_to(time) does the work; commit() where no times are given",
    "probe": "frontier(name) says what is complete",
    "rollback": "discard() drops the rows given since the last step",
    "collect": "snapshot(name), or changes(name)",
    "query": "snapshot(name), or changes(name)",
    "read": "snapshot(name), or changes(name)",
    "listen": "subscribe(name, fn)",
    "stop": "close() says that no more input comes",
    "output": "flow.output(name, collection), before flow.run()",
    "input": "flow.input(name, schema), before flow.run()",
}
FOREIGN_FUNCTION = pyspark_names.FUNCTION_NAMES
FOREIGN_GROUPED: dict[str, str] = {**FOREIGN, "head": "top(n, order_by=...)", **pyspark_names.GROUPED}
FOREIGN_MODULE: dict[str, str] = {
    "WindowSpec": pyspark_names.WINDOW,
    "SparkSession": "ebb.spark() gives a session that works; flow.run(spark) and flow.stream(spark) take your own",
    "DataFrame": "Collection is what programs are built of, Table what results are",
    "Row": "rows are plain tuples",
    "keep": "flow.stream(spark, ...) keeps outputs fresh; a DataFrame is read by ebb.append(df) or ebb.changes(df)",
    "sql": "flow.sql(...) belongs to a Dataflow",
    "run": "flow.run() runs a program: flow = ebb.Dataflow()",
    "input": "flow.input(name, schema), with flow = ebb.Dataflow()",
}
FOREIGN_COLUMN: dict[str, str] = {
    **pyspark_names.COLUMN,
    "fillna": "fill_null(value)",
    "isna": "is_null()",
    "notna": "is_not_null()",
    "isnull": "is_null()",
    "notnull": "is_not_null()",
    "map": "write the expression, or map_rows(fn, schema) on the collection for your own function",
    "apply": "write the expression, or map_rows(fn, schema) on the collection for your own function",
    "sum": 'ebb.sum("x") in group_by(...).agg(...)',
    "mean": 'ebb.avg("x") in group_by(...).agg(...)',
    "avg": 'ebb.avg("x") in group_by(...).agg(...)',
    "min": 'ebb.min("x") in group_by(...).agg(...)',
    "max": 'ebb.max("x") in group_by(...).agg(...)',
    "count": 'ebb.count("x") in group_by(...).agg(...)',
    "lower": "str.lower()",
    "upper": "str.upper()",
    "strip": "str.trim()",
    "year": "dt.year()",
    "month": "dt.month()",
    "day": "dt.day()",
    "clip": "ebb.greatest(low, ebb.least(high, column))",
}


def ours(words: str) -> str:
    """What to write here, as a hint."""
    return f"{words}." if words[0].isupper() else f"Here: {words}."


def unknown_method(name: str, owner: str, foreign: dict[str, str], known: Iterable[str]) -> AttributeError:
    """Plain for Python's own probing (__array__, _repr_png_), else a sentence with our word or near ones."""
    if name.startswith("_"):
        return AttributeError(name)
    if name in foreign:
        return UnknownMethod(f'{owner} has no "{name}".', hint=ours(foreign[name]))
    return UnknownMethod(
        f'{owner} has no "{name}".', hint=did_you_mean(name, known) or f"There are: {', '.join(known)}."
    )


def unknown_name(module: str, name: str, known: Iterable[str], foreign: dict[str, str] | None = None) -> AttributeError:
    """For a module: plain for Python's own probing, else a sentence with our word or near ones."""
    if name.startswith("_"):
        return AttributeError(name)
    hint = ours(foreign[name]) if foreign and name in foreign else did_you_mean(name, known)
    return UnknownMethod(f'{module} has no "{name}".', hint=hint or f"dir({module}) lists what there is.")


def public_names(kind: type) -> list[str]:
    """The names that people may use of a class."""
    return [name for name in dir(kind) if not name.startswith("_")]
