"""Claims about DataFrames that are kept: streams, tables with a change feed, tables that stand still, joins of them."""

import datetime
import shutil

import pytest

import ebbflow as ebb
from ebbflow.errors import DataFrameError, TypeMismatch, UnknownInput, UnknownOption
from tests import parts
from tests.pipeline.given import Files, Kept, rows_of

NOW = {"availableNow": True}


def rows(fresh):
    return sorted(fresh.snapshot().rows())


def to_its_end(df, place, to=None, **more):
    fresh = ebb.keep(df, to=to, checkpoint=str(place / "kept"), trigger=NOW, **more)
    fresh.awaitTermination()
    return fresh


@pytest.fixture()
def customers(spark):
    spark.createDataFrame([(1, "ann"), (2, "bob")], "id long, name string").createOrReplaceTempView("customers")
    return spark.table("customers")


def test_a_stream_joined_with_a_table_that_stands_still_goes_on_after_a_restart(spark, tmp_path, customers):
    orders, kept = Files(tmp_path / "orders", "customer long, price double", spark), Kept()
    for more in ([(1, 2.5), (2, 1.0)], [(1, 4.0), (3, 9.0)]):
        orders.put(*more)
        joined = orders.frame().withColumnRenamed("customer", "id").join(customers, "id")
        fresh = to_its_end(joined.groupBy("name").sum("price"), tmp_path, ebb.each(kept))
        customers.createOrReplaceTempView("customers")
    assert kept.changes == [("ann", 2.5, 0, 1), ("bob", 1.0, 0, 1), ("ann", 2.5, 1, -1), ("ann", 6.5, 1, 1)]
    assert rows(fresh) == [("ann", 6.5, 1), ("bob", 1.0, 1)]
    said = fresh.explain()
    assert "orders (customer, price): a stream, whose rows are added" in said
    assert "a changed row costs the rows that it joins" in said
    assert "customers (id, name): taken in once; it stands still" in said


def test_a_batch_that_comes_again_counts_once(spark, tmp_path, customers):
    orders, kept = Files(tmp_path / "orders", "customer long, price double", spark), Kept()
    orders.put((1, 2.5), (1, 1.0))
    totals = orders.frame().groupBy("customer").sum("price")
    to_its_end(totals, tmp_path, ebb.each(kept))
    for file in ("0", ".0.crc"):  # as if the process had been killed before Spark noted that the batch was done
        (tmp_path / "kept" / "query" / "commits" / file).unlink()
    fresh = to_its_end(orders.frame().groupBy("customer").sum("price"), tmp_path, ebb.each(kept))
    assert rows(fresh) == [(1, 3.5, 1)] and kept.changes == [(1, 3.5, 0, 1)]


def test_what_structured_streaming_refuses_is_kept(spark, tmp_path):
    """An aggregate of an aggregate, a join of a stream with itself, and a limit."""
    sales = Files(tmp_path / "sales", "k long, v long", spark)
    sales.put(*((i % 5, i) for i in range(20)))
    sales.put(*((i % 7, i) for i in range(20, 40)))
    sales.frame(1).createOrReplaceTempView("sales")
    query = """
        select k, count(*) as n, max(t) as t
        from sales join (select k as k2, sum(v) as t from sales group by k) on k = k2
        where v * 20 > t group by k order by t desc, k limit 3"""
    fresh = to_its_end(spark.sql(query), tmp_path)
    spark.read.schema("k long, v long").json(str(tmp_path / "sales")).createOrReplaceTempView("sales")
    assert [tuple(row)[:-1] for row in rows(fresh)] == rows_of(spark.sql(query))


@pytest.mark.slow
def test_a_delta_table_brings_its_changes_itself(spark, tmp_path):
    parts.need_connector(spark, "delta")
    place = str(tmp_path / "orders")
    spark.sql(f"create table delta.`{place}` (id long, customer string, price decimal(10,2)) using delta "
              "tblproperties (delta.enableChangeDataFeed = true)")  # fmt: skip
    spark.sql(f"insert into delta.`{place}` values (1, 'ann', 5.00), (2, 'bob', 3.00), (3, 'ann', 2.00)")
    seen = []
    changes = (
        f"update delta.`{place}` set price = 10.00 where id = 1",
        f"delete from delta.`{place}` where id = 2",
    )
    for some in ((), changes):
        for change in some:
            spark.sql(change)
        totals = spark.read.format("delta").load(place).groupBy("customer").sum("price")
        fresh = to_its_end(totals, tmp_path, ebb.table(str(tmp_path / "totals")))
        seen.append(rows_of(spark.read.parquet(str(tmp_path / "totals"))) == rows_of(totals))
    assert seen == [True, True]
    assert "orders (customer, price): a Delta table, by its change feed" in fresh.explain()


