"""Local time: the kernels and their Python twins against `zones`, at and around every kind of change."""

import random
from datetime import datetime, timedelta

import numpy as np
import pytest

from ebbflow.columns import zones
from ebbflow.columns.local_time import from_local, to_local
from ebbflow.native.kernel import address_of, twin
from tests.columns.test_zones import EPOCH, FIRST, LAST, MICRO, instants_of

ZONES = [
    "America/New_York", "Asia/Kolkata", "Europe/Berlin", "Australia/Lord_Howe", "UTC", "America/Toronto",
    "Pacific/Apia", "America/Sao_Paulo", "Africa/Casablanca", "Europe/Dublin", "Asia/Gaza", "-09:30",
    "Antarctica/Troll", "Africa/Monrovia",
]  # fmt: skip
SECOND = 1_000_000


def lane(moment):
    return (moment - EPOCH) // MICRO


@pytest.mark.parametrize("zone", ZONES)
def test_kernels_give_what_zones_say(zone):
    rng = random.Random(zone)
    words = np.array(zones.table_of(zones.checked(zone)), np.int64)
    at, n, asked = address_of(words), int(words[0]), 0
    name = zones.checked(zone) or "UTC"
    for x in instants_of(words.tolist(), rng, 200):
        assert to_local(at, x) == lane(zones.to_local(EPOCH + x * MICRO, name)), (zone, EPOCH + x * MICRO)
        low, high = sorted((to_local(at, x), to_local(at, x - 1) + 1))  # of a gap or an overlap
        asked += 1
        for shown in (low - SECOND, low, (low + high) // 2, high - 1, high, high + SECOND):
            if FIRST <= shown <= LAST:
                wall = EPOCH + shown * MICRO
                assert from_local(at, shown, 0) == lane(zones.from_local(wall, name)), (zone, wall)
    for x in [*words[2 : 2 + n].tolist(), *instants_of(words.tolist(), rng, 0)]:
        shown = EPOCH + to_local(at, x) * MICRO  # in the middle of some gaps is a midnight
        for day in (shown.date(), shown.date() + timedelta(days=1)):
            wanted, midnight = zones.day_start(day, name), datetime.combine(day, datetime.min.time())
            assert from_local(at, lane(midnight), 1) == lane(wanted), (zone, midnight)
    assert asked >= (900 if n > 100 else 20)


def test_kernels_are_their_twins():
    rng = random.Random(5)
    words = np.array(zones.table_of("Australia/Lord_Howe"), np.int64)
    at = address_of(words)
    for x in instants_of(words.tolist(), rng, 20):
        assert to_local(at, x) == twin(to_local)(at, x)
        for day in (0, 1):
            assert from_local(at, x, day) == twin(from_local)(at, x, day)


def test_going_there_and_back_gives_an_instant_that_clocks_show_alike():
    for zone in ZONES:
        words = np.array(zones.table_of(zones.checked(zone)), np.int64)
        at = address_of(words)
        for x in instants_of(words.tolist(), random.Random(zone), 40):
            shown = to_local(at, x)
            back = from_local(at, shown, 0)
            assert back <= x and to_local(at, back) == shown
