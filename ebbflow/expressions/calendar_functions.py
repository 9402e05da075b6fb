"""Functions of dates and timestamps, with Spark's meanings.

A timestamp is an instant; what its functions say is what the clocks of the program's zone show.  So they take the name
of the zone as their last argument; a timestamp_ntz has none.

Rule: every function is null where its answer, or what the clocks show on the way to it, is not of the years 1 to 9999.
"""

from __future__ import annotations

import calendar
import math
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from ebbflow.columns import zones
from ebbflow.columns.ranges import EPOCH
from ebbflow.columns.schema import DATE, TIMESTAMP, TIMESTAMP_NTZ, Type
from ebbflow.expressions import datetime_formats as formats
from ebbflow.expressions.signature import Function
from ebbflow.expressions.typed import Expr, Literal

DAY_ZERO = date(1970, 1, 1)
A_MICROSECOND = timedelta(microseconds=1)
UNIT_NAMES = {
    "year": ("year", "years", "yyyy", "yy"), "quarter": ("quarter", "quarters"),
    "month": ("month", "months", "mon", "mm"), "week": ("week", "weeks"), "day": ("day", "days", "dd"),
    "hour": ("hour", "hours"), "minute": ("minute", "minutes"), "second": ("second", "seconds"),
    "millisecond": ("millisecond", "milliseconds"), "microsecond": ("microsecond", "microseconds"),
}  # fmt: skip
UNIT_OF = {name: unit for unit, names in UNIT_NAMES.items() for name in names}
MICROS = {
    "microsecond": 1, "millisecond": 1000, "second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000,
    "day": 86_400_000_000, "week": 7 * 86_400_000_000,
}  # fmt: skip
MONTHS = {"month": 1, "quarter": 3, "year": 12}
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def unit_of(text: object) -> str | None:
    """What a unit is called here, by any of its names."""
    return UNIT_OF.get(str(text).strip().lower())


# ---- clocks ---------------------------------------------------------------------------------


def shown_at(x: date, zone: str | None) -> datetime | None:
    """What clocks show: at an instant in a zone; for a date, midnight."""
    if not isinstance(x, datetime):
        return datetime(x.year, x.month, x.day)
    return x if zone is None else zones.to_local(x, zone)


def instant_of(shown: datetime, zone: str | None) -> datetime | None:
    return shown if zone is None else zones.from_local(shown, zone)


