"""Instants in and out of a session, in every form in which they come; and the clocks of a program's zone."""

import random
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ebbflow as ebb
import ebbflow.functions as F
from ebbflow import col
from ebbflow.columns import zones
from ebbflow.errors import UnknownOption
from tests.columns.test_zones import EPOCH, MICRO, instants_of

ZONES = ["America/New_York", "Asia/Kolkata", "Europe/Berlin", "Australia/Lord_Howe", "UTC"]
INSTANTS = [datetime(2024, 7, 2, 2), datetime(2024, 11, 3, 5, 30), datetime(2024, 11, 3, 6, 30), datetime(1850, 1, 1)]


def identity(zone, kind="timestamp"):
    flow = ebb.Dataflow(timezone=zone)
    flow.output("same", flow.input("rows", f"ts {kind}"))
    return flow


def forms(zone):
    aware = [moment.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)) for moment in INSTANTS]
    micros = pa.array(INSTANTS, pa.timestamp("us", "UTC"))
    yield "rows", [(moment,) for moment in aware]
    yield "rows without a zone", [(moment,) for moment in INSTANTS]
    yield "numpy", {"ts": np.array(INSTANTS, "M8[us]")}
    for unit in ("s", "ms", "us", "ns"):
        yield f"arrow {unit}", pa.table({"ts": micros.cast(pa.timestamp(unit, zone))})
        yield f"naive arrow {unit}", pa.table({"ts": pa.array(INSTANTS, pa.timestamp(unit))})
    yield "pandas", pd.DataFrame({"ts": pd.Series(pd.DatetimeIndex(aware, tz=zone))})
    yield "naive pandas", pd.DataFrame({"ts": pd.Series(INSTANTS, dtype="datetime64[us]")})
    yield (
        "polars",
        pl.DataFrame({"ts": pl.Series(INSTANTS, dtype=pl.Datetime("us", "UTC"))}).with_columns(
            pl.col("ts").dt.convert_time_zone(zone)
        ),
    )
    yield "naive polars", pl.DataFrame({"ts": pl.Series(INSTANTS, dtype=pl.Datetime("ms"))})


@pytest.mark.parametrize("zone", ZONES)
def test_instants_survive_in_every_form(zone):
    with identity(zone).run() as live:

        def there_and_back(rows):
            live.insert("rows", rows)
            return live.commit()["same"]

        for name, rows in forms(zone):
            table = there_and_back(rows)
            assert sorted(row[0] for row in table) == sorted(INSTANTS), name
            assert table.to_arrow().schema.field("ts").type == pa.timestamp("us", "UTC")
            assert str(table.to_pandas().dtypes["ts"]) == "datetime64[us, UTC]"
            for back in (table.to_arrow(), table.to_pandas(), table.to_polars()):
                assert sorted(row[0] for row in there_and_back(pa.table(back).select(["ts"]))) == sorted(INSTANTS), name


def test_what_has_no_zone_comes_out_without_one():
    shown = [datetime(2024, 3, 10, 2, 30), datetime(2024, 11, 3, 1, 30)]
    flow = identity("America/New_York", "timestamp_ntz")
    for rows in (
        [(moment,) for moment in shown],
        pa.table({"ts": pa.array(shown, pa.timestamp("ms"))}),
        pd.DataFrame({"ts": shown}),
        pl.DataFrame({"ts": shown}),
    ):
        table = flow.compute(rows=rows)["same"]
        assert [row[0] for row in table] == shown
        assert table.to_arrow().schema.field("ts").type == pa.timestamp("us")


def test_a_schema_of_arrow_tells_the_two_apart():
    flow = ebb.Dataflow()
    rows = flow.input("rows", pa.schema({"a": pa.timestamp("ns"), "b": pa.timestamp("s", "Asia/Kolkata")}))
    assert str(rows.schema) == "a timestamp_ntz, b timestamp"
    again = flow.input("again", pa.schema({"c": pa.dictionary(pa.int8(), pa.timestamp("us", "UTC"))}))
    assert str(again.schema) == "c timestamp"


