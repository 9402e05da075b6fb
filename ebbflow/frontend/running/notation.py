"""Times, frontiers and whole numbers as people write and read them.

A time of a program is a tuple; a person writes a whole number where there is one coordinate, and reads it so in every
sentence that names a time or a frontier.

Rule: what is read here fits 64 bits, or is refused with what was written.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from ebbflow.errors import WrongTime
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running.output_log import END, Antichain
from ebbflow.times.frontier import Time

WRITTEN_TIMES = {"advance_to": "advance_to(8)", "snapshot": "at=8", "changes": "since=8"}  # a time; time=8 elsewhere


def told(times: Antichain | Time) -> str:
    """A time or a frontier, in a sentence."""
    if not times:
        return "closed"
    if isinstance(times[0], tuple):
        return " and ".join(told(time) for time in times)  # type: ignore[arg-type]
    return str(times[0]) if len(times) == 1 else str(tuple(times))


def listed(names: Sequence[str]) -> str:
    return ", ".join(map(plain, names)) if names else "none"


def whole(value: object) -> int | None:
    """A whole number that fits a word, or None."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None
    return number if -END <= number <= END else None


def beyond(value: object) -> str:
    """What is wrong with a whole number, if it is that it does not fit a word."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return ", which does not fit 64 bits" if is_whole and whole(value) is None else ""


def as_time(verb: str, value: object, coordinates: tuple[str, ...]) -> Time:
    """A time as a person writes it: a whole number, or a tuple with one for each coordinate."""
    parts = value if isinstance(value, (tuple, list)) else (value,)
    numbers = tuple(whole(part) for part in parts)
    if len(numbers) == len(coordinates) and None not in numbers:
        return numbers  # type: ignore[return-value]
    if len(coordinates) == 1:
        wanted, hint = "a whole number", f"Write {WRITTEN_TIMES.get(verb, 'time=8')}."
    else:
        wanted = f"{len(coordinates)} whole numbers ({listed(coordinates)})"
        hint = f"Write a tuple, such as {(3,) + (0,) * (len(coordinates) - 1)}."
    unfit = next(filter(None, map(beyond, parts)), "")
    raise WrongTime(f"{verb} is given the time {plain(value)}{unfit}; a time of this flow is {wanted}.", hint=hint)


def is_whole_time(time: object) -> bool:
    """Whether it can be one time for all rows, or none is given."""
    if type(time) is int:
        return -END <= time <= END
    if type(time) is tuple:
        return all(whole(part) is not None for part in time)
    return time is None or whole(time) is not None


def is_one_time(time: object) -> bool:
    return type(time) is int or time is None or (type(time) is tuple and all(type(part) is int for part in time))
