"""Claims about change formats: each brings its rows to the one shape, and says what is wrong with those it cannot."""

import datetime
import decimal
import json

import pytest

import ebbflow as ebb
from ebbflow.dataflow import nodes as n
from ebbflow.errors import NoKey, TypeMismatch, UnknownColumn, WrongTime
from ebbflow.pipeline import formats


def node(schema, key=None):
    flow = ebb.Dataflow()
    flow.input("given", schema, key=key)
    (found,) = (one for one in flow.graph.nodes if isinstance(one, n.Input))
    return found


def shaped(source, schema, key=None, coordinates=("time",)):
    return source.shaped(node(schema, key), coordinates)


def rows(source, schema, key=None, *columns):
    """The good rows: times, diff, then the columns; and the reasons of the others."""
    found = shaped(source, schema, key)
    good, bad = [], []
    for row in found.frame.collect():
        if row["_reason"] is None:
            good.append((row["_time0"], row["_diff"], *(row[name] for name in columns or found.schema.names)))
        else:
            bad.append(row["_reason"])
    return sorted(good, key=repr), sorted(bad)


# ---- rows as they are ----------------------------------------------------------------------------


def test_changes_have_their_times_and_diffs(spark):
    frame = spark.createDataFrame([(1, 2, 7, 1), (1, 2, 9, -1)], "src long, dst long, ts long, d int")
    assert rows(formats.changes(frame, time="ts", diff="d"), "src long, dst long") == (
        [(7, 1, 1, 2), (9, -1, 1, 2)],
        [],
    )


def test_rows_without_a_diff_are_insertions(spark):
    frame = spark.createDataFrame([(1, 5)], "x long, ts long")
    assert rows(formats.changes(frame, time="ts"), "x long") == ([(5, 1, 1)], [])


def test_a_diff_of_zero_is_no_change(spark):
    frame = spark.createDataFrame([(1, 5, 0), (2, 5, 1)], "x long, ts long, d long")
    assert rows(formats.changes(frame, time="ts", diff="d"), "x long") == ([(5, 1, 2)], [])


def test_appended_rows_have_no_time_of_their_own(spark):
    frame = spark.createDataFrame([(1, "a")], "x long, s string")
    assert rows(formats.append(frame), "x long, s string") == ([(None, 1, 1, "a")], [])


def test_columns_are_taken_by_name_and_others_left(spark):
    frame = spark.createDataFrame([(9, "a", 1)], "more int, s string, x int")
    assert rows(formats.append(frame), "x long, s string") == ([(None, 1, 1, "a")], [])


def test_timestamps_and_dates_are_counted(spark):
    moment, day = datetime.datetime(1970, 1, 1, 0, 0, 1), datetime.date(1970, 1, 3)
    frame = spark.createDataFrame([(1, moment, day)], "x long, at timestamp, day date")
    assert rows(formats.changes(frame, time="at"), "x long") == ([(1_000_000, 1, 1)], [])
    assert rows(formats.changes(frame, time="day"), "x long") == ([(2, 1, 1)], [])


def test_two_coordinates_take_two_columns(spark):
    frame = spark.createDataFrame([(1, 5, 6)], "x long, v long, s long")
    found = shaped(formats.changes(frame, time=("v", "s")), "x long", coordinates=("valid", "system"))
    assert [(row["_time0"], row["_time1"], row["x"]) for row in found.frame.collect()] == [(5, 6, 1)]


# ---- what is wrong with a row --------------------------------------------------------------------


def test_a_null_where_the_schema_says_not_null_is_told(spark):
    frame = spark.createDataFrame(
        [(1, "a", 5, 1), (2, None, 5, 1), (3, None, 5, -1), (4, None, 5, 0)], "x long, s string, ts long, d long"
    )
    good, bad = rows(formats.changes(frame, time="ts", diff="d"), "x long not null, s string not null")
    assert good == [(5, 1, 1, "a")]
    assert bad == ['"s" is null, and the schema of the input says not null'] * 2


def test_a_deletion_by_key_need_not_say_what_the_row_was(spark):
    frame = spark.createDataFrame(
        [(1, "a", 5, False), (1, None, 6, True), (2, None, 6, False)], "x long, s string, ts long, gone boolean"
    )
    found = formats.upsert(frame, key="x", time="ts", deleted="gone")
    good, bad = rows(found, "x long not null, s string not null", "x")
    assert len(good) == 2
    assert bad == ['"s" is null, and the schema of the input says not null']


