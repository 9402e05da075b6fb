"""Functions of dates and of bits, written as steps.

Functions of the table that have no step are computed outside, in Python, once for each distinct combination of
arguments; those that people group and filter by are compiled.

Rule: a step gives for words what the function's meaning gives for values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebbflow.columns.schema import NULL
from ebbflow.expressions import opcodes as o
from ebbflow.expressions.calendar_functions import MICROS, unit_of, weekday_of
from ebbflow.expressions.typed import Call, Literal
from ebbflow.expressions.writer import NotInside, Operand, Writer, word

MONTHS_OF = {"year": 12, "quarter": 3, "month": 1}  # of a truncated unit; a week has none

DAY_PARTS = {
    "quarter": o.QUARTER, "dayofweek": o.DAY_OF_WEEK, "dayofyear": o.DAY_OF_YEAR, "weekofyear": o.WEEK_OF_YEAR,
    "yearofweek": o.YEAR_OF_WEEK,
}  # fmt: skip
BIT_STEPS = {
    "bitwise_and": o.BIT_AND, "bitwise_or": o.BIT_OR, "bitwise_xor": o.BIT_XOR, "bitwise_not": o.BIT_NOT,
    "shiftleft": o.SHIFT_LEFT, "shiftright": o.SHIFT_RIGHT, "shiftrightunsigned": o.SHIFT_UNSIGNED,
    "bit_count": o.BIT_COUNT,
}  # fmt: skip
UNIX_TIMES = {
    "unix_seconds": (o.WHOLE_UNITS, 1_000_000), "unix_millis": (o.WHOLE_UNITS, 1000), "unix_micros": (o.WHOLE_UNITS, 1),
    "unix_timestamp": (o.TOWARDS_ZERO, 1_000_000), "unix_date": (o.WHOLE_UNITS, 1),
    "timestamp_seconds": (o.TIMES_UNIT, 1_000_000), "timestamp_millis": (o.TIMES_UNIT, 1000),
    "timestamp_micros": (o.TIMES_UNIT, 1),
}  # fmt: skip


def write_function(w: Writer, call: Call, args: list[Operand], into: int | None) -> Operand:
    """The steps of a call of the table, and where its result is; NotInside where there are none."""
    zone = call.options if not call.options or call.op not in BIT_STEPS else ()
    if call.op in DAY_PARTS:
        shown = w.local(args[0], zone)
        return w.step(DAY_PARTS[call.op], w.days(shown, call.args[0].type), into=into)
    if call.op in BIT_STEPS:
        bits = word(64 if call.args[0].type.name == "long" else 32)
        first, second = args if len(args) > 1 else (args[0], word(0))
        return w.step(BIT_STEPS[call.op], first, second, bits, into=into)
    if call.op in UNIX_TIMES:
        op, unit = UNIX_TIMES[call.op]
        found = w.step(op, args[0], word(unit), into=None if op == o.TIMES_UNIT else into)
        return w.of_calendar(found, into) if op == o.TIMES_UNIT else found
    if call.op in WRITERS:
        return WRITERS[call.op](w, call, args, into)
    raise NotInside


def _plain(arg: Any) -> str:
    """The value of a constant text; any other is not known here."""
    if not isinstance(arg, Literal) or not isinstance(arg.value, str):
        raise NotInside
    return arg.value


def _add_months(w: Writer, call: Call, args: list[Operand], into: int | None) -> Operand:
    return w.step(o.ADD_MONTHS, *args, into=into)


def _last_day(w: Writer, call: Call, args: list[Operand], into: int | None) -> Operand:
    return w.step(o.LAST_DAY_OF, args[0], into=into)


def _next_day(w: Writer, call: Call, args: list[Operand], into: int | None) -> Operand:
    wanted = weekday_of(_plain(call.args[1]))
    return w.step(o.NEXT_DAY, args[0], word(NULL if wanted is None else wanted), into=into)


def _trunc(w: Writer, call: Call, args: list[Operand], into: int | None) -> Operand:
    unit = unit_of(_plain(call.args[1]))
    months = MONTHS_OF.get(unit or "", 0 if unit == "week" else NULL)
    return w.step(o.TRUNC_DAY, args[0], word(months), into=into)


def _date_trunc(w: Writer, call: Call, args: list[Operand], into: int | None) -> Operand:
    unit = unit_of(_plain(call.args[0]))
    if unit is None:
        return w.step(o.WHOLE_UNITS, args[1], word(NULL), into=into)
    shown = w.local(args[1], call.options)
    if unit in ("microsecond", "millisecond", "second", "minute", "hour"):
        over = w.step(o.SHOWN_OVER, shown, word(MICROS[unit]))
        if not call.options:
            return w.step(o.SUB, shown, over, into=into)
        return _as_shown(w, args[1], shown, w.step(o.SUB, shown, over), call.options, into)
    if unit == "day" and call.options:
        return _as_shown(w, args[1], shown, w.step(o.TRUNC_SHOWN, shown, word(-1)), call.options, into)
    months = MONTHS_OF.get(unit, 0 if unit == "week" else -1)
    return w.instant(w.step(o.TRUNC_SHOWN, shown, word(months)), call.options, into)


def _make_date(w: Writer, call: Call, args: list[Operand], into: int | None) -> Operand:
    return w.step(o.DAY_OF_MONTH_NUMBER, w.step(o.MONTH_NUMBER, args[0], args[1]), args[2], into=into)


def _later(w: Writer, call: Call, args: list[Operand], into: int | None) -> Operand:
    moment, months, days, micros = args
    if call.args[0].type.name == "date":
        if not isinstance(call.args[3], Literal) or call.args[3].value is None:
            raise NotInside
        return w.step(o.DAY_LATER, w.step(o.ADD_MONTHS, moment, months), days, into=into)
    for op, number, given in ((o.MONTHS_LATER, months, call.args[1]), (o.DAYS_LATER, days, call.args[2])):
        if not isinstance(given, Literal) or given.value != 0:
            later = _by_calendar(w, op, moment, number, call.options)
            if not isinstance(given, Literal):
                later = w.step(o.SELECT, w.step(o.EQ, number, word(0)), moment, later)
            moment = later
    return w.of_calendar(w.step(o.MICROS_LATER, moment, micros), into)


def _by_calendar(w: Writer, op: int, moment: Operand, number: Operand, zone: tuple[Any, ...]) -> Operand:
    before = w.local(moment, zone)
    shown = w.of_calendar(w.step(op, before, number))
    return _as_shown(w, moment, before, shown, zone) if zone else shown


def _as_shown(
    w: Writer, moment: Operand, before: Operand, shown: Operand, zone: tuple[Any, ...], into: int | None = None
) -> Operand:
    """What clocks show is moved. Of two instants at which they show it, it is the one as far from UTC as before."""
    near = w.step(o.ADD, shown, w.step(o.SUB, moment, before))
    is_shown = w.step(o.EQ, w.local(near, zone), shown)
    return w.step(o.SELECT, is_shown, near, w.instant(shown, zone), into=into)


WRITERS: dict[str, Callable[[Writer, Call, list[Operand], int | None], Operand]] = {
    "add_months": _add_months, "last_day": _last_day, "next_day": _next_day, "trunc": _trunc,
    "date_trunc": _date_trunc, "make_date": _make_date, "later": _later,
}  # fmt: skip
