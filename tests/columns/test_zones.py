"""Zones: the tables against `zoneinfo`, for every zone there is; names; files."""

import random
import zoneinfo
from bisect import bisect_right
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise

import pytest

import ebbflow as ebb
from ebbflow.columns import zones
from ebbflow.errors import UnknownZone

EPOCH, MICRO = datetime(1970, 1, 1), timedelta(microseconds=1)
FIRST, LAST = (datetime(1, 1, 3) - EPOCH) // MICRO, (datetime(9999, 12, 29) - EPOCH) // MICRO
ALL = sorted(zoneinfo.available_timezones() - {"localtime", "Factory"})


def offset_at(table, instant):
    n = table[0]
    if instant >= table[1]:
        instant -= ((instant - table[1]) // zones.CYCLE + 1) * zones.CYCLE
    return table[2 + n + bisect_right(table, instant, 2, 2 + n) - 2]


def instants_of(table, rng, some=12):
    """Instants anywhere, and at changes of the clock, in the table and in the years behind it."""
    n = table[0]
    found = [rng.randint(FIRST, LAST) for _ in range(20)]
    for at in rng.sample(table[2 : 2 + n], min(n, some)):
        far = at + zones.CYCLE * rng.randrange(1, 19) if table[1] != zones.NEVER_ENDS and at > 3 * 10**15 else at
        found += [at - 1, at, at + 1, far - 1, far]
    return [x for x in found if FIRST <= x <= LAST]


def test_tables_say_what_zoneinfo_says_in_every_zone():
    rng, asked, wrong = random.Random(17), 0, []
    for name in ALL:
        zone, table = zoneinfo.ZoneInfo(name), zones.table_of(name)
        for x in instants_of(table, rng):
            wanted = (EPOCH + x * MICRO).replace(tzinfo=UTC).astimezone(zone).utcoffset() // MICRO
            asked += 1
            if wanted != offset_at(table, x):
                wrong.append((name, EPOCH + x * MICRO, wanted, offset_at(table, x)))
    assert asked > 20_000 and not wrong, (len(wrong), wrong[:5])


def test_changes_come_one_after_the_other_also_as_clocks_show_them():
    for name in ALL:
        n, _, *words = zones.table_of(name)
        instants, offsets = words[:n], words[n:]
        shown = [at + max(offsets[i], offsets[i + 1]) for i, at in enumerate(instants)]
        assert len(offsets) == n + 1 and all(a != b for a, b in pairwise(offsets)), name
        for one in (instants, shown):
            assert one == sorted(set(one)), name


@pytest.mark.parametrize(
    "name, held, hours",
    [
        ("America/New_York", "America/New_York", -5), ("UTC", None, 0), ("Z", None, 0), ("GMT", None, 0),
        ("Etc/UTC", None, 0), ("+00:00", None, 0), ("GMT+2", "+02:00", 2), ("UTC-03:30", "-03:30", -3.5),
        ("+5", "+05:00", 5), ("-0800", "-08:00", -8), ("EST", "-05:00", -5),
        ("+05:30:15", "+05:30:15", 5.5 + 15 / 3600),
        ("PST", "America/Los_Angeles", -8), ("+18:00", "+18:00", 18), ("Asia/Kolkata", "Asia/Kolkata", 5.5),
    ],
)  # fmt: skip
def test_names_are_sparks(name, held, hours):
    assert zones.checked(name) == held
    new_year = datetime(2024, 1, 1)
    assert zones.to_local(new_year, held or "UTC") == new_year + timedelta(hours=hours)
    assert zones.same(zones.checked(name), held)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "New York",
        "America/New York",
        "america",
        "America",
        "+19",
        "+05:60",
        "Mars/Olympus",
        "../etc",
        3,
        b"UTC",
        "localtime",
        "posix/UTC",
        "right/UTC",
    ],
)
def test_a_name_that_is_not_known_is_refused_with_a_sentence(name):
    with pytest.raises(UnknownZone, match="is not a time zone that is known here"):
        ebb.Dataflow(timezone=name)