def test_values_that_do_not_fit_are_told_with_the_row_as_given(spark):
    frame = spark.createDataFrame([("1", "5"), ("one", "5"), ("2", None), ("3", "soon")], "x string, ts string")
    good, bad = rows(formats.changes(frame, time="ts"), "x long")
    assert good == [(5, 1, 1)]
    assert bad == ['"x" holds what is not a long'] + ['the time "ts" is missing or not a whole number'] * 2
    given = [r["_given"] for r in shaped(formats.changes(frame, time="ts"), "x long").frame.collect() if r["_reason"]]
    assert '{"x":"one","ts":"5"}' in given


@pytest.mark.parametrize(
    ("found", "wanted", "kept", "lost"),
    [
        ("string", "decimal(9,2)", ["1.00", " 7 ", "1e2", "-0.10", "1.500"], ["1.005", "1e-3", "12345678.90", "NaN"]),
        ("string", "decimal(20,2)", ["0.1", "9999999999999999.99"], ["0.001"]),
        ("decimal(12,4)", "decimal(9,2)", ["1.0000", "2.5000"], ["1.0050", "0.0001"]),
        ("decimal(12,4)", "decimal(18,6)", ["1.0050", "-99999999.9999"], []),
        ("string", "date", ["2024-02-29", "2024-2-3", "2024-02-03 00:00:00", "2024-02-03T00:00:00.000Z", "0001-01-01"],
         ["2024-02-30", "2024-02-03 10:00:00", "2024-02-03 soon", "10:00"]),
        ("string", "timestamp", ["2024-02-29 10:00:00", "2024-02-29", "2024-02-29T10:00:00Z"], ["10:00", "T10:00"]),
        ("bigint", "double", ["0", "-9007199254740992", "4611686018427387904"], ["9007199254740993", str(2**63 - 1)]),
        ("int", "double", ["2147483647"], []),
    ],
)  # fmt: skip
def test_what_would_be_rounded_or_cut_off_is_told(spark, found, wanted, kept, lost):
    frame = spark.createDataFrame([(given,) for given in kept + lost], "given string")
    frame = frame.selectExpr("given", f"cast(given as {found}) as x")
    shape = shaped(formats.append(frame), f"given string, x {wanted}").frame.collect()
    good = {row["given"]: row["x"] for row in shape if row["_reason"] is None}
    assert list(good) == kept
    assert None not in good.values()
    if wanted.startswith("decimal"):
        assert all(decimal.Decimal(given) == value for given, value in good.items())
    assert len({row["_reason"] for row in shape if row["_reason"]}) == bool(lost)


def test_a_number_too_large_for_its_column_is_told(spark):
    frame = spark.createDataFrame([(1,), (2**40,)], "x long")
    assert rows(formats.append(frame), "x int") == ([(None, 1, 1)], ['"x" holds what is not a int'])


def test_the_word_kept_for_null_is_told(spark):
    frame = spark.createDataFrame([(-(2**63),)], "x long")
    assert rows(formats.append(frame), "x long") == ([], [f'"x" holds {-(2**63)}, which is kept for null'])


NO_YEAR, NO_PART = "is outside the years 1 to 9999", f"or {-(2**63)}, which is kept for null"


@pytest.mark.parametrize(
    ("kind", "kept", "lost", "why"),
    [
        ("date", "date'9999-12-31'", "date'+10000-01-01'", NO_YEAR),
        ("timestamp", "timestamp'0001-01-01 12:00:00Z'", "timestamp'+10000-01-02 00:00:00Z'", NO_YEAR),
        ("timestamp_ntz", "timestamp_ntz'9999-12-31 23:59:59'", "timestamp_ntz'+10000-01-01 00:00:00'", NO_YEAR),
        ("array<long>", "array(1L, null)", f"array(1L, {-(2**63)})", NO_PART),
        ("array<date>", "array(date'2024-01-01')", "array(null, date'+10000-01-01')", NO_PART),
        ("map<string,long>", "map('a', 1L)", f"map('a', null, 'b', {-(2**63)})", NO_PART),
        ("map<long,string>", "map(1L, 'a')", f"map({-(2**63)}, 'a')", NO_PART),
        ("struct<`a b`:long>", "named_struct('a b', 1L)", f"named_struct('a b', {-(2**63)})", NO_PART),
        ("array<struct<x:int,y:array<date>>>", "array(null, struct(1 as x, array(null) as y))",
         "array(struct(1 as x, array(date'+10000-01-01') as y))", NO_PART),
    ],
)  # fmt: skip
def test_what_no_program_has_is_told_in_parts_of_values_too(spark, kind, kept, lost, why):
    """A session would refuse such a row, and with it every batch that it comes in."""
    frame = spark.sql(
        f"select 1 as id, cast({kept} as {kind}) as x union all select 2, {lost} union all select 3, null"
    )
    found = shaped(formats.append(frame), f"id int, x {kind}").frame.select("id", "_reason").collect()
    one, two, three = (row["_reason"] for row in sorted(found))
    assert (one, three) == (None, None)
    assert two.startswith('"x" ') and two.endswith(why)


