"""Steps of the interpreter on whole numbers and on decimals of one word: scaling, rounding, comparing.

Rule: a step gives for lanes what `reference` gives for values; null where the result has no place in its type.
"""

from __future__ import annotations

import numpy as np

from ebbflow.columns.exact_sums import below, product, rounded_quotient
from ebbflow.columns.schema import NULL
from ebbflow.expressions.opcodes import (
    DECIMAL_COMPARE,
    DECIMAL_DIV,
    NO_POWER,
    SCALE_CLAMPED,
    SCALE_DOWN,
    SCALE_UP,
    TRUNCATE,
)
from ebbflow.native.kernel import inline

CLAMP = 1 << 62


@inline
def power_of_ten(n):
    """needs: 0 <= n <= 18.  leaves: 10 ** n."""
    p = np.int64(1)
    for _ in range(n):
        p *= 10
    return p


@inline
def halves_away(v, unit):
    """needs: unit > 0, even or 1.  leaves: v / unit, rounded to the nearest whole number, halves away from zero."""
    q = abs(v) // unit
    if abs(v) - q * unit >= unit - unit // 2 and unit > 1:
        q += 1
    return -q if v < 0 else q


@inline
def compare_scaled(a, b, unit):
    """needs: unit > 0; if it is NO_POWER, the power of ten that is meant has no place in a word.
    leaves: -1, 0 or 1, as a * unit is less than b, equals it, or is more.
    """
    if unit == NO_POWER and a != 0:
        return np.int64(1 if a > 0 else -1)
    low, high = product(a, unit)
    sign = b >> 63
    if high != sign:
        return np.int64(1 if high > sign else -1)
    return np.int64(0 if low == b else -1 if below(low, b) else 1)


@inline
def scaled_up(a, b, most):
    """a * b, null beyond +-most."""
    low, high = product(a, b)
    if high != (low >> 63) or low < -most or low > most:
        return np.int64(NULL)
    return low


@inline
def scaled_down(a, b, most):
    """a / b, null beyond +-most."""
    v = halves_away(a, b)
    return np.int64(NULL) if v < -most or v > most else v


@inline
def scaled_clamped(a, b):
    """a * b, or what is so far beyond a decimal that a sum with one is beyond it too."""
    low, high = product(a, b)
    if high != (low >> 63) or low > CLAMP or low < -CLAMP:
        return np.int64(CLAMP if a > 0 else -CLAMP)
    return low


@inline
def exact_step(op, a, b, c):
    """needs: a step on whole numbers and decimals; a and b: words, not NULL.  leaves: the lane."""
    if op == SCALE_UP:
        return scaled_up(a, b, c)
    if op == SCALE_DOWN:
        return scaled_down(a, b, c)
    if op == SCALE_CLAMPED:
        return scaled_clamped(a, b)
    if op == DECIMAL_COMPARE:  # a * c with b, or a with b * -c
        return compare_scaled(a, b, c) if c > 0 else -compare_scaled(b, a, -c)
    if op == DECIMAL_DIV:  # a / b with c digits more, or more than LARGEST_DECIMAL
        return np.int64(NULL) if b == 0 else rounded_quotient(a, a >> 63, b, c)
    if op == TRUNCATE:
        return -(-a // b) if a < 0 else a // b
    return -(-a // b)  # CEILDIV
