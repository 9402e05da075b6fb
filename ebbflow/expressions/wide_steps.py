"""Steps of the interpreter for decimals of more than 18 digits, whose values are two words each.

Numbers are computed without their signs, in 128 bits; products and dividends in 256, so that a result is rounded once.
A result of more than 38 digits refuses the row; a cast gives null for it.

Rule: a step gives for words what `operations.evaluate` gives for values.
"""

from __future__ import annotations

import numpy as np

from ebbflow.columns.exact_sums import below, product, quotient
from ebbflow.columns.schema import NULL
from ebbflow.columns.wide_words import (
    HALF_UP,
    REST,
    ROUNDED_UP,
    TRUNCATED,
    add_carry,
    divide,
    fits,
    from_words,
    is_below,
    negative,
    ten_to,
    to_words,
    unsigned_product,
    wide_product,
)
from ebbflow.expressions.opcodes import (
    FIRST_TO_ONE,
    WIDE_ABS,
    WIDE_CEIL,
    WIDE_COMPARE,
    WIDE_DIV,
    WIDE_FLOOR,
    WIDE_LARGER,
    WIDE_MUL,
    WIDE_NARROW,
    WIDE_NEG,
    WIDE_PRODUCT,
    WIDE_REMAINDER,
    WIDE_ROUND,
    WIDE_SCALE,
    WIDE_SMALLER,
    WIDE_SUB,
    WIDE_TO_DOUBLE,
    WIDE_TO_LONG,
    WIDE_TRUNCATE,
    WIDEN,
)
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H

ROW_REFUSED = -1


@inline
def store(high, low, minus, at_high, at_low):
    """needs: a number without sign, of at most 38 digits.  leaves: its two words, with a sign."""
    if minus:
        high, low = negative(high, low)
    first, second = to_words(high, low)
    H[at_high] = first
    H[at_low] = second
    return 0


@inline
def times(high, low, n):
    """needs: a number without sign; 0 <= n <= 38.  leaves: it times 10**n, four words, the highest first."""
    t1, t0 = ten_to(n)
    return wide_product(high, low, t1, t0)


@kernel
def add_signed(h, l, minus, h2, l2, minus2, at_high, at_low):
    """The sum of two numbers of 128 bits, each with its sign beside it."""
    if minus == minus2:
        s0, c0 = add_carry(l, l2)
        s1, c1 = add_carry(h, h2)
        s1, c2 = add_carry(s1, l * 0 + c0)
        if c1 + c2 > 0 or not fits(s1, s0):
            return ROW_REFUSED
        return store(s1, s0, minus, at_high, at_low)
    if is_below(h, l, h2, l2):
        h, h2 = h2, h
        l, l2 = l2, l
        minus = minus2
    borrow = 1 if below(l, l2) else 0
    s0 = l - l2
    s1 = h - h2 - borrow
    if not fits(s1, s0):
        return ROW_REFUSED
    return store(s1, s0, minus, at_high, at_low)


@kernel
def divided(h, l, h2, l2, minus, more, at_high, at_low):
    """A quotient with so many digits more, halves away from zero.  needs: the divisor is not zero."""
    some = min(more, 38)
    n3, n2, n1, n0 = times(h, l, some)
    for _ in range(more - some):
        c0, n0 = unsigned_product(n0, np.int64(10))
        h1, l1 = unsigned_product(n1, np.int64(10))
        n1, c = add_carry(l1, c0)
        h1 = h1 + c
        h2_, l2_ = unsigned_product(n2, np.int64(10))
        n2, c = add_carry(l2_, h1)
        h2_ = h2_ + c
        h3, l3 = unsigned_product(n3, np.int64(10))
        n3, c = add_carry(l3, h2_)
        if h3 + c != 0:
            return ROW_REFUSED
    if not divide(n3, n2, n1, n0, h2, l2, HALF_UP, at_high, at_low) or not fits(H[at_high], H[at_low]):
        return ROW_REFUSED
    return store(H[at_high], H[at_low], minus, at_high, at_low)


@kernel
def multiplied(h, l, h2, l2, minus, less, at_high, at_low):
    """A product with so many digits less, halves away from zero."""
    n3, n2, n1, n0 = wide_product(h, l, h2, l2)
    if less > 0:
        t1, t0 = ten_to(less)
        if not divide(n3, n2, n1, n0, t1, t0, HALF_UP, at_high, at_low):
            return ROW_REFUSED
        n1 = H[at_high]
        n0 = H[at_low]
    elif n3 != 0 or n2 != 0:
        return ROW_REFUSED
    if not fits(n1, n0):
        return ROW_REFUSED
    return store(n1, n0, minus, at_high, at_low)


@kernel
def compared(h, l, minus, h2, l2, minus2, c):
    """-1, 0 or 1 for two numbers with signs, the first times 10**c, or the second times 10**-c."""
    zero = (h | l) == 0
    zero2 = (h2 | l2) == 0
    sign = 0 if zero else -1 if minus else 1
    sign2 = 0 if zero2 else -1 if minus2 else 1
    if sign != sign2:
        return 1 if sign > sign2 else -1
    n3, n2, n1, n0 = times(h, l, max(c, 0))
    m3, m2, m1, m0 = times(h2, l2, max(-c, 0))
    if n3 == m3 and n2 == m2 and n1 == m1 and n0 == m0:
        return 0
    less = is_below(n1, n0, m1, m0)
    if n3 != m3 or n2 != m2:
        less = is_below(n3, n2, m3, m2)
    return -sign if less else sign