def test_nested_columns_are_taken_as_they_are(spark):
    kind = "struct<`a b`:int,`x.y`:array<map<string,decimal(30,2)>>," + ",".join(f"f{i}:int" for i in range(30)) + ">"
    frame = spark.sql(f"select cast(null as {kind}) as x, array(1, null) as l, map('a', 1) as m")
    schema = f"x {kind}, l array<int>, m map<string,int>"
    assert rows(formats.append(frame), schema) == ([(None, 1, None, [1, None], {"a": 1})], [])


@pytest.mark.parametrize("wanted", ["array<long>", "array<string>", "map<int,int>", "struct<x:int>", "string", "int"])
def test_nested_columns_of_another_type_are_refused(spark, wanted):
    frame = spark.sql("select array(1) as x")
    with pytest.raises(TypeMismatch, match=r'append finds "x" as array<int> in its frame'):
        shaped(formats.append(frame), f"x {wanted}")


def test_nulls_are_values(spark):
    frame = spark.createDataFrame([(None,)], "x string")
    assert rows(formats.append(frame), "x long") == ([(None, 1, None)], [])


def test_what_the_reader_could_not_read_is_told(spark, tmp_path):
    (tmp_path / "rows.json").write_text('{"x": 1}\nnot json\n')
    frame = spark.read.schema("x long, _corrupt_record string").json(str(tmp_path))
    assert rows(formats.append(frame), "x long") == ([(None, 1, 1)], ["the reader could not read the row"])


def test_a_null_key_is_told(spark):
    frame = spark.createDataFrame([(None, 1), (2, 3)], "id long, x long")
    good, bad = rows(formats.upsert(frame, sequence="x"), "id long, x long", "id")
    assert (good, bad) == ([(None, 1, 2, 3, 3, None, False)], ['the key "id" is null'])


# ---- refused before anything runs ----------------------------------------------------------------


def test_a_missing_column_is_refused_with_the_near_name(spark):
    frame = spark.createDataFrame([(1, 2)], "scr long, dst long")
    with pytest.raises(UnknownColumn, match='looks for its column "src"') as refused:
        shaped(formats.append(frame), "src long, dst long")
    assert "scr" in refused.value.hint


@pytest.mark.parametrize(
    ("found", "wanted"), [("x double", "x long"), ("x long", "x string"), ("x array<int>", "x long")]
)
def test_a_type_that_loses_something_is_refused(spark, found, wanted):
    with pytest.raises(TypeMismatch, match="finds"):
        shaped(formats.append(spark.createDataFrame([], found)), wanted)


def test_upserts_need_a_key(spark):
    frame = spark.createDataFrame([], "id long, x long")
    with pytest.raises(NoKey, match="has none"):
        shaped(formats.upsert(frame), "id long, x long")
    with pytest.raises(NoKey, match="was declared with the key id"):
        shaped(formats.upsert(frame, key="x"), "id long, x long", "id")
    with pytest.raises(UnknownColumn, match="key of upsert"):
        shaped(formats.upsert(frame, key="y"), "id long, x long")


def test_the_number_of_time_columns_is_that_of_the_flow(spark):
    with pytest.raises(WrongTime, match="2 time columns"):
        shaped(formats.changes(spark.createDataFrame([], "x long"), time=("x", "x")), "x long")


@pytest.mark.parametrize("make", [lambda: formats.append([1]), lambda: formats.append(None)])
def test_only_dataframes_are_read(make):
    with pytest.raises(TypeMismatch, match="takes a Spark DataFrame"):
        make()


@pytest.mark.parametrize("lateness", [-1, True, 1.5])
def test_lateness_is_a_whole_number(spark, lateness):
    with pytest.raises(WrongTime, match="lateness"):
        formats.append(spark.range(1), lateness=lateness)


