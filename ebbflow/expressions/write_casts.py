"""Casts between values of one word, written as steps.

Rule: a cast to or from text is not written (`NotInside`); a value that its new type cannot hold becomes null.
"""

from __future__ import annotations

from typing import Any

from ebbflow.columns.ranges import BOUNDS, FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT, MICROSECONDS_A_DAY
from ebbflow.columns.schema import NULL, Type
from ebbflow.columns.value_words import to_lane
from ebbflow.expressions import opcodes as o
from ebbflow.expressions.writer import NotInside, Operand, Writer, word
from ebbflow.limits import LARGEST_WORD


def write_cast(w: Writer, x: Operand, here: Type, target: Type, zone: tuple[Any, ...], into: int | None) -> Operand:
    if here.name == "void":
        return w.step(o.COPY, word(NULL), into=into)
    if target.name == "binary" or here == target:
        return w.step(o.COPY, x, into=into)
    if here.is_pooled or target.is_pooled or (target.name == "decimal" and (here.is_float or here.name == "timestamp")):
        raise NotInside
    if target.name == "boolean":
        return w.step(o.NE, x, word(0), into=into)  # the float 0.0 is the lane 0
    if target.is_integer:
        return cast_to_integer(w, x, here, target, into)
    if target.is_float:
        return cast_to_float(w, x, here, target, into)
    if target.name == "decimal":
        return cast_to_decimal(w, x, here, target, into)
    if target.name == "date":
        if not zone:
            return w.step(o.FLOORDIV, x, word(MICROSECONDS_A_DAY), into=into)
        days = w.step(o.FLOORDIV, w.clock(o.TO_LOCAL, x, zone), word(MICROSECONDS_A_DAY))
        return w.step(o.NULL_OUTSIDE, days, word(FIRST_DAY), word(LAST_DAY), into=into)
    if here.is_timestamp:
        if not zone:
            return w.step(o.COPY, x, into=into)
        x = w.clock(o.TO_LOCAL if here.name == "timestamp" else o.FROM_LOCAL, x, zone)
        return w.step(o.NULL_OUTSIDE, x, word(FIRST_MOMENT), word(LAST_MOMENT), into=into)
    return cast_to_timestamp(w, x, here, zone, into)


def cast_to_integer(w: Writer, x: Operand, here: Type, target: Type, into: int | None) -> Operand:
    room = BOUNDS[target.name]
    if here.is_float:
        return w.step(o.FLOAT_TO_INT, x, word(room if room < 2**63 else 0), into=into)
    if here.name == "decimal":
        x = w.step(o.TRUNCATE, x, word(10**here.scale))
    elif here.name == "timestamp":
        x = w.step(o.FLOORDIV, x, word(1_000_000))
    return w.step(o.NULL_OUTSIDE, x, word(max(-room, NULL + 1)), word(room - 1), into=into)


def cast_to_float(w: Writer, x: Operand, here: Type, target: Type, into: int | None) -> Operand:
    single = target.name == "float"
    if here.is_float:
        return w.step(o.FLOAT_TO_SINGLE if single else o.COPY, x, into=into)
    if here.name in ("decimal", "timestamp"):
        unit = 10**here.scale if here.name == "decimal" else 1_000_000
        found = w.step(o.RATIO, x, word(unit), into=None if single else into)
    else:
        found = w.step(o.INT_TO_FLOAT, x, into=None if single else into)
    return w.step(o.FLOAT_TO_SINGLE, found, into=into) if single else found


def cast_to_decimal(w: Writer, x: Operand, here: Type, target: Type, into: int | None) -> Operand:
    up, most = target.scale - here.scale, word(target.most)
    if up < 0:
        return w.step(o.SCALE_DOWN, x, word(10**-up), most, into=into)
    return w.step(o.SCALE_UP, x, word(10**up), most, into=into)


def cast_to_timestamp(w: Writer, x: Operand, here: Type, zone: tuple[Any, ...], into: int | None) -> Operand:
    bounds = word(FIRST_MOMENT), word(LAST_MOMENT)
    if here.name == "date":
        midnight = w.step(o.SCALE_UP, x, word(MICROSECONDS_A_DAY), word(LARGEST_WORD), into=None if zone else into)
        if not zone:
            return midnight
        return w.step(o.NULL_OUTSIDE, w.clock(o.DAY_START, midnight, zone), *bounds, into=into)
    if here.is_float:
        million = word(to_lane(1e6, here, w.pool))
        x = w.step(o.FLOAT_FLOOR, w.step(o.FLOAT_MUL, x, million), word(0))
    elif here.scale > 6:
        x = w.step(o.TRUNCATE, x, word(10 ** (here.scale - 6)))
    else:
        x = w.step(o.SCALE_UP, x, word(10 ** (6 - here.scale)), word(LARGEST_WORD))
    return w.step(o.NULL_OUTSIDE, x, *bounds, into=into)