@pytest.mark.slow
def test_a_delta_table_without_a_change_feed_is_said_to_stand_still(spark, tmp_path):
    parts.need_connector(spark, "delta")
    place = str(tmp_path / "orders")
    spark.range(3).write.format("delta").save(place)
    fresh = to_its_end(spark.read.format("delta").load(place).groupBy().sum("id"), tmp_path)
    assert fresh.explain().splitlines()[1] == (
        "  orders (id): taken in once; it stands still (a Delta table whose property delta.enableChangeDataFeed is not "
        "true)"
    )
    assert rows(fresh) == [(3, 1)]


def test_a_table_changes_as_it_is_said(spark, tmp_path, customers):
    feed = Files(tmp_path / "feed", "id long, name string, d long", spark)
    feed.put((1, "ann", 1), (2, "bob", 1))
    feed.put((2, "bob", -1), (3, "bob", 1), (4, "bob", 1))
    df = customers.groupBy("name").count()
    fresh = to_its_end(df, tmp_path, changes={"customers": ebb.changes(feed.frame(1), diff="d")})
    assert rows(fresh) == [("ann", 1, 1), ("bob", 2, 1)]
    assert "by changes=, as changes" in fresh.explain()


def test_tables_that_all_stand_still_are_published_once(spark, tmp_path, customers):
    kept = Kept()
    for _ in range(2):
        fresh = to_its_end(
            spark.sql("select count(*) as n, max(name) as last from customers"), tmp_path, ebb.each(kept)
        )
    assert kept.changes == [(2, "bob", 0, 1)] and rows(fresh) == [(2, "bob", 1)]


def test_the_result_can_be_read_while_it_runs(spark, tmp_path):
    orders = Files(tmp_path / "orders", "customer long, price double", spark)
    orders.put((1, 2.5))
    fresh = ebb.keep(orders.frame().groupBy("customer").sum("price"), checkpoint=str(tmp_path / "kept"))
    try:
        fresh.processAllAvailable()
        assert rows(fresh) == [(1, 2.5, 1)] and fresh.isActive
        orders.put((1, 1.5))
        fresh.processAllAvailable()
        assert rows_of(fresh.snapshot(as_spark=True)) == [(1, 4.0, 1)]
    finally:
        fresh.stop()
    assert rows(fresh) == [(1, 4.0, 1)] and not fresh.isActive


def test_rows_that_cannot_be_taken_in_are_dead_letters(spark, tmp_path):
    feed = Files(tmp_path / "feed", "id long, d string", spark)
    feed.put((1, "1"), (2, "many"))
    spark.createDataFrame([(7,)], "id long").createOrReplaceTempView("things")
    fresh = to_its_end(
        spark.sql("select count(*) from things"), tmp_path, dead_letters=str(tmp_path / "letters"),
        changes={"things": ebb.changes(feed.frame(), diff="d")},
    )  # fmt: skip
    assert rows(fresh) == [(1, 1)]
    assert "not a whole number" in spark.read.json(str(tmp_path / "letters")).first()["reason"]


def test_nested_columns_come_from_a_stream_and_are_grouped_by(spark, tmp_path):
    feed = Files(tmp_path / "nested", "k long, m map<string,int>, s struct<`x y`:int,d:date>, l array<long>", spark)
    row = '{"k": %d, "m": {"a": 1}, "s": {"x y": 1, "d": "2024-01-01"}, "l": [1, null]}'
    feed.put(row % 1, '{"k": 2}')
    df = feed.frame().groupBy("m", "s", "l").sum("k")
    to_its_end(df, tmp_path)
    feed.put(row % 5, '{"k": 3, "m": {}, "s": {}, "l": []}')
    assert sorted(to_its_end(df, tmp_path).snapshot().rows(), key=repr) == [
        (None, None, None, 2, 1),
        ({"a": 1}, {"x y": 1, "d": datetime.date(2024, 1, 1)}, [1, None], 6, 1),
        ({}, {"x y": None, "d": None}, [], 3, 1),
    ]