# ---- rows replaced by key ------------------------------------------------------------------------


def test_edits_carry_what_orders_them(spark):
    frame = spark.createDataFrame([(1, 5, 9, False), (1, 6, 8, True)], "id long, x long, seq int, gone boolean")
    found = shaped(formats.upsert(frame, key="id", sequence="seq", deleted="gone"), "id long, x long")
    assert (found.key, found.order, found.arrival) == (("id",), ("_sequence0", "_sequence1"), "_sequence1")
    assert str(found.schema) == "id long, x long, _sequence0 long, _sequence1 long, _deleted boolean"
    assert sorted((r["id"], r["x"], r["_sequence0"], r["_deleted"]) for r in found.frame.collect()) == [
        (1, 5, 9, False),
        (1, 6, 8, True),
    ]


def test_times_order_edits_before_sequences(spark):
    frame = spark.createDataFrame([(1, 5, 9)], "id long, ts long, seq int")
    found = shaped(formats.upsert(frame, key="id", time="ts", sequence="seq"), "id long")
    assert [(r["_time0"], r["_sequence0"], r["_sequence1"]) for r in found.frame.collect()] == [(5, 5, 9)]


@pytest.mark.parametrize("kind", ["string", "long", "int", "timestamp", "date"])
def test_edits_are_in_the_order_of_their_times_however_they_are_written(spark, kind):
    numbers = [9, 10, 8, 100]
    written = {
        "timestamp": [datetime.datetime(1970, 1, 1, microsecond=number) for number in numbers],
        "date": [datetime.date(1970, 1, 1) + datetime.timedelta(days=number) for number in numbers],
        "string": [str(number) for number in numbers],
    }.get(kind, numbers)
    frame = spark.createDataFrame([(1, stamp) for stamp in written], f"id long, ts {kind}")
    found = shaped(formats.upsert(frame, key="id", time="ts"), "id long")
    assert [(row["_time0"], row["_sequence0"]) for row in found.frame.collect()] == [(n, n) for n in numbers]


def test_edits_without_an_order_are_numbered_as_they_come(spark):
    found = shaped(formats.upsert(spark.createDataFrame([(1,)], "id long"), key="id"), "id long")
    assert (found.order, found.arrival) == (("_sequence0",), "_sequence0")


# ---- change feeds --------------------------------------------------------------------------------

FEED = "id long, x long, _change_type string, _commit_version long"
FED = [
    (1, 5, "insert", 1), (1, 5, "update_preimage", 2), (1, 6, "update_postimage", 2), (1, 6, "delete", 3),
    (2, 0, "renamed", 4),
]  # fmt: skip


def test_a_change_feed_adds_and_removes_at_its_versions(spark):
    good, bad = rows(formats.change_feed(spark.createDataFrame(FED, FEED)), "id long, x long")
    assert good == [(1, 1, 1, 5), (2, -1, 1, 5), (2, 1, 1, 6), (3, -1, 1, 6)]
    assert bad == ["an unknown _change_type: renamed"]


def test_a_change_feed_by_key_leaves_out_what_was_before(spark):
    frame = spark.createDataFrame(FED[:4], FEED)
    good, _ = rows(formats.change_feed(frame), "id long, x long", "id", "x", "_sequence0", "_deleted")
    assert good == [(1, 1, 5, 1, False), (2, 1, 6, 2, False), (3, 1, 6, 3, True)]


# ---- Debezium ------------------------------------------------------------------------------------


def message(op, before=None, after=None, lsn=None, wrapped=False, **more):
    envelope = {"op": op, "before": before, "after": after, "source": {"lsn": lsn}, "ts_ms": 1, **more}
    return json.dumps({"schema": {"type": "struct"}, "payload": envelope} if wrapped else envelope)


def kafka(spark, *messages):
    return spark.createDataFrame(
        [(m if m is None else m.encode(), i) for i, m in enumerate(messages)], "value binary, offset long"
    )


@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "beside its schema"])
def test_envelopes_without_a_key_subtract_and_add(spark, wrapped):
    one, two = {"id": 1, "x": 5}, {"id": 1, "x": 6}
    frame = kafka(
        spark,
        message("r", after=one, wrapped=wrapped),
        message("u", one, two, wrapped=wrapped),
        message("d", two, wrapped=wrapped),
        None,
    )
    good, bad = rows(formats.debezium(frame), "id long, x long")
    assert good == [(None, -1, 1, 5), (None, -1, 1, 6), (None, 1, 1, 5), (None, 1, 1, 6)]
    assert bad == []


