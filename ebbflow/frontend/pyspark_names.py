"""PySpark's names that ebbflow does not have, each with what to write instead or why it is not there.

A name that PySpark has must never be answered with a guess: `lag` is not a misspelt `log`.  So every public name of
`pyspark.sql.functions`, and of PySpark's DataFrame, Column, GroupedData and Window, is either ours or stands here.

Rule: the names of PySpark 4.2 are ours or are in these tables, never both; a test goes through its whole lists.
"""

from __future__ import annotations

_OWN_CODE = (
    "map_rows(fn, schema) on a collection runs your own function for each row, map_batches(fn, schema) on arrays"
)
_RANDOM = "expressions give the same for the same row; bring random numbers in as a column"
_NOW = "a result that depends on when it is computed would not stay right; bring the time in as a column"
_WHERE_RUN = "a result that depends on where it is computed would not stay right; bring the value in as a column"
_GROUPS = "group_by(...).reduce(fn, schema) computes your own aggregate of a group's rows"
_SKETCH = (
    "there are no sketches; count_distinct and other aggregates are exact and kept up to date, and "
    "group_by(...).reduce(fn, schema) computes your own"
)
_FORMATS = f"there are no CSV, XML or variant columns; JSON is read by from_json and get_json_object; {_OWN_CODE}"

# Names as one text a sentence, so that a family is read, and added to, in one place.
_FUNCTIONS: tuple[tuple[str, str], ...] = (
    ("group_by with the window's start, an expression, as a key", "session_window window window_time time_bucket"),
    (
        f"there are no functions of functions of elements; explode and group_by, or {_OWN_CODE}",
        """aggregate exists filter forall map_filter map_zip_with reduce transform transform_keys transform_values
        zip_with""",
    ),
    (_RANDOM, "shuffle"),
    (f"there is no such function of text; {_OWN_CODE}", "sentences"),
    ('explode(array_of_structs) gives a row for each, and its fields are columns: col("s.a")', "inline inline_outer"),
    ("one select for each row, put together by union", "stack"),
    (
        _FORMATS,
        """from_csv from_xml is_valid_variant is_variant_null json_tuple parse_json schema_of_csv schema_of_json
        schema_of_variant schema_of_variant_agg schema_of_xml to_csv to_variant_object to_xml try_parse_json
        try_variant_get variant_get xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long
        xpath_number xpath_short xpath_string""",
    ),
    (
        f"there is no such function of text; {_OWN_CODE}",
        """mask parse_url quote to_char to_number to_varchar try_parse_url
        try_to_number is_valid_utf8 make_valid_utf8 validate_utf8 try_validate_utf8 to_binary try_to_binary""",
    ),
    ("text is compared byte by byte; there are no collations", "collate collation"),
    (
        f"there is no hash or cipher of values; {_OWN_CODE}",
        "aes_decrypt aes_encrypt try_aes_decrypt",
    ),
    (
        f"there is no such function of dates and times; year, month, day, hour, minute, second, dayofweek, date_add, "
        f"date_sub and datediff are there; {_OWN_CODE}",
        """convert_timezone make_timestamp_ltz make_timestamp_ntz time_diff
        time_from_micros time_from_millis time_from_seconds time_to_micros time_to_millis time_to_seconds
        time_trunc to_timestamp_ltz to_timestamp_ntz try_make_timestamp
        try_make_timestamp_ltz try_make_timestamp_ntz""",
    ),
    (
        "there are no intervals and no times of day; date_add(day, n) adds days, and timestamps as longs subtract",
        "make_dt_interval make_interval make_time make_ym_interval to_time try_make_interval try_to_time",
    ),
    (_NOW, "curdate current_time localtimestamp now"),
    (
        _WHERE_RUN,
        """current_catalog current_database current_path current_schema current_timezone current_user
        input_file_block_length input_file_block_start input_file_name session_user spark_partition_id user
        version""",
    ),
    (
        f"an id that depends on the order of rows would not stay the same; {_RANDOM}",
        "monotonically_increasing_id uuid",
    ),
    (_RANDOM, "rand randn random randstr uniform"),
    ("avg(x) gives null where there is nothing to average", "try_avg"),
    ("sum(x) refuses the step when it overflows", "try_sum"),
    (
        "expressions do not raise: filter keeps the rows that hold, and the others can be an output",
        "assert_true raise_error",
    ),
    (
        f"there is no such aggregate; {_GROUPS}",
        """histogram_numeric""",
    ),
    (
        'select the columns, then distinct(): c.select("k", "x").distinct().group_by("k").agg(total=ebb.sum("x"))',
        "sumDistinct sum_distinct",
    ),
    ("one group_by for each set of keys, put together by union", "grouping grouping_id"),
    (
        _SKETCH,
        """bitmap_and_agg bitmap_bit_position bitmap_bucket_number bitmap_construct_agg bitmap_count
        bitmap_or_agg count_min_sketch hll_sketch_agg hll_sketch_estimate hll_union hll_union_agg
        kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint
        kll_sketch_agg_double kll_sketch_agg_float kll_sketch_get_n_bigint kll_sketch_get_n_double
        kll_sketch_get_n_float kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double
        kll_sketch_get_quantile_float kll_sketch_get_rank_bigint kll_sketch_get_rank_double
        kll_sketch_get_rank_float kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float
        kll_sketch_to_string_bigint kll_sketch_to_string_double kll_sketch_to_string_float theta_difference
        theta_intersection theta_intersection_agg theta_sketch_agg theta_sketch_estimate theta_union
        theta_union_agg tuple_difference_double tuple_difference_integer tuple_difference_theta_double
        tuple_difference_theta_integer tuple_intersection_agg_double tuple_intersection_agg_integer
        tuple_intersection_double tuple_intersection_integer tuple_intersection_theta_double
        tuple_intersection_theta_integer tuple_sketch_agg_double tuple_sketch_agg_integer
        tuple_sketch_estimate_double tuple_sketch_estimate_integer tuple_sketch_summary_double
        tuple_sketch_summary_integer tuple_sketch_theta_double tuple_sketch_theta_integer
        tuple_union_agg_double tuple_union_agg_integer tuple_union_double tuple_union_integer
        tuple_union_theta_double tuple_union_theta_integer""",
    ),
    (
        _OWN_CODE,
        """AnalyzeArgument AnalyzeResult ArrowUDFType OrderingColumn PandasUDFType PartitioningColumn
        SelectedColumn SkipRestOfInputTableException UserDefinedFunction UserDefinedTableFunction arrow_udf
        arrow_udtf call_function call_udf java_method pandas_udf reflect try_reflect udf udtf unwrap_udt""",
    ),
    ("rows are placed by the planner", "broadcast"),
    ("tables that a sink writes are partitioned by columns of the collection", "bucket days hours months years"),
    ("the type of a column is known: collection.schema", "typeof"),
    ("there are no geometries; " + _OWN_CODE, "st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid"),
)