PARTS = {
    "year": lambda t: t.year, "month": lambda t: t.month, "day": lambda t: t.day, "hour": lambda t: t.hour,
    "minute": lambda t: t.minute, "second": lambda t: t.second, "weekday": lambda t: t.weekday(),
}  # fmt: skip


@pytest.mark.parametrize("zone", ZONES)
def test_clocks_are_those_of_the_programs_zone(zone):

    flow = ebb.Dataflow(timezone=zone)
    rows = flow.input("rows", "i long, ts timestamp, n timestamp_ntz")
    made = {name: getattr(F, name)("ts") for name in PARTS} | {
        "date": F.to_date("ts"), "shown": col("ts").cast("timestamp_ntz"), "back": col("n").cast("timestamp"),
    }  # fmt: skip
    flow.output("out", rows.select("i", **made))
    given = [EPOCH + x * MICRO for x in instants_of(zones.table_of(zones.checked(zone)), random.Random(zone), 150)]
    clock = ZoneInfo(zone)
    wanted = []
    for i, moment in enumerate(given):
        shown = moment.replace(tzinfo=UTC).astimezone(clock).replace(tzinfo=None, fold=0)
        back = moment.replace(tzinfo=clock).astimezone(UTC).replace(tzinfo=None)
        wanted.append((i, *(part(shown) for part in PARTS.values()), shown.date(), shown, back, 1))
    found = flow.compute(rows=[(i, moment, moment) for i, moment in enumerate(given)])["out"].rows()
    assert len(given) > (15 if zone == "UTC" else 30) and found == wanted


def test_the_ends_of_the_calendar_are_read_and_what_lies_behind_them_is_null():
    ends = [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)]
    found = []
    for zone in ("America/New_York", "Asia/Kolkata"):
        flow = ebb.Dataflow(timezone=zone)
        rows = flow.input("rows", "ts timestamp, d date")
        parts = [F.year("ts").alias("y"), F.hour("ts").alias("h"), F.weekday("ts").alias("w")]
        flow.output("out", rows.select("ts", *parts, day=F.to_date("ts"), midnight=col("d").cast("timestamp")))
        found += [row[1:-1] for row in flow.compute(rows=[(end, end.date()) for end in ends])["out"].rows()]
    assert found == [
        (0, 19, 6, None, datetime(1, 1, 1, 4, 56, 2)),
        (9999, 18, 4, date(9999, 12, 31), datetime(9999, 12, 31, 5)),
        (1, 5, 0, date(1, 1, 1), None),
        (10000, 5, 5, None, datetime(9999, 12, 30, 18, 30)),
    ]


def test_the_zone_is_stated_by_the_program_and_not_by_who_runs_it():
    with pytest.raises(UnknownOption, match="a part of what the program means"):
        identity("Asia/Kolkata").run(timezone="UTC")


def test_extremes_and_keys_are_those_of_the_instants():
    flow = ebb.Dataflow(timezone="America/New_York")
    rows = flow.input("rows", "ts timestamp, n timestamp_ntz")
    flow.output("day", rows.group_by(day=F.to_date("ts")).agg(first=ebb.min("ts"), last=ebb.max("n"), k=ebb.count()))
    flow.output("same", rows.join(rows.select(m="n"), on={"n": "m"}).distinct())
    with flow.run() as live:
        moments = [datetime(2024, 11, 3, 3, 30) + timedelta(hours=i) for i in range(4)]  # 23:30, 0:30, 1:30, 1:30
        shown = [datetime(2024, 11, 2, 23, 30), *(datetime(2024, 11, 3, h, 30) for h in (0, 1, 1))]
        live.insert("rows", list(zip(moments, shown, strict=True)))
        live.commit()
        assert live.snapshot("day").rows() == [
            (date(2024, 11, 2), moments[0], shown[0], 1, 1),
            (date(2024, 11, 3), moments[1], shown[2], 3, 1),
        ]
        assert len(live.snapshot("same")) == 4
        live.delete("rows", [(moments[1], shown[1])])
        live.commit()
        assert live.snapshot("day").rows()[1] == (date(2024, 11, 3), moments[2], shown[2], 2, 1)
