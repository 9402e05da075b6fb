"""DataFrames in and out of a session, on Spark and beside it."""

import pytest

import ebbflow as ebb
from ebbflow.errors import LateTime, NumberOverflow, TypeMismatch, UnknownColumn, WrongTime


def program():
    flow = ebb.Dataflow()
    edges = flow.input("edges", "src long, dst long")
    flow.output("degrees", edges.group_by("src").count())
    names = flow.input("names", "id long, name string", key="id")
    flow.output("names", names)
    return flow


@pytest.fixture(scope="module")
def live(spark):
    with program().run(spark, shards=4) as session:
        yield session


def test_frames_go_in_like_rows_and_come_out_as_frames(spark, live):
    live.insert("edges", spark.createDataFrame([(1, 2), (1, 3), (2, 3)], "src int, dst long"), time=0)
    changes = spark.createDataFrame([(1, 9, 1, 1), (1, 2, 3, -1)], "src long, dst long, ts long, d int")
    live.apply("edges", changes, time="ts", diff="d")
    live.insert("names", spark.createDataFrame([(1, "ann"), (2, None)], "id long, name string"))
    live.advance_to(2)
    assert live.changes("degrees").rows() == [(1, 2, 0, 1), (2, 1, 0, 1), (1, 2, 1, -1), (1, 3, 1, 1)]
    live.advance_to(4)
    frame = live.changes("degrees", as_spark=True)
    assert frame.columns == ["src", "count", "_time", "_diff"]
    assert sorted(map(tuple, frame.collect())) == [(1, 2, 3, 1), (1, 3, 3, -1)]
    assert sorted(map(tuple, live.snapshot("names", as_spark=True).collect())) == [(1, "ann", 1), (2, None, 1)]
    assert sorted(map(tuple, live.snapshot("degrees", at=3, as_spark=True).collect())) == [(1, 2, 1), (2, 1, 1)]


def test_frames_that_do_not_fit_are_refused_by_name(spark, live):
    for frame, says in [
        (spark.createDataFrame([(1, 2)], "src long, dts long"), 'the column "dst" of the input "edges"'),
        (spark.createDataFrame([(1, 2, 3)], "src long, dst long, more long"), 'finds the column "more"'),
    ]:
        with pytest.raises(UnknownColumn, match=says):
            live.insert("edges", frame)
    whole = spark.createDataFrame([(1, 2, 0)], "src long, dst long, ts long")
    with pytest.raises(UnknownColumn, match=r'the column "tss" \(time=\)'):
        live.apply("edges", whole, time="tss")
    with pytest.raises(LateTime, match="too late at time 0"):
        live.apply("edges", whole, time="ts")
    with pytest.raises(WrongTime, match="a whole number or the name of a column"):
        live.apply("edges", whole, time=1.5)
    with pytest.raises(TypeMismatch, match="src"):
        live.insert("edges", spark.createDataFrame([("a", 2)], "src string, dst long"))


def test_a_frame_is_taken_in_whole_by_a_session_that_is_not_on_spark(spark):
    with program().run() as here:
        here.insert("edges", spark.createDataFrame([(1, 2)], "src long, dst long"))
        assert here.commit()["degrees"].rows() == [(1, 1, 0, 1)]
        with pytest.raises(TypeMismatch, match="does not run on Spark"):
            here.changes("degrees", as_spark=True)


def test_a_sum_that_leaves_18_digits_is_not_committed(spark, tmp_path):
    from decimal import Decimal

    from ebbflow.columns.ranges import EXACT_DECIMALS

    most = Decimal("999999999999999999999999999999999999.99")
    flow = ebb.Dataflow()
    sales = flow.input("sales", "shop string, price decimal(38,2)")
    flow.output("totals", sales.group_by("shop").agg(total=ebb.sum("price")))
    place = str(tmp_path / "kept")
    with flow.run(spark, checkpoint=place, shards=2) as live:
        frame = spark.createDataFrame([("a", most), ("b", Decimal("1.50"))], "shop string, price decimal(38,2)")
        live.insert("sales", frame)
        live.commit()
        live.insert("sales", frame)
        with pytest.raises(
            NumberOverflow, match=r"sum\(price\) .*more than 38 digits, for the group shop='a' at time 1"
        ):
            live.commit()
        assert live.frontier("totals") == [(1,)]
        live.discard()
    with flow.run(spark, checkpoint=place, shards=2) as live:
        live.insert("sales", [("a", Decimal("-0.99"))])
        live.commit()
        shown = live.snapshot("totals", as_spark=True)
        assert shown.schema["total"].dataType.simpleString() == "decimal(38,2)"
        assert sorted(map(tuple, shown.collect())) == [
            ("a", EXACT_DECIMALS.subtract(most, Decimal("0.99")), 1),
            ("b", Decimal("1.50"), 1),
        ]