def test_constant_rows_of_a_program_are_there_in_a_stream(spark, tmp_path):
    """A global aggregate has a row for no rows; it is a constant of the program, which no source feeds."""
    kept, numbers = Kept(), Files(tmp_path / "numbers", "x long", spark)
    for put in ([(1,), (2,)], [(3,)]):
        flow = ebb.Dataflow()
        flow.input("numbers", "x long")
        flow.output("big", flow.sql("select count(*) as n, sum(x) as total from numbers where x > 1"))
        numbers.put(*put)
        flow.stream(
            spark, checkpoint=str(tmp_path / "checkpoint"), trigger=NOW, outputs={"big": ebb.each(kept)},
            inputs={"numbers": ebb.append(numbers.frame())},
        ).awaitTermination()  # fmt: skip
    assert kept.changes == [(1, 2, 0, 1), (1, 2, 1, -1), (2, 5, 1, 1)]


def test_a_batch_that_was_refused_leaves_the_constants_in_place(spark, tmp_path):
    numbers = Files(tmp_path / "numbers", "x long", spark)
    numbers.put((2**62,), (2**62,))
    flow = ebb.Dataflow()
    flow.input("numbers", "x long")
    flow.output("sums", flow.sql("select count(*) as n, sum(x) as total from numbers"))
    live = flow.run(spark, checkpoint=str(tmp_path / "state"))
    frame = spark.createDataFrame([(2**62,), (2**62,)], "x long")
    with pytest.raises(ebb.errors.NumberOverflow):
        live.deliver({"numbers": frame}, query_id="q", batch_id=0)
    live.deliver({"numbers": spark.createDataFrame([(5,)], "x long")}, query_id="q", batch_id=0)
    assert live.snapshot("sums").rows() == [(1, 5, 1)]
    live.close()


def test_refusals_come_before_anything_runs(spark, tmp_path, customers):
    with pytest.raises(UnknownInput, match='changes= names the table "customer"'):
        ebb.keep(customers, changes={"customer": ebb.append(customers)})
    with pytest.raises(TypeMismatch, match="no sink"):
        ebb.keep(customers, to="somewhere")
    with pytest.raises(UnknownOption, match='keep has no option "chekpoint"'):
        ebb.keep(customers, chekpoint="dir")
    with pytest.raises(TypeMismatch, match="dataframe takes a DataFrame"):
        ebb.keep([1, 2])
    with pytest.raises(DataFrameError, match="a random sample is not supported"):
        ebb.keep(customers.sample(0.5), checkpoint=str(tmp_path / "kept"))
    assert not (tmp_path / "kept").exists()


def test_changes_that_do_not_fit_their_table_are_refused_before_anything_runs(spark, tmp_path, customers):
    place = str(tmp_path / "feed")
    (tmp_path / "feed").mkdir()
    stream = lambda schema: ebb.append(spark.readStream.schema(schema).json(place))
    df = customers.groupBy("name").count()
    for said, problem in (
        ("customers", 'changes= gives the table "customers" a str, which does not say how rows change.'),
        (customers, 'changes= gives the table "customers" a DataFrame, which does not say how rows change.'),
        (ebb.append(customers), 'the frame of the input "customers" is not a stream.'),
        (
            stream("id long, name int"),
            'the column "name" of "customers" is a string in the table and a int in its changes.',
        ),
    ):
        with pytest.raises(TypeMismatch) as found:
            ebb.keep(df, changes={"customers": said}, checkpoint=str(tmp_path / "kept"))
        assert found.value.what == problem and found.value.hint
    with pytest.raises(UnknownInput) as found:
        ebb.keep(df, changes={"customers": stream("id long, nme string")}, checkpoint=str(tmp_path / "kept"))
    assert found.value.what == ('the DataFrame reads the column "name" of "customers", and its changes have: id, nme.')
    assert "name" in found.value.hint or "nme" in found.value.hint
    assert not (tmp_path / "kept" / "state").exists()


def test_a_table_that_is_gone_when_it_is_read_is_named(spark, tmp_path):
    place = tmp_path / "orders"
    spark.range(3).write.parquet(str(place))
    df = spark.read.parquet(str(place)).groupBy().sum("id")
    place.rename(tmp_path / "moved")
    with pytest.raises(ebb.errors.ClusterFailed, match=r'the table "orders" cannot be read: \[FAILED_READ_FILE'):
        to_its_end(df, tmp_path)
    flow = ebb.Dataflow()
    flow.output("answer", flow.dataframe(df))
    with pytest.raises(ebb.errors.ClusterFailed, match='the table "orders" cannot be read: ') as found:
        flow.compute()
    assert "Put it back" in found.value.hint


NAMED = "`a b` long, `c.d` double, `e``f` string"