def test_other_names_of_the_same_rules_are_the_same_zone():
    assert zones.same("US/Eastern", "America/New_York") and not zones.same("America/New_York", "America/Toronto")
    assert zones.same(None, None) and not zones.same(None, "Europe/London")


@pytest.mark.parametrize(
    "zone, shown, instant",
    [
        ("America/New_York", "2024-03-10 02:30", "2024-03-10 07:30"),  # left out: an hour later
        ("America/New_York", "2024-11-03 01:30", "2024-11-03 05:30"),  # twice: the first
        ("America/New_York", "2024-11-03 02:00", "2024-11-03 07:00"),
        ("Europe/Berlin", "2024-03-31 02:00", "2024-03-31 01:00"),
        ("Europe/Berlin", "2024-10-27 02:59", "2024-10-27 00:59"),
        ("Australia/Lord_Howe", "2024-10-06 02:15", "2024-10-05 15:45"),  # by half an hour
        ("Australia/Lord_Howe", "2024-04-07 01:45", "2024-04-06 14:45"),
        ("Asia/Kolkata", "2024-07-01 22:00", "2024-07-01 16:30"),
        ("America/New_York", "1800-01-01 00:00", "1800-01-01 04:56:02"),  # before standard time
        ("America/New_York", "9000-07-01 00:00", "9000-07-01 04:00"),
    ],
)
def test_gaps_and_overlaps_are_resolved_as_in_java(zone, shown, instant):
    assert zones.from_local(datetime.fromisoformat(shown), zone) == datetime.fromisoformat(instant)


def test_a_day_begins_at_midnight_or_where_the_gap_ends():
    for zone, day, instant in [
        ("America/Toronto", date(1919, 3, 31), datetime(1919, 3, 31, 4, 30)),  # from 23:30 to 00:30
        ("America/Sao_Paulo", date(2018, 11, 4), datetime(2018, 11, 4, 3)),  # from 00:00 to 01:00
        ("America/New_York", date(2024, 7, 1), datetime(2024, 7, 1, 4)),
        ("Pacific/Apia", date(2011, 12, 30), datetime(2011, 12, 30, 10)),  # a day that was left out
    ]:
        assert zones.day_start(day, zone) == instant, zone


def test_outside_the_years_1_to_9999_there_is_nothing():
    assert zones.to_local(datetime(1, 1, 1), "America/New_York") is None
    assert zones.from_local(datetime(1, 1, 1), "Asia/Kolkata") is None
    assert zones.day_start(date(1, 1, 1), "Asia/Kolkata") is None
    assert zones.from_local(datetime(9999, 12, 31, 23), "America/New_York") is None


def test_a_system_without_zones_takes_them_from_the_package(monkeypatch):
    pytest.importorskip("tzdata")
    monkeypatch.setattr(zoneinfo, "TZPATH", ())
    for name in ("UTC", "America/Argentina/Buenos_Aires"):
        assert zones._bytes_of(name)[:4] == b"TZif"


def test_rules_of_every_form_are_read():
    for footer, year, wanted in [
        ("EST5EDT,M3.2.0,M11.1.0", 2040, [("2040-03-11 07:00", -4), ("2040-11-04 06:00", -5)]),
        ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 2041, [("2041-10-05 15:30", 11), ("2041-04-06 15:00", 10.5)]),
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 2042, [("2042-03-30 01:00", -1), ("2042-10-26 01:00", -2)]),
        ("IST-2IDT,J60/26,59/3:30:15", 2044, [("2044-03-02 00:00", 3), ("2044-02-29 00:30:15", 2)]),
    ]:
        standard, summer = zones._footer(footer)
        found = [(EPOCH + timedelta(seconds=at), offset / 3600) for at, offset in summer.changes(year, standard)]
        assert found == [(datetime.fromisoformat(at), hours) for at, hours in wanted], footer
    assert zones._footer("<+0545>-5:45") == (20_700, None)


def test_fixed_offsets_are_zones_too():
    assert zones.zone_of("-03:30") == timezone(-timedelta(hours=3, minutes=30))
    assert zones.table_of("-03:30") == (0, zones.NEVER_ENDS, -12_600 * 1_000_000)
