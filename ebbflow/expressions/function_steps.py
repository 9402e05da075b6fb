"""Steps of the interpreter for functions of dates and of bits, and how calls of them are written as steps.

Functions of the table that have no step here are computed outside, in Python, once for each distinct combination of
arguments; those that people group and filter by are compiled.

Rule: a step gives for words what the function's meaning gives for values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ebbflow.columns.ranges import FIRST_DAY, LAST_DAY, LAST_MOMENT, MICROSECONDS_A_DAY
from ebbflow.columns.schema import NULL
from ebbflow.expressions.calendar_functions import MICROS, unit_of, weekday_of
from ebbflow.expressions.typed import Call, Literal
from ebbflow.native.kernel import inline, kernel

FIRST = 128
(
    QUARTER,
    DAY_OF_WEEK,
    DAY_OF_YEAR,
    WEEK_OF_YEAR,
    YEAR_OF_WEEK,
    ADD_MONTHS,
    LAST_DAY_OF,
    NEXT_DAY,
    DAY_LATER,
    TRUNC_DAY,
    TRUNC_SHOWN,
    SHOWN_OVER,
    MONTHS_LATER,
    DAYS_LATER,
    MICROS_LATER,
    MONTH_NUMBER,
    DAY_OF_MONTH_NUMBER,
    WHOLE_UNITS,
    TIMES_UNIT,
    TOWARDS_ZERO,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    BIT_NOT,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    SHIFT_UNSIGNED,
    BIT_COUNT,
) = range(FIRST, FIRST + 28)
END = FIRST + 28
MONTHS_OF = {"year": 12, "quarter": 3, "month": 1}  # of a truncated unit; a week has none
MOST_MONTHS, MOST_DAYS, MOST_MICROS = 10**6, 10**7, 10**18


class NotInside(Exception):
    """This needs more than words, or more than there are registers."""


# ---- kernels --------------------------------------------------------------------------------


@inline
def civil(days):
    """needs: days since 1970.  leaves: the year, the month and the day of the Gregorian calendar."""
    z = days + 719468  # from 0000-03-01, so that a leap day ends its year
    era = z // 146097
    of_era = z - era * 146097
    year_of_era = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (1 if month <= 2 else 0), month, of_year - (153 * shifted + 2) // 5 + 1


@inline
def days_of(year, month, day):
    """The inverse of `civil`."""
    y = year - 1 if month <= 2 else year
    era = y // 400
    of_era = y - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


@inline
def month_days(year, month):
    """How many days a month has."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month == 4 or month == 6 or month == 9 or month == 11 else 31


@inline
def months_later(days, months):
    """needs: a day.  leaves: the same day so many months later, or the last one; NULL outside the calendar."""
    if months > MOST_MONTHS or months < -MOST_MONTHS:
        return np.int64(NULL)
    year, month, day = civil(days)
    at = year * 12 + month - 1 + months
    year = at // 12
    if year < 1 or year > 9999:
        return np.int64(NULL)
    month = at - year * 12 + 1
    return days_of(year, month, min(day, month_days(year, month)))


@inline
def week_start(days):
    """The Monday on or before a day."""
    return days - (days + 3) % 7


@kernel
def trunc_day(days, months):
    """needs: months: 12, 3 or 1, or 0 for a week.  leaves: the first day of that many months, or of the week."""
    if months == 0:
        v = week_start(days)
    else:
        year, month, _ = civil(days)
        v = days_of(year, month - (month - 1) % months, 1)
    return v if v >= FIRST_DAY else np.int64(NULL)


@kernel
def calendar_step(op, a, b):
    """needs: a step before TRUNC_DAY; a: a day, not NULL; b: as the step takes it.  leaves: the lane."""
    if op == ADD_MONTHS:
        return months_later(a, b)
    if op == NEXT_DAY:  # the first day behind it that is the weekday b, 0 for Monday
        v = a + (b - (a + 3) % 7 - 1) % 7 + 1
        return v if v <= LAST_DAY else np.int64(NULL)
    if op == DAY_LATER:
        v = np.int64(NULL) if b > MOST_DAYS or b < -MOST_DAYS else a + b
        return v if v >= FIRST_DAY and v <= LAST_DAY else np.int64(NULL)
    if op == DAY_OF_WEEK:
        return (a + 4) % 7 + 1
    if op == WEEK_OF_YEAR or op == YEAR_OF_WEEK:
        thursday = week_start(a) + 3
        year, _, _ = civil(thursday)
        return year if op == YEAR_OF_WEEK else (thursday - days_of(year, 1, 1)) // 7 + 1
    year, month, _ = civil(a)
    if op == QUARTER:
        return (month + 2) // 3
    if op == DAY_OF_YEAR:
        return a - days_of(year, 1, 1) + 1
    return days_of(year, month, month_days(year, month))