def test_names_that_need_quotes_come_from_a_stream_and_go_to_a_table(spark, tmp_path):
    place = str(tmp_path / "odd")
    spark.createDataFrame([(1, 2.5, "x")], NAMED).write.parquet(place)
    odd = spark.readStream.schema(NAMED).parquet(place)
    fresh = to_its_end(odd, tmp_path, ebb.table(str(tmp_path / "kept odd")))
    assert rows(fresh) == [(1, 2.5, "x", 1)]
    assert spark.read.parquet(str(tmp_path / "kept odd")).columns == ["a b", "c.d", "e`f"]


def put(spark, place, row, schema):
    writer = spark.createDataFrame([row], schema).write.format("delta").mode("overwrite")
    writer.option("overwriteSchema", "true").save(place)


@pytest.mark.slow
def test_a_delta_table_that_is_another_one_later_is_told_in_a_sentence(spark, tmp_path):
    parts.need_connector(spark, "delta")
    place = str(tmp_path / "orders")
    feed = "tblproperties (delta.enableChangeDataFeed = true)"
    spark.sql(f"create table delta.`{place}` (id long, city string, price double) using delta {feed}")
    df = lambda: spark.read.format("delta").load(place).groupBy("city").count()
    gone = df()
    to_its_end(df(), tmp_path)
    put(spark, place, (1, "Bern"), "id long, city string")  # a column that is not read is lost
    with pytest.raises(ebb.errors.ClusterFailed) as found:
        to_its_end(df(), tmp_path)
    assert found.value.what.startswith(
        "a Delta table has other columns or types than when it was first read: [DELTA_SCHEMA_CHANGED"
    )
    assert found.value.hint == (
        "Begin anew: another checkpoint, and replace=True for what it publishes to. Everything is then taken in again."
    )
    shutil.rmtree(place)
    with pytest.raises(ebb.errors.ClusterFailed) as found:
        to_its_end(gone, tmp_path)
    assert found.value.what.startswith('the table "orders" cannot be read: [DELTA')
    assert found.value.hint == "Put it back where it was, and start again."


def test_a_file_that_is_not_as_the_schema_says_is_told_in_a_sentence(spark, tmp_path):
    place = str(tmp_path / "orders")
    orders = lambda: spark.readStream.schema("n int, price double").parquet(place).groupBy("n").sum("price")
    spark.createDataFrame([(1, 2.5)], "n int, price double").write.parquet(place)
    to_its_end(orders(), tmp_path)
    spark.createDataFrame([("a", 2.5)], "n string, price double").write.mode("append").parquet(place)
    with pytest.raises(ebb.errors.ClusterFailed) as found:
        to_its_end(orders(), tmp_path)
    assert found.value.what.startswith("a file cannot be read as the schema says: [FAILED_READ_FILE")
    assert found.value.hint == "Take it away or write it anew, and start again."


def test_a_directory_of_a_stream_that_is_gone_is_told_in_a_sentence(spark, tmp_path):
    orders = Files(tmp_path / "orders", "customer long, price double", spark)
    orders.put((1, 2.5))
    totals = orders.frame().groupBy("customer").sum("price")
    to_its_end(totals, tmp_path)
    shutil.rmtree(tmp_path / "orders")
    with pytest.raises(ebb.errors.ClusterFailed, match="the directory of a stream is gone: ") as found:
        to_its_end(totals, tmp_path)
    assert found.value.hint == "Put it back, and start again."


def test_a_watermark_is_refused_as_it_was_written(spark, tmp_path):
    events = Files(tmp_path / "events", "at timestamp, v long", spark)
    late = events.frame().withWatermark("at", "1 hour").groupBy("v").count()
    with pytest.raises(DataFrameError) as found:
        ebb.keep(late, checkpoint=str(tmp_path / "kept"))
    assert found.value.what == (
        "a watermark (Spark drops the rows behind it) is not supported, in EventTimeWatermark at: timestamp, 1 hours."
    )
    assert found.value.hint == "Leave withWatermark out: every row counts here, however late it comes."


def test_a_table_that_has_other_types_later_is_told_from_the_one_that_was_kept(spark, tmp_path):
    place = str(tmp_path / "orders")
    spark.createDataFrame([(1, "a")], "n int, c string").write.parquet(place)
    to_its_end(spark.read.parquet(place).groupBy("c").agg({"n": "max"}), tmp_path)
    spark.createDataFrame([("x", "a")], "n string, c string").write.mode("overwrite").parquet(place)
    with pytest.raises(ebb.errors.CheckpointDiffers, match=r"orders \(n string, c string\)"):
        to_its_end(spark.read.parquet(place).groupBy("c").agg({"n": "max"}), tmp_path)