def test_envelopes_by_key_carry_their_place_in_the_log(spark):
    frame = kafka(
        spark,
        message("c", after={"id": 1, "x": 5}, lsn=10),
        message("u", None, {"id": 1, "x": 6}, lsn=12, wrapped=True),
        message("d", {"id": 1}, lsn=14),
        None,
    )
    good, bad = rows(
        formats.debezium(frame), "id long, x long", "id", "id", "x", "_sequence0", "_sequence5", "_deleted"
    )
    assert good == [(None, 1, 1, 5, 10, 0, False), (None, 1, 1, 6, 12, 1, False), (None, 1, 1, None, 14, 2, True)]
    assert bad == []


def test_what_is_no_envelope_is_told(spark):
    frame = kafka(
        spark,
        "{not json",
        message("t"),
        message("u", None, {"id": 1, "x": 6}),
        message("c", after={"id": "one", "x": 6}),
        message("d"),
        message("m"),
    )
    good, bad = rows(formats.debezium(frame), "id long, x long")
    assert good == []
    no_before = 'the envelope has no "before": have the database log whole rows, or declare the input with a key'
    assert bad == sorted(
        ["the message is not a JSON envelope", "an unknown operation: t", '"id" holds what is not a long']
        + [no_before] * 2
    )


def test_an_update_goes_on_whole_or_not_at_all(spark):
    frame = kafka(spark, message("u", {"id": 1, "x": 5}, {"id": 1, "x": "six"}))
    assert rows(formats.debezium(frame), "id long, x long") == ([], ['"x" holds what is not a long'])


def test_envelopes_that_were_parsed_already(spark):
    schema = (
        "op string, before struct<id: int, x: int>, after struct<id: int, x: int>, source struct<lsn: long>, ts_ms long"
    )
    frame = spark.createDataFrame([("u", (1, 5), (1, 6), (7,), 3), ("d", (1, 6), None, (8,), 4)], schema)
    good, _ = rows(formats.debezium(frame), "id long, x long")
    assert good == [(None, -1, 1, 5), (None, -1, 1, 6), (None, 1, 1, 6)]
    good, _ = rows(
        formats.debezium(frame, time="ts_ms"), "id long, x long", "id", "x", "_sequence0", "_sequence1", "_deleted"
    )
    assert good == [(3, 1, 6, 3, 7, False), (4, 1, 6, 4, 8, True)]


def test_dates_timestamps_and_bytes_are_read_as_debezium_writes_them(spark):
    after = {"day": 2, "at": 1_000_000, "raw": "aGk=", "price": "12.50", "on": True}
    frame = kafka(spark, message("c", after=after), message("c", after={**after, "day": "soon"}))
    good, bad = rows(formats.debezium(frame), "day date, at timestamp, raw binary, price decimal(10,2), on boolean")
    assert bad == ['"day" holds what is not a date']
    ((_, _, day, at, raw, price, on),) = good
    assert (str(day), str(at), bytes(raw), str(price), on) == (
        "1970-01-03", "1970-01-01 00:00:01", b"hi", "12.50", True,
    )  # fmt: skip
    good, _ = rows(formats.debezium(kafka(spark, message("c", after=after)), timestamps="millis"), "at timestamp")
    assert str(good[0][2]) == "1970-01-01 00:16:40"


def test_a_frame_without_envelopes_is_refused(spark):
    with pytest.raises(UnknownColumn, match="debezium looks for"):
        shaped(formats.debezium(spark.range(1)), "id long")


# ---- streams -------------------------------------------------------------------------------------


def test_a_stream_keeps_its_shape(spark, tmp_path):
    (tmp_path / "one.json").write_text('{"x": 1, "ts": 4}\n{"x": "?", "ts": 5}\n')
    frame = spark.readStream.schema("x string, ts long").json(str(tmp_path))
    found = shaped(formats.changes(frame, time="ts"), "x long")
    assert found.frame.isStreaming
    query = found.frame.writeStream.format("memory").queryName("shape").trigger(availableNow=True).start()
    query.awaitTermination()
    kept = {(row["x"], row["_time0"], row["_reason"]) for row in spark.table("shape").collect()}
    assert kept == {(1, 4, None), (None, 5, '"x" holds what is not a long')}