@kernel
def clock_step(op, a, b):
    """needs: a step from TRUNC_DAY to TOWARDS_ZERO; a: the word it takes, not NULL.  leaves: the lane."""
    if op == TRUNC_DAY:
        return trunc_day(a, b)
    if op == TRUNC_SHOWN:  # what a clock shows, at the start of b months (0: a week, -1: a day)
        days = a // MICROSECONDS_A_DAY
        days = days if b < 0 else trunc_day(days, b)
        return np.int64(NULL) if days == NULL else days * MICROSECONDS_A_DAY
    if op == SHOWN_OVER:
        return a % b
    if op == MONTHS_LATER:
        days = a // MICROSECONDS_A_DAY
        v = months_later(days, b)
        return v if v == NULL else v * MICROSECONDS_A_DAY + (a - days * MICROSECONDS_A_DAY)
    if op == DAYS_LATER:
        return np.int64(NULL) if b > MOST_DAYS or b < -MOST_DAYS else a + b * MICROSECONDS_A_DAY
    if op == MICROS_LATER:
        return np.int64(NULL) if b > MOST_MICROS or b < -MOST_MICROS else a + b
    if op == MONTH_NUMBER:  # of the year a and the month b
        return a * 12 + b - 1 if a >= 1 and a <= 9999 and b >= 1 and b <= 12 else np.int64(NULL)
    if op == DAY_OF_MONTH_NUMBER:
        year = a // 12
        month = a - year * 12 + 1
        return days_of(year, month, b) if b >= 1 and b <= month_days(year, month) else np.int64(NULL)
    if op == WHOLE_UNITS:
        return a // b
    if op == TIMES_UNIT:
        most = LAST_MOMENT // b
        return a * b if a <= most and a >= -most else np.int64(NULL)
    return -(-a // b) if a < 0 else a // b


@kernel
def bit_step(op, a, b, bits):
    """needs: a step from BIT_AND on; words of whole numbers; bits: how wide the first is.  leaves: the lane."""
    if op == BIT_AND:
        return a & b
    if op == BIT_OR:
        return a | b
    if op == BIT_XOR:
        return a ^ b
    if op == BIT_NOT:
        return ~a
    if op == BIT_COUNT:
        n = np.int64(0)
        rest = np.uint64(a)
        while rest != np.uint64(0):
            rest = rest & (rest - np.uint64(1))
            n += 1
        return n
    by = b % bits
    if op == SHIFT_RIGHT:
        return a >> by
    if bits == 32:
        word = np.uint64(a) & np.uint64(0xFFFF_FFFF)
        word = word << np.uint64(by) if op == SHIFT_LEFT else word >> np.uint64(by)
        word = word & np.uint64(0xFFFF_FFFF)
        return np.int64(word) - (np.int64(1) << 32) if word >= np.uint64(0x8000_0000) else np.int64(word)
    word = np.uint64(a)
    return np.int64(word << np.uint64(by)) if op == SHIFT_LEFT else np.int64(word >> np.uint64(by))


@kernel
def step(op, a, b, c):
    """needs: a step of this module; a and b are words that it takes, not NULL.  leaves: the lane of the result."""
    if op >= BIT_AND:
        return bit_step(op, a, b, c)
    return clock_step(op, a, b) if op >= TRUNC_DAY else calendar_step(op, a, b)


# ---- how calls are written ------------------------------------------------------------------

DAY_PARTS = {
    "quarter": QUARTER, "dayofweek": DAY_OF_WEEK, "dayofyear": DAY_OF_YEAR, "weekofyear": WEEK_OF_YEAR,
    "yearofweek": YEAR_OF_WEEK,
}  # fmt: skip
BITS = {
    "bitwise_and": BIT_AND, "bitwise_or": BIT_OR, "bitwise_xor": BIT_XOR, "bitwise_not": BIT_NOT,
    "shiftleft": SHIFT_LEFT, "shiftright": SHIFT_RIGHT, "shiftrightunsigned": SHIFT_UNSIGNED, "bit_count": BIT_COUNT,
}  # fmt: skip
UNIX_TIMES = {
    "unix_seconds": (WHOLE_UNITS, 1_000_000), "unix_millis": (WHOLE_UNITS, 1000), "unix_micros": (WHOLE_UNITS, 1),
    "unix_timestamp": (TOWARDS_ZERO, 1_000_000), "unix_date": (WHOLE_UNITS, 1),
    "timestamp_seconds": (TIMES_UNIT, 1_000_000), "timestamp_millis": (TIMES_UNIT, 1000),
    "timestamp_micros": (TIMES_UNIT, 1),
}  # fmt: skip


def written(writing: Any, call: Call, args: list[Any], into: int | None) -> Any:
    """The steps of a call of the table, and where its result is; NotInside where there are none."""
    zone = call.options if not call.options or call.op not in BITS else ()
    if call.op in DAY_PARTS:
        shown = writing.local(args[0], zone)
        return writing.step(DAY_PARTS[call.op], writing.days(shown, call.args[0].type), into=into)
    if call.op in BITS:
        bits = writing.word(64 if call.args[0].type.name == "long" else 32)
        return writing.step(BITS[call.op], *(args if len(args) > 1 else [args[0], writing.word(0)]), bits, into=into)
    if call.op in UNIX_TIMES:
        op, unit = UNIX_TIMES[call.op]
        found = writing.step(op, args[0], writing.word(unit), into=None if op == TIMES_UNIT else into)
        return writing.of_calendar(found, into) if op == TIMES_UNIT else found
    if call.op in WRITERS:
        return WRITERS[call.op](writing, call, args, into)
    raise NotInside


def _plain(arg: Any) -> str:
    """The value of a constant text; any other is not known here."""
    if not isinstance(arg, Literal) or not isinstance(arg.value, str):
        raise NotInside
    return arg.value


def _add_months(writing: Any, call: Call, args: list[Any], into: int | None) -> Any:
    return writing.step(ADD_MONTHS, *args, into=into)


def _last_day(writing: Any, call: Call, args: list[Any], into: int | None) -> Any:
    return writing.step(LAST_DAY_OF, args[0], into=into)


def _next_day(writing: Any, call: Call, args: list[Any], into: int | None) -> Any:
    wanted = weekday_of(_plain(call.args[1]))
    return writing.step(NEXT_DAY, args[0], writing.word(NULL if wanted is None else wanted), into=into)


def _trunc(writing: Any, call: Call, args: list[Any], into: int | None) -> Any:
    unit = unit_of(_plain(call.args[1]))
    months = MONTHS_OF.get(unit or "", 0 if unit == "week" else NULL)
    return writing.step(TRUNC_DAY, args[0], writing.word(months), into=into)


def _date_trunc(writing: Any, call: Call, args: list[Any], into: int | None) -> Any:
    unit = unit_of(_plain(call.args[0]))
    if unit is None:
        return writing.step(WHOLE_UNITS, args[1], writing.word(NULL), into=into)
    shown = writing.local(args[1], call.options)
    if unit in ("microsecond", "millisecond", "second", "minute", "hour"):
        over = writing.step(SHOWN_OVER, shown, writing.word(MICROS[unit]))
        return writing.less(args[1], over, into)
    months = MONTHS_OF.get(unit, 0 if unit == "week" else -1)
    return writing.instant(writing.step(TRUNC_SHOWN, shown, writing.word(months)), call.options, into)


def _make_date(writing: Any, call: Call, args: list[Any], into: int | None) -> Any:
    return writing.step(DAY_OF_MONTH_NUMBER, writing.step(MONTH_NUMBER, args[0], args[1]), args[2], into=into)


def _later(writing: Any, call: Call, args: list[Any], into: int | None) -> Any:
    moment, months, days, micros = args
    if call.args[0].type.name == "date":
        if not isinstance(call.args[3], Literal) or call.args[3].value is None:
            raise NotInside
        return writing.step(DAY_LATER, writing.step(ADD_MONTHS, moment, months), days, into=into)
    shown = writing.step(MONTHS_LATER, writing.local(moment, call.options), months)
    shown = writing.of_calendar(writing.step(DAYS_LATER, shown, days))
    found = writing.step(MICROS_LATER, writing.instant(shown, call.options), micros)
    return writing.of_calendar(found, into)


WRITERS: dict[str, Callable[[Any, Call, list[Any], int | None], Any]] = {
    "add_months": _add_months, "last_day": _last_day, "next_day": _next_day, "trunc": _trunc,
    "date_trunc": _date_trunc, "make_date": _make_date, "later": _later,
}  # fmt: skip