@kernel
def rounded(h, l, minus, down, up, at_high, at_low):
    """To whole multiples of 10**down, halves away from zero, counted in units of 10**up."""
    if down > 38:  # more than half of it is no number of 38 digits
        return store(h * 0, h * 0, False, at_high, at_low)
    t1, t0 = ten_to(down)
    divide(h * 0, h * 0, h, l, t1, t0, HALF_UP, at_high, at_low)
    if up > 38 and (H[at_high] | H[at_low]) != 0:
        return ROW_REFUSED
    n3, n2, n1, n0 = times(H[at_high], H[at_low], min(up, 38))
    if n3 != 0 or n2 != 0 or not fits(n1, n0):
        return ROW_REFUSED
    return store(n1, n0, minus, at_high, at_low)


@kernel
def wide_step(op, a, a2, b, b2, c, at_high, at_low):  # long: one case for each step
    """One step of this module.

    needs:  operands of the step; those that are one word have anything for their second.
    leaves: the result's words at two addresses (of one word, at the first), and 0; or ROW_REFUSED.
    """
    one = op >= FIRST_TO_ONE
    if op == WIDE_LARGER or op == WIDE_SMALLER:
        less = a < b or (a == b and a2 < b2)
        first = a != NULL and (b == NULL or less) if op == WIDE_SMALLER else not less
        H[at_high] = a if first else b
        H[at_low] = a2 if first else b2
        return 0
    if a == NULL or b == NULL:
        H[at_high] = NULL
        if not one:
            H[at_low] = NULL
        return 0
    if op == WIDEN:
        first, second = to_words(a >> 63, a)
        H[at_high] = first
        H[at_low] = second
        return 0
    if op == WIDE_PRODUCT:
        low, high = product(a, b)
        first, second = to_words(high, low)
        H[at_high] = first
        H[at_low] = second
        return 0
    h, l = from_words(a, a2)
    minus = h < 0
    if minus:
        h, l = negative(h, l)
    if op == WIDE_NEG:
        return store(h, l, not minus, at_high, at_low)
    if op == WIDE_ABS:
        return store(h, l, False, at_high, at_low)
    if op == WIDE_NARROW:
        room = np.int64(1)
        for _ in range(c):
            room *= 10
        H[at_high] = NULL if h != 0 or l < 0 or l >= room else -l if minus else l
        return 0
    if op == WIDE_SCALE:
        if b > 0:
            n3, n2, n1, n0 = times(h, l, b)
            t1, t0 = ten_to(c)
            if n3 != 0 or n2 != 0 or not is_below(n1, n0, t1, t0):
                H[at_high] = NULL
                H[at_low] = NULL
                return 0
            return store(n1, n0, minus, at_high, at_low)
        t1, t0 = ten_to(-b)
        divide(h * 0, h * 0, h, l, t1, t0, HALF_UP, at_high, at_low)
        h = H[at_high]
        l = H[at_low]
        t1, t0 = ten_to(c)
        if not is_below(h, l, t1, t0):
            H[at_high] = NULL
            H[at_low] = NULL
            return 0
        return store(h, l, minus, at_high, at_low)
    if op == WIDE_ROUND:
        return rounded(h, l, minus, b, c, at_high, at_low)
    if op == WIDE_FLOOR or op == WIDE_CEIL or op == WIDE_TRUNCATE:
        t1, t0 = ten_to(c)
        how = ROUNDED_UP if op != WIDE_TRUNCATE and minus == (op == WIDE_FLOOR) else TRUNCATED
        divide(h * 0, h * 0, h, l, t1, t0, how, at_high, at_low)
        return store(H[at_high], H[at_low], minus, at_high, at_low)
    if op == WIDE_TO_LONG:
        room = c - 1 if c > 0 else np.int64(9223372036854775807)
        if h != 0 or l < 0 or (l > room and not (minus and c > 0 and l == c)):
            H[at_high] = NULL
        else:
            H[at_high] = -l if minus else l
        return 0
    if op == WIDE_TO_DOUBLE:
        t1, t0 = ten_to(c)
        if minus:
            h, l = negative(h, l)
        H[at_high] = quotient(l, h, t0)
        return 0
    h2, l2 = from_words(b, b2)
    minus2 = h2 < 0
    if minus2:
        h2, l2 = negative(h2, l2)
    if op == WIDE_COMPARE:
        H[at_high] = compared(h, l, minus, h2, l2, minus2, c)
        return 0
    if op == WIDE_MUL:
        return multiplied(h, l, h2, l2, minus != minus2, c, at_high, at_low)
    if op == WIDE_DIV:
        if (h2 | l2) == 0:
            H[at_high] = NULL
            H[at_low] = NULL
            return 0
        return divided(h, l, h2, l2, minus != minus2, c, at_high, at_low)
    if c > 0:
        n3, n2, h, l = times(h, l, c)
    else:
        n3, n2, h2, l2 = times(h2, l2, -c)
    if op == WIDE_REMAINDER:
        if (h2 | l2) == 0:
            H[at_high] = NULL
            H[at_low] = NULL
            return 0
        if c <= 0:
            if n3 != 0 or n2 != 0 or h2 < 0:  # the divisor is larger than any number
                return store(h, l, minus, at_high, at_low)
            n3 = h * 0
            n2 = h * 0
        divide(n3, n2, h, l, h2, l2, REST, at_high, at_low)
        return store(H[at_high], H[at_low], minus, at_high, at_low)
    if n3 != 0 or n2 != 0:
        return ROW_REFUSED
    if op == WIDE_SUB:
        minus2 = not minus2
    return add_signed(h, l, minus, h2, l2, minus2, at_high, at_low)
