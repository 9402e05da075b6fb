"""Functions of instants, that is seconds since 1970, zones, and text that is read as dates and timestamps.

Units, formats and zones are plain text.

Rule: each function is one row of the table of operations.
"""

from __future__ import annotations

from ebbflow.frontend.building.column import Column, named_or
from ebbflow.frontend.functions.calling import Given, of, text


def make_timestamp(year: Given, month: Given, day: Given, hour: Given, minute: Given, second: Given) -> Column:
    """The timestamp that clocks of the program's zone show so.

    >>> make_timestamp(2024, 2, "x", 0, 0, 0)
    Column<make_timestamp(2024, 2, x, 0, 0, 0)>
    """
    return of("make_timestamp", year, month, day, hour, minute, second)


def timestamp_add(unit: Given, number: Given, column: Given) -> Column:
    """So many units later: `timestamp_add("hour", 3, "at")`.

    >>> timestamp_add("month", 1, "x")
    Column<timestampadd('month', 1, x)>
    """
    return of("timestampadd", text(unit), number, column)


def timestamp_diff(unit: Given, start: Given, end: Given) -> Column:
    """Whole units from start to end: `timestamp_diff("day", "start", "end")`.

    >>> timestamp_diff("month", "a", "b")
    Column<timestampdiff('month', a, b)>
    """
    return of("timestampdiff", text(unit), start, end)


def date_format(column: Given, form: Given) -> Column:
    """As text by a format: `date_format("at", "yyyy-MM-dd HH:mm")`.

    >>> date_format("x", "yyyy-MM")
    Column<date_format(x, 'yyyy-MM')>
    """
    return of("date_format", column, text(form))


def from_unixtime(column: Given, form: Given = "yyyy-MM-dd HH:mm:ss") -> Column:
    """Seconds since 1970 as text by a format.

    >>> from_unixtime("x")
    Column<from_unixtime(x, 'yyyy-MM-dd HH:mm:ss')>
    """
    return of("from_unixtime", column, text(form))


def unix_seconds(column: Given) -> Column:
    """Seconds since 1970.

    >>> unix_seconds("x")
    Column<unix_seconds(x)>
    """
    return of("unix_seconds", column)


def unix_millis(column: Given) -> Column:
    """Milliseconds since 1970.

    >>> unix_millis("x")
    Column<unix_millis(x)>
    """
    return of("unix_millis", column)


def unix_micros(column: Given) -> Column:
    """Microseconds since 1970.

    >>> unix_micros("x")
    Column<unix_micros(x)>
    """
    return of("unix_micros", column)


def unix_date(column: Given) -> Column:
    """Days since 1970.

    >>> unix_date("x")
    Column<unix_date(x)>
    """
    return of("unix_date", column)


def timestamp_seconds(column: Given) -> Column:
    """The timestamp so many seconds after 1970 began.

    >>> timestamp_seconds("x")
    Column<timestamp_seconds(x)>
    """
    return of("timestamp_seconds", column)


def timestamp_millis(column: Given) -> Column:
    """The timestamp so many milliseconds after 1970 began.

    >>> timestamp_millis("x")
    Column<timestamp_millis(x)>
    """
    return of("timestamp_millis", column)


def timestamp_micros(column: Given) -> Column:
    """The timestamp so many microseconds after 1970 began.

    >>> timestamp_micros("x")
    Column<timestamp_micros(x)>
    """
    return of("timestamp_micros", column)


def date_from_unix_date(column: Given) -> Column:
    """The date so many days after 1970 began.

    >>> date_from_unix_date("x")
    Column<date_from_unix_date(x)>
    """
    return of("date_from_unix_date", column)


def from_utc_timestamp(column: Given, zone: Given) -> Column:
    """What clocks of a zone show at an instant, as if it were of UTC.

    >>> from_utc_timestamp("x", "Asia/Tokyo")
    Column<from_utc_timestamp(x, 'Asia/Tokyo')>
    """
    return of("from_utc_timestamp", column, text(zone))


def to_utc_timestamp(column: Given, zone: Given) -> Column:
    """The instant at which clocks of a zone show this.

    >>> to_utc_timestamp("x", "Asia/Tokyo")
    Column<to_utc_timestamp(x, 'Asia/Tokyo')>
    """
    return of("to_utc_timestamp", column, text(zone))


def unix_timestamp(column: Given, form: Given = None) -> Column:
    """Whole seconds since 1970 of a timestamp, or of text that is read by a format.

    >>> unix_timestamp("at")
    Column<unix_timestamp(at)>
    >>> unix_timestamp("line", "dd/MM/yyyy")
    Column<unix_timestamp_as(line, 'dd/MM/yyyy')>
    """
    return of("unix_timestamp", column) if form is None else of("unix_timestamp_as", column, text(form))


to_unix_timestamp = unix_timestamp


def to_date(column: Given, form: Given = None) -> Column:
    """Read as a date, by a format if there is one; null where that fails.

    >>> to_date("at")
    Column<cast(at, date)> as at
    >>> to_date("line", "dd/MM/yyyy")
    Column<to_date_as(line, 'dd/MM/yyyy')>
    """
    return named_or(column).cast("date") if form is None else of("to_date_as", column, text(form))


def to_timestamp(column: Given, form: Given = None) -> Column:
    """Read as a timestamp, by a format if there is one; null where that fails.

    >>> to_timestamp("at")
    Column<cast(at, timestamp)> as at
    >>> to_timestamp("line", "dd/MM/yyyy HH:mm")
    Column<to_timestamp_as(line, 'dd/MM/yyyy HH:mm')>
    """
    return named_or(column).cast("timestamp") if form is None else of("to_timestamp_as", column, text(form))


try_to_date = to_date
try_to_timestamp = to_timestamp
