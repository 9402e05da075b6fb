"""Steps of the interpreter on floats: rounding, casts, roots, logarithms, powers and remainders.

Rule: a step gives for lanes what `reference` gives for values.
"""

from __future__ import annotations

import math

import numpy as np

from ebbflow.columns.exact_sums import product, quotient
from ebbflow.columns.float_kernels import from_float, to_float
from ebbflow.columns.float_words import NAN
from ebbflow.columns.schema import NULL
from ebbflow.expressions.exact_steps import halves_away, power_of_ten
from ebbflow.expressions.opcodes import (
    COS,
    EXP,
    FLOAT_CEIL,
    FLOAT_FLOOR,
    FLOAT_REMAINDER,
    FLOAT_ROUND,
    FLOAT_TO_INT,
    FLOAT_TO_SINGLE,
    LOG2,
    LOG10,
    LOG_E,
    POW,
    SIGN,
    SIN,
    SQRT,
    TAN,
)
from ebbflow.limits import LARGEST_WORD
from ebbflow.native.kernel import inline, kernel


@kernel
def round_decimal(x, digits):
    """A double rounded to so many digits after the point, as the shortest decimal that reads as it would be.

    needs:  0 <= x < 2**52; 0 <= digits <= MOST_DIGITS.
    leaves: the lane of the double nearest to the rounded decimal; halves went up.
    """
    unit = power_of_ten(digits)
    scaled = x * np.float64(unit)
    if scaled < 1e14:
        # A decimal of at most 15 digits is the shortest that reads as its double.  So the decimal of x is past the
        # middle between r and r + 1 units just when x is not below the double of that middle.
        r = max(np.int64(scaled) - 1, 0)
        while x >= np.float64(2 * r + 1) / np.float64(2 * unit):
            r += 1
        return from_float(np.float64(r) / np.float64(unit))
    lane = from_float(x)
    if scaled > 2e17:  # 17 digits say every double, and all of them stay
        return lane
    # x is mantissa / 2**shift; try decimals with one more digit each until one reads as x
    shift = 1075 - (lane >> 52)
    mantissa = (lane & ((1 << 52) - 1)) | (1 << 52)
    for more in range(3):
        low, high = product(mantissa, unit * power_of_ten(more))
        near = (high << (64 - shift)) | ((low >> shift) & ((1 << (64 - shift)) - 1))
        rest = low & ((1 << shift) - 1)
        half = np.int64(1) << (shift - 1)
        if rest > half or (rest == half and near & 1 == 1):
            near += 1
        if quotient(near, near * 0, unit * power_of_ten(more)) == lane:
            if more == 0:
                return lane
            r = halves_away(near, power_of_ten(more))
            return quotient(r, r * 0, unit)
    return lane


@inline
def whole_step(op, x, b):
    """needs: FLOAT_FLOOR, FLOAT_CEIL or FLOAT_TO_INT.  leaves: a whole number, null beyond -b ... b - 1."""
    t = np.floor(x) if op == FLOAT_FLOOR else np.ceil(x) if op == FLOAT_CEIL else np.trunc(x)
    room = np.float64(b) if b > 0 else 2.0**63
    if op == FLOAT_TO_INT and t == 2.0**63 and b == 0:
        return np.int64(LARGEST_WORD)
    return np.int64(t) if t < room and t >= -room else np.int64(NULL)


@inline
def logarithm(op, x):
    """needs: LOG_E, LOG2 or LOG10.  leaves: the lane of the logarithm, or NULL where there is none."""
    if x <= 0:
        return np.int64(NULL)
    return from_float(math.log(x) if op == LOG_E else math.log2(x) if op == LOG2 else math.log10(x))


@inline
def trigonometric(op, x):
    """needs: SIN, COS or TAN.  leaves: the lane."""
    if math.isinf(x):
        return np.int64(NAN)
    return from_float(math.sin(x) if op == SIN else math.cos(x) if op == COS else math.tan(x))


@inline
def divided_floats(op: int, x: float, y: float):
    """needs: FLOAT_REMAINDER or FLOAT_FLOORDIV.  leaves: the lane, in the steps of Python's own; NULL for y = 0."""
    if y == 0:
        return np.int64(NULL)
    if math.isinf(x):
        return np.int64(NAN)
    rest = np.fmod(x, y)
    if op == FLOAT_REMAINDER:
        return from_float(rest)
    q = (x - rest) / y
    if rest != 0 and (y < 0) != (rest < 0):
        q -= 1.0
    t = np.floor(q)
    return from_float(t + 1.0 if q - t > 0.5 else t)


@inline
def float_step(op, a, b):
    """needs: a step on floats; a: a lane of a float, not NULL; b: as the step takes it.  leaves: the lane."""
    x = to_float(a)
    if op == SQRT:
        return from_float(math.sqrt(x) if x >= 0 else math.nan)
    if op == EXP:
        return from_float(np.exp(x) if x != x else math.exp(x) if x < 710.0 else math.inf)
    if op == LOG_E or op == LOG2 or op == LOG10:
        return logarithm(op, x)
    if op == SIN or op == COS or op == TAN:
        return trigonometric(op, x)
    if op == SIGN:
        return from_float(x if x != x else np.float64((1 if x > 0 else 0) - (1 if x < 0 else 0)))
    if op == FLOAT_FLOOR or op == FLOAT_CEIL or op == FLOAT_TO_INT:
        return whole_step(op, x, b)
    if op == FLOAT_ROUND:
        if x != x or abs(x) >= 2.0**52:  # it has no digits after the point
            return a
        v = round_decimal(abs(x), b)
        return ~v if x < 0 and v != 0 else v
    if op == FLOAT_TO_SINGLE:
        return from_float(np.float64(np.float32(x)))
    y = to_float(b)
    if op == POW:
        if (x == 1 and y != y) or (abs(x) == 1 and math.isinf(y)):  # as Java's
            return np.int64(NAN)
        return from_float(np.power(x, y))
    return divided_floats(op, x, y)