_ROWS = "rows are known when the program runs: flow.compute(...) once, or live.snapshot(name) and live.changes(name)"
_VIEW = "flow.output(name, collection) names a result; ebb.view(name) is a sink of flow.stream"
_PLACED = "rows are placed by the planner; flow.run(workers=n) says how many share the work"
_SESSION = "a collection belongs to its Dataflow, not to a Spark session: flow.run(spark) runs it on one"
_STATISTICS = "group_by().agg(...) with count, sum, avg, min and max; group_by().reduce(fn, schema) for your own"

_COLLECTION: tuple[tuple[str, str], ...] = (
    (
        _VIEW,
        "createGlobalTempView createOrReplaceGlobalTempView createTempView registerTempTable asTable",
    ),
    (_PLACED, "hint repartitionById repartitionByRange sortWithinPartitions"),
    (_STATISTICS, "approxQuantile corr cov crosstab freqItems stat summary"),
    ("explain() prints the plan", "executionInfo sameSemantics semanticHash"),
    ("semijoin(other, on=...) keeps the rows that have a partner", "exists"),
    ('join(other, how="cross") with an aggregate of one row: group_by().agg(...)', "scalar"),
    ("live.subscribe(name, fn) calls fn with the changes of an output", "foreachPartition observe"),
    ("select(...) names columns; the names are text in collection.columns", "colRegex metadataColumn withMetadata"),
    (
        "flow.run(checkpoint=...) survives restarts; what is shared is indexed once",
        "localCheckpoint storageLevel",
    ),
    ("a.semijoin(b, on=list(a.columns)) keeps the rows of a that are in b", "intersectAll"),
    ("flat_map(fn, schema), or join with a condition in filter", "lateralJoin nearestByJoin"),
    ("order_by(...).limit(n) gives the first rows; there is no offset", "offset"),
    (_ROWS, "pandas_api plot toLocalIterator toJSON transpose"),
    ("filter with a condition on an id of yours, so that the same rows stay chosen", "randomSplit sampleBy"),
    ('with_columns(x=ebb.when(col("x") == old, new).otherwise(col("x")))', "replace"),
    ("flow.stream(spark, ...) writes results to sinks: ebb.table(...), ebb.change_log(...)", "mergeInto writeTo"),
    ("distinct(); one row per key is group_by(key).top(1, order_by=...)", "dropDuplicatesWithinWatermark"),
    ("flat_map(fn, schema) gives several rows for each", "unpivot"),
    (_SESSION, "sparkSession isLocal isStreaming inputFiles"),
    ('with_columns(x=col("x").cast("double")) casts, select(...) puts columns in order', "to"),
    ("a row has no number: a collection has no order; bring ids in as a column", "zipWithIndex"),
)

_COLUMN: tuple[tuple[str, str], ...] = (
    ('F.struct(col("s.a"), col("s.b")) puts the fields that stay together', "dropFields"),
    ("write the expression; call your function with the column: fn(column)", "transform"),
    ("name the collection: outer.x, in a join's condition", "outer"),
)

_GROUPED: tuple[tuple[str, str], ...] = (
    (
        "reduce(fn, schema) gets a group's rows, reduce_batches(fn, schema) all groups as arrays",
        "apply applyInArrow applyInPandas",
    ),
    (
        "state follows from the data: reduce(fn, schema) gets all of a group's rows whenever they change",
        "applyInPandasWithState transformWithState transformWithStateInPandas",
    ),
    ("join(other, on=...) or union(other), then group_by(...).reduce(fn, schema)", "cogroup"),
)


def _by_name(families: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return {name: sentence for sentence, names in families for name in names.split()}


FUNCTION_NAMES = _by_name(_FUNCTIONS)
COLLECTION = _by_name(_COLLECTION)
COLUMN = _by_name(_COLUMN)
GROUPED = _by_name(_GROUPED)
WINDOW = 'ebb.Window.partition_by("k").order_by("t") is a window, for .over(...)'
