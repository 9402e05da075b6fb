"""Formats of dates and times: patterns such as "yyyy-MM-dd HH:mm:ss", in the letters of Spark's.

Rule: a pattern is written and read as Spark does, in English; one with letters that have no meaning here is refused by
`problem` before anything runs.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from ebbflow.columns import zones

DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTH_NAMES = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")  # fmt: skip
_FIELDS = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']", re.DOTALL)
WRITTEN_LETTERS, READ_LETTERS = "GyDMLdQqEFahKkHmsSVXxZ", "yDMLdahKkHmsSVXxZ"
MOST_LETTERS = {
    "G": 4, "y": 6, "D": 3, "M": 4, "L": 4, "d": 2, "Q": 4, "q": 4, "E": 4, "F": 1, "a": 1, "h": 2, "K": 2, "k": 2,
    "H": 2, "m": 2, "s": 2, "S": 9, "V": 2, "X": 3, "x": 3, "Z": 3,
}  # fmt: skip


@lru_cache(1000)
def pieces(form: str) -> tuple[tuple[str, int], ...]:
    """(letter, how often) for each field, (text, 0) for what stands between."""
    found: list[tuple[str, int]] = []
    for piece in _FIELDS.finditer(form):
        if piece[2]:
            found.append((piece[2], len(piece[0])))
        elif piece[1] is not None:
            found.append((piece[1].replace("''", "'") or "'", 0))
        else:
            found.append((piece[0], 0))
    return tuple(found)


def problem(form: str, reads: bool) -> str | None:
    """What of a pattern has no meaning here; None if all has one."""
    known = READ_LETTERS if reads else WRITTEN_LETTERS
    for letter, count in pieces(form):
        if count and letter not in known:
            return f'the letter "{letter}" of the format "{form}"'
        if count > MOST_LETTERS.get(letter, count) or (letter == "V" and count != 2):
            return f'"{letter * count}" in the format "{form}"'
        if not count and letter in "[]{}#":
            return f'"{letter}" in the format "{form}"'
    return f'an open quote in the format "{form}"' if re.sub(r"'[^']*'", "", form).count("'") else None


# ---- writing --------------------------------------------------------------------------------


def written(shown: datetime, form: str, zone: str | None, away: timedelta | None = None) -> str:
    """away: how far the clocks are from UTC, where an instant is known; clocks that go back show an hour twice."""
    return "".join(_field(shown, letter, count, zone, away) if count else letter for letter, count in pieces(form))


def _field(x: datetime, letter: str, count: int, zone: str | None, away: timedelta | None) -> str:
    hour12 = x.hour % 12 or 12
    match letter:
        case "y":
            return f"{x.year % 100:02}" if count == 2 else f"{x.year:0{count}}"
        case "M" | "L" if count > 2:
            return MONTH_NAMES[x.month - 1][: None if count == 4 else 3]
        case "E":
            return DAY_NAMES[x.weekday()][: None if count == 4 else 3]
        case "Q" | "q" if count > 2:
            quarter = (x.month + 2) // 3
            return f"Q{quarter}" if count == 3 else f"{quarter}{('st', 'nd', 'rd', 'th')[quarter - 1]} quarter"
        case "a":
            return "AM" if x.hour < 12 else "PM"
        case "G":
            return "AD" if count < 4 else "Anno Domini"
        case "S":
            return f"{x.microsecond:06}000"[:count]
        case "V":
            return zone or "UTC"
        case "X" | "x" | "Z":
            given = x.replace(tzinfo=zones.zone_of(zone)).utcoffset() if away is None else away
            return _offset(given or timedelta(0), letter, count)
    number = {
        "M": x.month, "L": x.month, "d": x.day, "D": x.timetuple().tm_yday, "Q": (x.month + 2) // 3,
        "q": (x.month + 2) // 3, "F": (x.day - 1) % 7 + 1, "h": hour12, "K": x.hour % 12, "k": x.hour or 24,
        "H": x.hour, "m": x.minute, "s": x.second,
    }[letter]  # fmt: skip
    return f"{number:0{count}}"


def _offset(away: timedelta, letter: str, count: int) -> str:
    seconds = int(away.total_seconds())
    if letter == "X" and not seconds:
        return "Z"
    hours, minutes = divmod(abs(seconds) // 60, 60)
    sign = "-" if seconds < 0 else "+"
    if letter == "Z" or count == 2:
        return f"{sign}{hours:02}{minutes:02}"
    if count == 3:
        return f"{sign}{hours:02}:{minutes:02}"
    return f"{sign}{hours:02}" + (f"{minutes:02}" if minutes else "")


# ---- reading --------------------------------------------------------------------------------

_OFFSETS = r"[+-]\d{2}:?\d{2}(?::?\d{2})?|[+-]\d{2}"


@lru_cache(1000)
def _reader(form: str) -> re.Pattern[str]:
    parts = []
    for i, (letter, count) in enumerate(pieces(form)):
        if not count:
            parts.append(re.escape(letter))
        elif letter in "ML" and count > 2:
            parts.append(f"(?P<M{i}>{'|'.join(name if count == 4 else name[:3] for name in MONTH_NAMES)})")
        elif letter == "a":
            parts.append(f"(?P<a{i}>AM|PM)")
        elif letter in "XxZ":
            parts.append(f"(?P<V{i}>{_OFFSETS}{'|Z' if letter == 'X' else ''})")
        elif letter == "V":
            parts.append(rf"(?P<V{i}>[A-Za-z][\w+/-]*(?::\d\d)?|{_OFFSETS})")
        else:
            digits = f"{{1,{count}}}" if letter == "S" else f"{{{count}}}" if count > 1 else "{1,2}"
            if letter == "y":
                digits = f"{{{count}}}" if count in (2, 4) else f"{{{count},9}}"
            parts.append(f"(?P<{letter}{i}>[0-9]{digits})")
    return re.compile("".join(parts))


def read(text: str, form: str) -> tuple[datetime, tzinfo | None] | None:
    """What a text shows by a pattern, and the zone that it names; None where it does not fit."""
    found = _reader(form).fullmatch(text)
    if found is None:
        return None
    given: dict[str, str] = {}
    for name, value in found.groupdict().items():
        letter = "M" if name[0] == "L" else name[0]
        if given.setdefault(letter, value) != value:
            return None
    try:
        return _assembled(given)
    except (ValueError, OverflowError):
        return None


def _assembled(given: dict[str, str]) -> tuple[datetime, tzinfo | None] | None:
    year = int(given.get("y", 1970))
    year += 2000 if len(given.get("y", "    ")) == 2 else 0
    month = given.get("M", "1")
    number = int(month) if month.isdigit() else [name[:3] for name in MONTH_NAMES].index(month[:3]) + 1
    day = datetime(year, number, int(given.get("d", 1)))
    if "D" in given:
        day = datetime(year, 1, 1) + timedelta(days=int(given["D"]) - 1)
        if day.year != year or int(given["D"]) < 1:
            return None
    hour = _hour(given)
    if hour is None:
        return None
    fraction = int(given.get("S", "0").ljust(6, "0")[:6])
    shown = day.replace(hour=hour, minute=int(given.get("m", 0)), second=int(given.get("s", 0)), microsecond=fraction)
    named = zones.named(given["V"]) if "V" in given else None
    if "V" in given and named is None:
        return None
    return shown, UTC if named is not None and given["V"] == "Z" else named


def _hour(given: dict[str, str]) -> int | None:
    if "H" in given or "k" in given:
        hour = int(given.get("H", 0)) if "H" in given else int(given["k"])
        if "k" in given:
            return hour % 24 if 1 <= hour <= 24 else None
        return hour
    if "h" in given or "K" in given:
        hour = int(given.get("h") or given["K"])
        if not (1 <= hour <= 12 if "h" in given else 0 <= hour <= 11):
            return None
        return hour % 12 + (12 if given.get("a") == "PM" else 0)
    return 12 if given.get("a") == "PM" else 0
