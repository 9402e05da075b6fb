"""Clocks and calendars beside Spark's: the same instants, in zones with and without summer time."""

import contextlib
import random
from datetime import date, datetime, timedelta

import pytest

import ebbflow as ebb
import ebbflow.functions as F
from ebbflow import col
from ebbflow.columns import zones
from ebbflow.errors import CheckpointDiffers, ZoneDiffers

EPOCH, SECOND, MICRO = datetime(1970, 1, 1), 1_000_000, timedelta(microseconds=1)
FIRST, LAST = (datetime(1, 1, 4) - EPOCH) // MICRO, (datetime(9999, 12, 27) - EPOCH) // MICRO
ZONES = [
    "UTC", "America/New_York", "Asia/Kolkata", "Europe/Berlin", "Australia/Lord_Howe",
    "America/Toronto", "America/Sao_Paulo", "Pacific/Apia", "+05:45", "PST",
]  # fmt: skip
"""A change of half an hour, midnights that are left out (in one the gap begins before), a day that is."""


@contextlib.contextmanager
def session_in(spark, zone):
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        yield spark
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def cases(zone, some=8):
    """Instants, what clocks show, days and texts: at changes of the clock of each century, and anywhere."""
    rng = random.Random(zone)
    table = zones.table_of(zones.checked(zone))
    n = table[0]
    instants, offsets = table[2 : 2 + n], table[2 + n :]
    now = [i for i in range(n) if datetime(2011, 1, 1) <= EPOCH + instants[i] * MICRO < datetime(2025, 1, 1)]
    chosen = sorted({*rng.sample(range(n), min(n, some)), *range(min(n, 3)), *now[:6], *now[-4:], *range(n - 2, n)})
    moments, shown = [0, -1, FIRST, LAST], [FIRST, LAST]
    for i in (i for i in chosen if 0 <= i < n):
        for cycles in (0, rng.randrange(1, 17)) if table[1] != zones.NEVER_ENDS and instants[i] > 3 * 10**15 else (0,):
            at = instants[i] + cycles * zones.CYCLE
            low, high = sorted((at + offsets[i], at + offsets[i + 1]))
            moments += [at - SECOND, at - 1, at, at + 1, at + SECOND]
            shown += [low - SECOND, low, (low + high) // 2, high - 1, high, high + SECOND]
            shown.append(at // (86_400 * SECOND) * (86_400 * SECOND))  # a midnight near it
    moments += [rng.randint(FIRST, LAST) for _ in range(30)]
    shown += [rng.randint(FIRST, LAST) for _ in range(30)]
    moments, shown = ([x for x in xs if FIRST <= x <= LAST] for xs in (moments, shown))
    rows = []
    for i in range(max(len(moments), len(shown))):
        wall = EPOCH + shown[i % len(shown)] * MICRO
        named = rng.choice(["", "", "", "Z", " Europe/Berlin", "+02:00", " UTC", "-11:30"])
        rows.append((i, EPOCH + moments[i % len(moments)] * MICRO, wall, wall.date(), wall.isoformat(" ") + named))
    return rows


OURS = {
    "year": F.year("ts"), "month": F.month("ts"), "day": F.day("ts"), "hour": F.hour("ts"), "minute": F.minute("ts"),
    "second": F.second("ts"), "weekday": F.weekday("ts"), "dayofweek": F.dayofweek("ts"), "date": F.to_date("ts"),
    "text": col("ts").cast("string"), "ntz": col("ts").cast("timestamp_ntz"), "later": F.date_add("ts", 1),
    "between": F.date_diff("ts", "d"), "instant": col("n").cast("timestamp"), "hour_n": F.hour("n"),
    "date_n": F.to_date("n"), "text_n": col("n").cast("string"), "midnight": col("d").cast("timestamp"),
    "midnight_n": col("d").cast("timestamp_ntz"), "read": F.to_timestamp("s"), "read_n": col("s").cast("timestamp_ntz"),
    "before": col("n") < col("ts"), "last": F.greatest("n", "ts"), "today": col("d") <= col("ts"),
    "noon": col("ts") > "2024-07-01 12:00:00", "of_day": col("ts") >= date(2024, 11, 3),
    "wall": col("n") > "2024-03-10", "seconds": col("ts").cast("long"),
}  # fmt: skip
SPARKS = {
    "year": "year(ts)", "month": "month(ts)", "day": "day(ts)", "hour": "hour(ts)", "minute": "minute(ts)",
    "second": "second(ts)", "weekday": "weekday(ts)", "dayofweek": "dayofweek(ts)", "date": "cast(ts as date)",
    "text": "cast(ts as string)", "ntz": "cast(cast(ts as timestamp_ntz) as string)", "later": "date_add(ts, 1)",
    "between": "date_diff(ts, d)", "instant": "unix_micros(cast(n as timestamp))", "hour_n": "hour(n)",
    "date_n": "cast(n as date)", "text_n": "cast(n as string)", "midnight": "unix_micros(cast(d as timestamp))",
    "midnight_n": "cast(cast(d as timestamp_ntz) as string)", "read": "unix_micros(try_cast(s as timestamp))",
    "read_n": "cast(try_cast(s as timestamp_ntz) as string)", "before": "n < ts",
    "last": "unix_micros(greatest(n, ts))", "today": "d <= ts", "noon": "ts > '2024-07-01 12:00:00'",
    "of_day": "ts >= date'2024-11-03'", "wall": "n > '2024-03-10'", "seconds": "cast(ts as bigint)",
}  # fmt: skip
COLUMNS = "i long, ts timestamp, n timestamp_ntz, d date, s string"


def plain(value):
    """A value as both sides say it: an instant as microseconds, what clocks show as text."""
    return value.isoformat() if isinstance(value, date) and not isinstance(value, datetime) else value


@pytest.mark.parametrize("zone", ZONES)
def test_functions_of_the_calendar_are_sparks(spark, zone):
    given = cases(zone)
    flow = ebb.Dataflow(timezone=zone)
    out = flow.input("rows", COLUMNS).select("i", **OURS)
    flow.output("out", out)
    instants = [name for name, kind in zip(out.schema.names, out.schema.types, strict=True) if kind.name == "timestamp"]
    shows = [
        name for name, kind in zip(out.schema.names, out.schema.types, strict=True) if kind.name == "timestamp_ntz"
    ]
    ours = {}
    for row in flow.compute(rows=given)["out"].rows():
        found = dict(zip(out.schema.names, row[:-1], strict=True))
        found |= {name: found[name] and (found[name] - EPOCH) // MICRO for name in instants}
        found |= {name: found[name] and said(found[name]) for name in shows}
        ours[row[0]] = {name: plain(found[name]) for name in OURS}
    with session_in(spark, zone):
        sent = [(i, (ts - EPOCH) // MICRO, n.isoformat(" "), d.isoformat(), s) for i, ts, n, d, s in given]
        frame = spark.createDataFrame(sent, "i long, ts long, n string, d string, s string").selectExpr(
            "i", "timestamp_micros(ts) ts", "cast(n as timestamp_ntz) n", "cast(d as date) d", "s"
        )
        rows = frame.selectExpr("i", *(f"{sql} as `{name}`" for name, sql in SPARKS.items())).toArrow().to_pylist()
    theirs = {row["i"]: {name: plain(row[name]) for name in OURS} for row in rows}
    differ = [(name, i) for name in OURS for i in theirs if ours[i][name] != theirs[i][name]]
    shown = {name: (given[i], f"Spark: {theirs[i][name]}", f"ours: {ours[i][name]}") for name, i in differ}
    assert len(theirs) == len(given) > 30 and not differ, (len(differ), shown)


def said(moment):
    text = f"{moment.date().isoformat()} {moment:%H:%M:%S}"
    return text + f".{moment.microsecond:06}".rstrip("0") if moment.microsecond else text


# ---- programs on Spark ---------------------------------------------------------------------------------------

EDGES = {  # instants as people of the zone write them, over both changes of the clock
    "America/New_York": ["2024-07-01 22:00:00", "2024-03-10 01:59:59", "2024-03-10 03:00:00", "2024-11-03 01:30:00"],
    "Asia/Kolkata": ["2024-07-01 22:00:00", "1941-10-01 00:30:00", "1945-10-14 23:30:00", "1854-06-28 00:00:00"],
    "Australia/Lord_Howe": ["2024-04-07 01:45:00", "2024-10-06 02:30:00", "2024-10-06 01:59:59", "8999-04-01 01:45:00"],
}
EXACT = ["id", "unix_micros(ts) as ts", "cast(n as string) as n"]


def moments(spark, zone):
    """Instants as their zone writes them, and an hour later, which over a change of the clock may read alike."""
    rows = [(2 * i + more, text, more) for i, text in enumerate(EDGES[zone]) for more in (0, 1)]
    frame = spark.createDataFrame(rows, "id long, text string, more int")
    return frame.selectExpr(
        "id", "cast(text as timestamp) + make_dt_interval(0, more) as ts", "cast(text as timestamp_ntz) as n"
    )


def exact(frame, *more):
    return sorted(map(tuple, frame.selectExpr(*EXACT, *more).collect()))


@pytest.mark.parametrize("zone", EDGES)
def test_instants_survive_and_clocks_are_the_sessions(spark, zone):
    flow = ebb.Dataflow()
    rows = flow.input("rows", "id long, ts timestamp, n timestamp_ntz")
    flow.output("same", rows)
    flow.output("hours", rows.group_by(hour=F.hour("ts"), day=F.to_date("ts")).count())
    with session_in(spark, zone), flow.run(spark, shards=2) as live:
        few = moments(spark, zone)
        many = spark.range(20_000).selectExpr(  # that stay in Spark's tasks
            "id + 100 as id",
            "timestamp_seconds(1700000000 + id * 4321) as ts",
            "timestamp_ntz'2024-03-10 02:30:00' as n",
        )
        live.insert("rows", few)
        live.apply("rows", many)
        live.advance_to(1)
        whole = few.unionAll(many)
        wanted = exact(whole)
        assert exact(live.changes("same", as_spark=True)) == wanted
        snapshot = live.snapshot("same", as_spark=True)
        assert exact(snapshot) == wanted
        assert [kind for _, kind in snapshot.dtypes] == ["bigint", "timestamp", "timestamp_ntz", "bigint"]
        counted = whole.selectExpr("hour(ts) as hour", "cast(ts as date) as day").groupBy("hour", "day").count()
        found = live.snapshot("hours", as_spark=True).select("hour", "day", "count")
        assert sorted(map(tuple, found.collect())) == sorted(map(tuple, counted.collect()))
        live.insert("rows", snapshot.drop("_count"))  # what came out goes in again
        live.commit()
        assert {row[-1] for row in live.snapshot("same").rows()} == {2}


def test_columns_of_the_other_kind_are_converted_by_the_sessions_zone(spark):
    flow = ebb.Dataflow()
    flow.output("same", flow.input("rows", "id long, ts timestamp, n timestamp_ntz"))
    with session_in(spark, "America/New_York"), flow.run(spark, shards=2) as live:
        frame = moments(spark, "America/New_York").selectExpr("id", "n as ts", "ts as n")
        live.insert("rows", frame)
        live.commit()
        assert exact(live.snapshot("same", as_spark=True)) == exact(
            frame.selectExpr("id", "cast(ts as timestamp) as ts", "cast(n as timestamp_ntz) as n")
        )


def test_a_program_that_states_another_zone_is_refused(spark):
    with session_in(spark, "America/New_York"):
        for zone in ("America/New_York", "US/Eastern"):  # the same rules by another name
            flow = ebb.Dataflow(timezone=zone)
            flow.output("same", flow.input("rows", "ts timestamp"))
            flow.run(spark).close()
        flow = ebb.Dataflow(timezone="Europe/Berlin")
        flow.output("same", flow.input("rows", "ts timestamp"))
        with pytest.raises(ZoneDiffers, match=r"states the time zone Europe/Berlin, and the Spark session has America"):
            flow.run(spark)


def test_a_checkpoint_is_not_continued_in_another_zone(spark, tmp_path):
    def program(of):
        flow = ebb.Dataflow()
        rows = flow.input("rows", "ts timestamp")
        flow.output("out", of(rows))
        return flow

    hours = lambda rows: rows.select(hour=F.hour("ts"))
    for of, refused in ((hours, True), (lambda rows: rows.distinct(), False)):
        place = str(tmp_path / str(refused))
        with session_in(spark, "America/New_York"), program(of).run(spark, checkpoint=place, shards=1) as live:
            live.insert("rows", [(datetime(2024, 7, 2, 2),)])
            live.commit()
        with session_in(spark, "Europe/Berlin"):
            if refused:
                with pytest.raises(CheckpointDiffers):
                    program(of).run(spark, checkpoint=place, shards=1)
            else:
                with program(of).run(spark, checkpoint=place, shards=1) as live:
                    assert live.snapshot("out").rows() == [(datetime(2024, 7, 2, 2), 1)]
