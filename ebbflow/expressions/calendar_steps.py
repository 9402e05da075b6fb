"""Steps of the interpreter on days and timestamps: parts of a date, months and weeks, what is so much later.

Rule: a step gives for words what the function's meaning gives for values; NULL outside of the years 1 to 9999.
"""

from __future__ import annotations

import numpy as np

from ebbflow.columns.local_time import from_local, to_local
from ebbflow.columns.ranges import FIRST_DAY, LAST_DAY, LAST_MOMENT, MICROSECONDS_A_DAY
from ebbflow.columns.schema import NULL
from ebbflow.expressions.opcodes import (
    ADD_MONTHS,
    DAY_LATER,
    DAY_OF_MONTH_NUMBER,
    DAY_OF_WEEK,
    DAY_OF_YEAR,
    DAY_START,
    DAYS_LATER,
    MICROS_LATER,
    MONTH_NUMBER,
    MONTH_OF,
    MONTHS_LATER,
    NEXT_DAY,
    QUARTER,
    SHOWN_OVER,
    TIMES_UNIT,
    TO_LOCAL,
    TRUNC_DAY,
    TRUNC_SHOWN,
    WEEK_OF_YEAR,
    WHOLE_UNITS,
    YEAR_OF,
    YEAR_OF_WEEK,
)
from ebbflow.native.kernel import inline, kernel

MOST_MONTHS, MOST_DAYS, MOST_MICROS = 10**6, 10**7, 10**18


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


@inline
def part_of_date(days, part):
    """needs: part is YEAR_OF, MONTH_OF or DAY_OF.  leaves: that part of the day, in the Gregorian calendar."""
    year, month, day = civil(days)
    return year if part == YEAR_OF else month if part == MONTH_OF else day


@kernel
def in_zone(op, a, table):
    """needs: TO_LOCAL, FROM_LOCAL or DAY_START; a lane of a timestamp, not NULL; a zone's table.  leaves: the lane."""
    return to_local(table, a) if op == TO_LOCAL else from_local(table, a, 1 if op == DAY_START else 0)


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