def _of_clock(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of what clocks show, as one of a moment and the zone."""

    def of_moment(x: date, zone: str | None = None) -> Any:
        shown = shown_at(x, zone)
        return None if shown is None else fn(shown)

    return of_moment


def _later(shown: datetime, **how: int) -> datetime | None:
    try:
        return shown + timedelta(**how)
    except OverflowError:
        return None


# ---- dates ----------------------------------------------------------------------------------


def add_months(day: Any, months: int) -> Any:
    """The same day of another month, or its last one."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        return None
    return day.replace(year=year, month=month + 1, day=min(day.day, calendar.monthrange(year, month + 1)[1]))


def last_day(day: date) -> date:
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def next_day(day: date, name: str) -> date | None:
    """The first one behind it that is called so; two letters of the name do."""
    wanted = weekday_of(name)
    if wanted is None:
        return None
    later = _later(datetime(day.year, day.month, day.day), days=(wanted - day.weekday() - 1) % 7 + 1)
    return later.date() if later else None


def weekday_of(name: str) -> int | None:
    text = name.strip().lower()
    return next((i for i, day in enumerate(WEEKDAYS) if text in (day, day[:3], day[:2])), None)


def trunc(day: date, unit: str) -> date | None:
    """The first day of its year, quarter, month or week."""
    match unit_of(unit):
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "month":
            return day.replace(day=1)
        case "week":
            try:
                return day - timedelta(days=day.weekday())
            except OverflowError:
                return None
    return None


def date_trunc(unit: str, x: datetime, zone: str | None = None) -> datetime | None:
    """The start of its year, ... or second."""
    known, shown = unit_of(unit), shown_at(x, zone)
    if known is None or shown is None:
        return None
    if known in ("microsecond", "millisecond", "second", "minute", "hour", "day"):
        over = (shown - datetime(shown.year, shown.month, shown.day)) // A_MICROSECOND % MICROS[known]
        return _as_shown(x, shown, shown - over * A_MICROSECOND, zone)
    day = trunc(shown.date(), known)
    return None if day is None else instant_of(datetime(day.year, day.month, day.day), zone)


def make_date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except (ValueError, OverflowError):
        return None


def make_timestamp(*given: Any) -> datetime | None:
    """Of a year, a month, a day, an hour, a minute and a second with its fraction."""
    year, month, day, hour, minute, second, *rest = given
    micros = round(float(second) * 1_000_000)
    more = micros == 60_000_000
    try:
        shown = datetime(year, month, day, hour, minute, 0) + micros * A_MICROSECOND
    except (ValueError, OverflowError):
        return None
    if not 0 <= micros < 60_000_000 and not more:
        return None
    return instant_of(shown, rest[0] if rest else None)


def months_between(end: datetime, start: datetime, *rest: Any) -> float | None:
    """Whole months between equal days or last days, else by months of 31 days; a day counts as far as it has passed.

    rest: whether it is rounded, and the zone; either may be left out.
    """
    rounds = rest[0] if rest and isinstance(rest[0], bool) else True
    zone = rest[-1] if rest and isinstance(rest[-1], str) else None
    one, two = shown_at(end, zone), shown_at(start, zone)
    if one is None or two is None:
        return None
    months = (one.year - two.year) * 12 + one.month - two.month
    if one.day == two.day or (_ends_month(one) and _ends_month(two)):
        return float(months)
    seconds = (one.day - two.day) * 86400 + _seconds_of_day(end, one, zone) - _seconds_of_day(start, two, zone)
    found = months + seconds / (31 * 86400)
    return math.floor(found * 1e8 + 0.5) / 1e8 if rounds else found


def _ends_month(shown: datetime) -> bool:
    return shown.day == calendar.monthrange(shown.year, shown.month)[1]


def _seconds_of_day(moment: datetime, shown: datetime, zone: str | None) -> int:
    began = None if zone is None else zones.day_start(shown.date(), zone)
    passed = shown - datetime(*shown.timetuple()[:3]) if began is None else moment - began
    return passed // timedelta(seconds=1)


# ---- spans of time --------------------------------------------------------------------------


def later(x: Any, months: int, days: int, micros: int, zone: str | None = None) -> Any:
    """So much later: months and days by the calendar, the rest by the clock that runs through."""
    if not isinstance(x, datetime):
        moved = add_months(x, months) if abs(months) < 10**6 else None
        if moved is None or abs(days) > 10**7:
            return None
        found = _later(datetime(moved.year, moved.month, moved.day), days=days)
        return None if found is None else found.date()
    if abs(months) > 10**6 or abs(days) > 10**7 or abs(micros) > 10**18:
        return None
    found = _by_calendar(x, months, 0, zone) if months else x
    found = _by_calendar(found, 0, days, zone) if days and found is not None else found
    return None if found is None else _later(found, microseconds=micros)


def _by_calendar(x: datetime, months: int, days: int, zone: str | None) -> datetime | None:
    before = shown_at(x, zone)
    month = None if before is None else add_months(before, months)
    shown = None if month is None else _later(month, days=days)
    return None if before is None or shown is None else _as_shown(x, before, shown, zone)


def _as_shown(x: datetime, before: datetime, shown: datetime, zone: str | None) -> datetime | None:
    """What clocks show is moved. Of two instants at which they show it, it is the one as far from UTC as before."""
    near = _later(shown, microseconds=(x - before) // A_MICROSECOND)
    return near if near is not None and shown_at(near, zone) == shown else instant_of(shown, zone)


def timestampadd(unit: str, number: int, x: datetime, zone: str | None = None) -> datetime | None:
    known = unit_of(unit)
    if known is None:
        return None
    if known in MONTHS:
        return later(x, number * MONTHS[known], 0, 0, zone)
    if known in ("day", "week"):
        return later(x, 0, number * (7 if known == "week" else 1), 0, zone)
    return later(x, 0, 0, number * MICROS[known], zone)


def timestampdiff(unit: str, start: datetime, end: datetime, zone: str | None = None) -> int | None:
    """How many whole units lie between the two, as clocks show them."""
    known, one, two = unit_of(unit), shown_at(start, zone), shown_at(end, zone)
    if known is None or one is None or two is None:
        return None
    if known not in MONTHS:
        micros = (two - one) // A_MICROSECOND
        return (abs(micros) // MICROS[known]) * (-1 if micros < 0 else 1)
    months = (two.year - one.year) * 12 + two.month - one.month
    behind, before = (one.day, one.time()), (two.day, two.time())
    if months > 0 and before < behind:
        months -= 1
    elif months < 0 and before > behind:
        months += 1
    return (abs(months) // MONTHS[known]) * (-1 if months < 0 else 1)


# ---- as text, and from it -------------------------------------------------------------------


def date_format(x: date, form: str, zone: str | None = None) -> str | None:
    shown = shown_at(x, zone)
    away = shown - x if isinstance(x, datetime) and shown is not None and zone is not None else None
    return None if shown is None else formats.written(shown, form, zone, away)


def to_timestamp_as(text: str, form: str, zone: str | None = None) -> datetime | None:
    """A text read by a format; null where it does not fit."""
    found = formats.read(text, form)
    if found is None:
        return None
    shown, named = found
    return instant_of(shown, zone) if named is None else zones.instant(shown, named)


def to_ntz_as(text: str, form: str) -> datetime | None:
    found = formats.read(text, form)
    return None if found is None else found[0]


def to_date_as(text: str, form: str) -> date | None:
    found = formats.read(text, form)
    return None if found is None else found[0].date()


def unix_seconds(x: datetime, unit: int = 1_000_000) -> int:
    return (x - EPOCH) // A_MICROSECOND // unit


def unix_timestamp(x: datetime) -> int:
    """Seconds, without the fraction; `unix_seconds` rounds down."""
    micros = (x - EPOCH) // A_MICROSECOND
    return -(-micros // 1_000_000) if micros < 0 else micros // 1_000_000


def unix_timestamp_as(text: str, form: str, zone: str | None = None) -> int | None:
    found = to_timestamp_as(text, form, zone)
    return None if found is None else unix_timestamp(found)


def from_unixtime(seconds: int, form: str, zone: str | None = None) -> str | None:
    moment = moment_of(seconds, 1_000_000)
    return None if moment is None else date_format(moment, form, zone)


def moment_of(number: int, unit: int) -> datetime | None:
    try:
        return EPOCH + timedelta(microseconds=number * unit)
    except OverflowError:
        return None


def date_of(days: int) -> date | None:
    try:
        return DAY_ZERO + timedelta(days=days)
    except OverflowError:
        return None


def from_utc(x: datetime, zone: str) -> datetime | None:
    """What clocks of a zone show at an instant, as the instant at which those of UTC do."""
    return zones.to_local(x, zone) if zones.named(zone) is not None else None


def to_utc(x: datetime, zone: str) -> datetime | None:
    return zones.from_local(x, zone) if zones.named(zone) is not None else None


# ---- the table ------------------------------------------------------------------------------


def _same_clock(args: Sequence[Expr]) -> Type:
    """Of a timestamp_ntz one without a zone."""
    return TIMESTAMP_NTZ if any(arg.type == TIMESTAMP_NTZ for arg in args) else TIMESTAMP


def _part(name: str, says: str, fn: Callable[[datetime], int], also: str = "", gives: str = "int") -> Function:
    return Function(name, "moment", gives, says, _of_clock(fn), also=also, zoned=True)


def _row(name: str, takes: str, gives: Any, says: str, fn: Callable[..., Any], also: str = "") -> Function:
    return Function(name, takes, gives, says, fn, also=also)


def _zoned(name: str, takes: str, gives: Any, says: str, fn: Callable[..., Any], also: str = "") -> Function:
    return Function(name, takes, gives, says, fn, also=also, zoned=True)


def _from_number(name: str, unit: int, says: str) -> Function:
    return _row(name, "int", "timestamp", says, lambda x: moment_of(x, unit))


def _to_number(name: str, unit: int, says: str) -> Function:
    return _row(name, "timestamp", "long", says, lambda x: unix_seconds(x, unit))


def _moment_type(args: Sequence[Expr]) -> Type:
    return DATE if args[0].type == DATE else _same_clock(args)


CALENDAR_FUNCTIONS = (
    _part("quarter", "1 to 4", lambda x: (x.month + 2) // 3),
    _part("dayofweek", "1 is Sunday, 7 is Saturday", lambda x: (x.weekday() + 1) % 7 + 1),
    _part("dayofyear", "1 to 366", lambda x: x.timetuple().tm_yday),
    _part("weekofyear", "the week by ISO 8601, 1 to 53", lambda x: x.isocalendar().week),
    _part("yearofweek", "the year that its week by ISO 8601 belongs to", lambda x: x.isocalendar().year),
    _part("dayname", "Mon, Tue ...", lambda x: formats.DAY_NAMES[x.weekday()][:3], gives="string"),  # type: ignore[arg-type, return-value]
    _part("monthname", "Jan, Feb ...", lambda x: formats.MONTH_NAMES[x.month - 1][:3], gives="string"),  # type: ignore[arg-type, return-value]
    _row("add_months", "date int", "date", "the same day so many months later, or the last one of its month",
         lambda day, months: add_months(day, months) if abs(months) < 10**6 else None),
    _row("last_day", "date", "date", "the last day of its month", last_day),
    _row("next_day", "date text", "date", "the next day that is called so", next_day),
    _row("trunc", "date text", "date", "the first day of its year, quarter, month or week", trunc),
    _zoned("date_trunc", "text timestamp", _same_clock, "the start of its year ... second", date_trunc),
    _row("make_date", "int int int", "date", "of a year, a month and a day", make_date),
    _zoned("make_timestamp", "int int int int int double", "timestamp",
           "of a year, a month, a day, an hour, a minute and seconds", make_timestamp),
    Function("months_between", "timestamp timestamp boolean?", "double", "months from the second to the first",
             months_between, zoned=True),
    _zoned("later", "moment int int int", _moment_type, "so many months, days and microseconds later", later),
    _zoned("timestampadd", "text int timestamp", _same_clock, "so many units later", timestampadd),
    _zoned("timestampdiff", "text timestamp timestamp", "long", "whole units from the first to the second",
           timestampdiff),
    _zoned("date_format", "moment text!", "string", "as text by a format", date_format),
    _row("to_date_as", "text text!", "date", "a date read by a format; null where that fails", to_date_as),
    _row("to_ntz_as", "text text!", "timestamp_ntz", "what a text shows by a format; null where that fails", to_ntz_as),
    _zoned("to_timestamp_as", "text text!", "timestamp", "a timestamp read by a format; null where that fails",
           to_timestamp_as),
    _zoned("unix_timestamp_as", "text text!", "long", "seconds since 1970 of a text read by a format",
           unix_timestamp_as),
    _row("unix_timestamp", "timestamp", "long", "whole seconds since 1970, towards it", unix_timestamp),
    _zoned("from_unixtime", "int text!", "string", "seconds since 1970 as text by a format", from_unixtime),
    _to_number("unix_seconds", 1_000_000, "seconds since 1970"),
    _to_number("unix_millis", 1000, "milliseconds since 1970"),
    _to_number("unix_micros", 1, "microseconds since 1970"),
    _from_number("timestamp_seconds", 1_000_000, "the timestamp so many seconds after 1970 began"),
    _from_number("timestamp_millis", 1000, "the timestamp so many milliseconds after 1970 began"),
    _from_number("timestamp_micros", 1, "the timestamp so many microseconds after 1970 began"),
    _row("unix_date", "date", "int", "days since 1970", lambda x: (x - DAY_ZERO).days),
    _row("date_from_unix_date", "int", "date", "the date so many days after 1970 began", date_of),
    _row("from_utc_timestamp", "timestamp text", "same", "what clocks of a zone show, as if of UTC", from_utc),
    _row("to_utc_timestamp", "timestamp text", "same", "the instant at which clocks of a zone show this", to_utc),
)  # fmt: skip


FORMATTED = ("date_format", "to_date_as", "to_ntz_as", "to_timestamp_as", "unix_timestamp_as", "from_unixtime")


def format_problem(op: str, args: Sequence[Expr]) -> str | None:
    """What is wrong with the format of a function, if it has one."""
    form = args[-1] if op in FORMATTED else None
    if not isinstance(form, Literal) or not isinstance(form.value, str):
        return None
    return formats.problem(form.value, reads=op not in ("date_format", "from_unixtime"))
