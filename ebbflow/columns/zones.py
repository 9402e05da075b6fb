"""Time zones: the offset from UTC of a zone at an instant.

Python's `zoneinfo` gives it for one instant and defines the meaning. For whole columns the same rules become a table of
words: the instants at which the offset changes, and the offsets between them. Rules without an end repeat every 400
years, as the calendar does, so the table holds 400 years of them.

Names are Spark's: regions of the tz database, offsets such as "+05:30" or "UTC+2", Java's three-letter names.

Rule: for every instant of the years 1 to 9999 the table gives the offset that `zoneinfo` gives.
"""

from __future__ import annotations

import os
import re
import struct
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

from ebbflow.errors import UnknownZone

MICRO = 1_000_000
SECONDS_A_DAY = 86_400
CYCLE_DAYS = 146_097  # of 400 years, which are whole weeks
CYCLE = CYCLE_DAYS * SECONDS_A_DAY * MICRO
NEVER_ENDS = 2**63 - 1
# A table: how many changes there are; the last of them if they go on without end, else NEVER_ENDS; then the instants of
# the changes; then the offset before the first one, and the offset after each.  All but the count are microseconds.
CHANGES, LAST_CHANGE, INSTANTS = 0, 1, 2

_JAVA = {
    "ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh", "EST": "-05:00", "MST": "-07:00", "HST": "-10:00",
}  # fmt: skip
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?(?:([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?)?")

_REGION = re.compile(r"[A-Za-z][\w+-]*(?:/[\w+-]+)*", re.ASCII)
_OF_THE_SYSTEM = ("localtime", "posix", "posixrules", "right", "Factory")  # files beside the regions, which are none


# ---- names ----------------------------------------------------------------------------------


def checked(name: object) -> str | None:
    """A zone's name as programs hold it: None is UTC.  A name that is not known is refused.

    >>> checked("America/New_York"), checked("GMT+2"), checked("Z")
    ('America/New_York', '+02:00', None)
    """
    found = _zone(name) if isinstance(name, str) else None
    if found is None:
        raise UnknownZone(
            f"{name!r:.60} is not a time zone that is known here.",
            hint='Write a region of the tz database, "America/New_York", or an offset, "+05:30"; where the system has '
            "no tz database, pip install tzdata.",
        )
    if isinstance(found, timezone):
        seconds = int(found.utcoffset(None).total_seconds())
        return None if not seconds else _shown(seconds)
    return _JAVA.get(str(name), str(name)) if not _is_utc(str(name)) else None


def same(one: str | None, other: str | None) -> bool:
    """Whether two zones, as programs hold them, have the same rules."""
    return one == other or table_of(one) == table_of(other)


def zone_of(name: str | None) -> tzinfo:
    """The zone of a name as programs hold it."""
    found = UTC if name is None else _zone(name)
    if found is None:
        checked(name)  # which says so
        raise AssertionError(name)
    return found


def named(text: str) -> tzinfo | None:
    """The zone that a text names, or None."""
    return _zone(text)


@lru_cache(1000)
def _zone(name: str) -> tzinfo | None:
    if name in ("Z", "z"):
        return UTC
    if found := _OFFSET.fullmatch(name) if name else None:
        hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
        if minutes > 59 or seconds > 59 or hours * 3600 + minutes * 60 + seconds > 18 * 3600:
            return None
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return timezone(-offset if found[1] == "-" else offset) if offset else UTC
    if name in _JAVA:
        return _zone(_JAVA[name])
    if not _REGION.fullmatch(name) or name.partition("/")[0] in _OF_THE_SYSTEM:
        return None
    import zoneinfo  # only who names a region waits for it

    try:
        return zoneinfo.ZoneInfo(name)
    except (OSError, ValueError, KeyError, ImportError):  # a directory, no name at all, an unknown one
        return None


def _is_utc(name: str) -> bool:
    return table_of(name) == table_of(None)


def _shown(seconds: int) -> str:
    hours, rest = divmod(abs(seconds), 3600)
    text = f"{'-' if seconds < 0 else '+'}{hours:02}:{rest // 60:02}"
    return text + (f":{rest % 60:02}" if rest % 60 else "")


# ---- the plain meaning ----------------------------------------------------------------------


def to_local(moment: datetime, zone: str) -> datetime | None:
    """What the clocks of a zone show at an instant of UTC; None outside the years 1 to 9999."""
    try:
        return moment.replace(tzinfo=UTC).astimezone(zone_of(zone)).replace(tzinfo=None, fold=0)
    except OverflowError:
        return None


def from_local(shown: datetime, zone: str) -> datetime | None:
    """The instant at which the clocks show this: the first of two; in a gap as much later as the gap is long."""
    return instant(shown, zone_of(zone))


def instant(shown: datetime, zone: tzinfo) -> datetime | None:
    """The same for a zone of Python's."""
    try:
        return shown.replace(tzinfo=zone, fold=0).astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        return None


def day_start(day: date, zone: str) -> datetime | None:
    """The first instant of a day: midnight, or where the clocks leave it out, the end of the gap."""
    midnight = datetime(day.year, day.month, day.day)
    found = from_local(midnight, zone)
    if found is None or to_local(found, zone) in (midnight, None):
        return found
    low, high = 0, 2 * SECONDS_A_DAY  # seconds: within the gap, and behind it
    while low + 1 < high:
        middle = (low + high) // 2
        later = midnight + timedelta(seconds=middle)
        reached = from_local(later, zone)
        if reached is not None and to_local(reached, zone) == later:
            high = middle
        else:
            low = middle
    return from_local(midnight + timedelta(seconds=high), zone)


# ---- the table ------------------------------------------------------------------------------


@lru_cache(1000)
def table_of(name: str | None) -> tuple[int, ...]:
    """The rules of a zone as words."""
    zone = zone_of(name)
    if isinstance(zone, timezone):
        return 0, NEVER_ENDS, int(zone.utcoffset(None).total_seconds()) * MICRO
    first, changes, footer = _read(_bytes_of(str(zone)))
    last = NEVER_ENDS
    if footer:
        standard, summer = _footer(footer)
        if summer is not None:
            year = 1 if not changes else _year(changes[-1][0])
            end = changes[-1][0] if changes else -(2**62)
            later = [one for y in range(year, year + 403) for one in summer.changes(y, standard) if one[0] > end]
            changes = [*changes, *sorted(later)]
            last = changes[-1][0] * MICRO
        elif not changes:
            first = standard
    kept: list[tuple[int, int]] = []
    for at, offset in changes:  # names and summer time may change while the offset does not
        if offset != (kept[-1][1] if kept else first):
            kept.append((at, offset))
    if last != NEVER_ENDS:
        last = kept[-1][0] * MICRO
    instants = (at * MICRO for at, _ in kept)
    return (len(kept), last, *instants, first * MICRO, *(offset * MICRO for _, offset in kept))


def _bytes_of(key: str) -> bytes:
    """The file of a zone, from where `zoneinfo` has it."""
    import zoneinfo

    for place in zoneinfo.TZPATH:
        file = os.path.join(place, key)
        if os.path.isfile(file):
            with open(file, "rb") as opened:
                return opened.read()
    import importlib.resources

    *packages, name = key.split("/")
    return importlib.resources.files(".".join(["tzdata", "zoneinfo", *packages])).joinpath(name).read_bytes()


def _read(data: bytes) -> tuple[int, list[tuple[int, int]], str]:
    """A file of the tz database (RFC 8536): the first offset, changes to others, and the rule behind them; seconds."""
    version, size = data[4:5], 4
    counts = struct.unpack(">6l", data[20:44])
    at = 44
    if version >= b"2":  # the same again behind it, with wider numbers
        at += _length(counts, size)
        counts, size = struct.unpack(">6l", data[at + 20 : at + 44]), 8
        at += 44
    _, _, _, times, types, _ = counts
    instants = struct.unpack(f">{times}{'q' if size == 8 else 'l'}", data[at : at + times * size])
    kinds = data[at + times * size : at + times * (size + 1)]
    start = at + times * (size + 1)
    offsets = [struct.unpack(">l", data[start + 6 * i : start + 6 * i + 4])[0] for i in range(types)]
    footer = data[at + _length(counts, size) :].strip(b"\n").decode() if size == 8 else ""
    return offsets[0], [(instant, offsets[kind]) for instant, kind in zip(instants, kinds, strict=True)], footer


def _length(counts: tuple[int, ...], size: int) -> int:
    ends, standards, leaps, times, types, letters = counts
    return times * (size + 1) + types * 6 + letters + leaps * (size + 4) + standards + ends


def _year(seconds: int) -> int:
    return (datetime(1970, 1, 1) + timedelta(seconds=min(max(seconds, -(10**10)), 10**11))).year


_NAME = r"(?:<[^>]+>|[A-Za-z]+)"
_CLOCK = r"[+-]?\d{1,3}(?::\d{1,2}(?::\d{1,2})?)?"
_RULE = r"(?:M\d+\.\d+\.\d+|J?\d+)"
_FOOTER = re.compile(
    rf"{_NAME}({_CLOCK})(?:{_NAME}({_CLOCK})?(?:,({_RULE})(?:/({_CLOCK}))?,({_RULE})(?:/({_CLOCK}))?)?)?"
)


class _Summer:
    """Summer time, every year: its offset, and by which rules it begins and ends."""

    def __init__(self, offset: int, begins: tuple[str, int], ends: tuple[str, int]):
        self.offset, self.begins, self.ends = offset, begins, ends

    def changes(self, year: int, standard: int) -> list[tuple[int, int]]:
        """Its two changes in a year, as (instant, offset from then on); clocks are read before they are changed."""
        begins = _day_of(self.begins[0], year) * SECONDS_A_DAY + self.begins[1] - standard
        ends = _day_of(self.ends[0], year) * SECONDS_A_DAY + self.ends[1] - self.offset
        return [(begins, self.offset), (ends, standard)]


def _footer(text: str) -> tuple[int, _Summer | None]:
    """POSIX's rule for all years behind the table: the offset, and summer time if there is one."""
    found = _FOOTER.fullmatch(text)
    assert found is not None, text
    standard = -_seconds(found[1])  # POSIX counts westward
    if not found[3]:
        return standard, None
    summer = -_seconds(found[2]) if found[2] else standard + 3600
    clock = lambda given: _seconds(given) if given else 7200
    return standard, _Summer(summer, (found[3], clock(found[4])), (found[5], clock(found[6])))


def _seconds(clock: str) -> int:
    hours, minutes, seconds = (int(part) for part in f"{clock.lstrip('+-')}:0:0".split(":")[:3])
    return (hours * 3600 + minutes * 60 + seconds) * (-1 if clock[0] == "-" else 1)


def _day_of(rule: str, year: int) -> int:
    """The day since 1970 that a rule names in a year: M3.2.0 (the second Sunday of March), J60 or 59 (of the year)."""
    if rule[0] == "M":
        month, week, weekday = map(int, rule[1:].split("."))
        first = _days(year, month)
        day = first + (weekday - (first + 4)) % 7 + 7 * (week - 1)  # 1970-01-01 was a Thursday
        end = _days(year + month // 12, month % 12 + 1)
        return day if day < end else day - 7
    if rule[0] == "J":  # the 29th of February is never counted
        number = int(rule[1:])
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return _days(year, 1) + number - 1 + (leap and number >= 60)
    return _days(year, 1) + int(rule)


def _days(year: int, month: int) -> int:
    """The first day of a month, counted from 1970 on; the years are any."""
    cycles, within = divmod(year - 1, 400)
    return date(within + 1, month, 1).toordinal() + cycles * CYCLE_DAYS - date(1970, 1, 1).toordinal()
