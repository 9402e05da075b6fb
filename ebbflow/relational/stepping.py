"""The values of a series, one by one: numbers, days, moments.

Rule: a value is the start and a number of steps, never a value before it and a step: a month after January 31 is the
last day of February, and two months after it March 31.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from ebbflow.errors import StepRefused
from ebbflow.relational.algebra import Step

MOST_VALUES = 1_000_000


def between(start: Any, end: Any, step: Step) -> Iterator[Any]:
    """From the start to the end, both among them; nothing where one is missing."""
    if start is None or end is None:
        return
    if step.number:
        yield from range(start, end + (1 if step.is_up else -1), step.number)
        return
    number, at = 0, start
    while (at <= end) if step.is_up else (at >= end):
        yield at
        number += 1
        at = _later(start, step, number)


def _later(start: datetime.date, step: Step, number: int) -> datetime.date:
    """So many steps later; the last day of a month that has no such day."""
    year, month = divmod(start.year * 12 + start.month - 1 + step.months * number, 12)
    following = datetime.date(year + (month == 11), (month + 1) % 12 + 1, 1)
    last = (following - datetime.timedelta(days=1)).day
    moved = start.replace(year=year, month=month + 1, day=min(start.day, last))
    return moved + datetime.timedelta(microseconds=step.micros * number)


@cache
def values_between(step: Step) -> Callable[[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """A function of rows (..., start, end) that gives (..., value) for each value.  The same for the same step:
    functions are known by identity.
    """

    def generate_series(row: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        *own, start, end = row
        found: list[tuple[Any, ...]] = []
        for value in between(start, end, step):
            found.append((*own, value))
            if len(found) > MOST_VALUES:
                raise StepRefused(f"a series from {start} to {end} has more than {MOST_VALUES:,} rows")
        return found

    return generate_series
