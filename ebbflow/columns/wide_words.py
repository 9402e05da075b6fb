"""Wide words: decimals of 19 to 38 digits as two words each.

A wide decimal is a whole number of units of its last digit, v = high * (2**64 - 1) + low with 0 <= low < 2**64 - 1. The
first word is high; the second is low, moved so that words without sign become words with one. So pairs of words, the
first before the second, order as the numbers do, and neither word is ever the one that stands for null: a null is NULL
twice. Kernels compute in two's complement of 128 bits, (high, low) each, between `from_words` and `to_words`.

Rule: a number of at most 38 digits has one pair of words, and a pair of words that is not null one number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ebbflow.columns.exact_sums import below, product
from ebbflow.columns.ranges import TWO_TO_64
from ebbflow.columns.schema import NULL, PRECISION
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H

LARGEST_WIDE = 10**PRECISION - 1
# As words of 128 bits; the lower one has no sign set.
MOST_HIGH, MOST_LOW = LARGEST_WIDE >> 64, LARGEST_WIDE & (TWO_TO_64 - 1)

Words = np.ndarray[Any, np.dtype[np.int64]]


# ---- whole columns, in Python


def pairs(low: Words, high: Words) -> Words:
    """int64[2, n] of words, of numbers of 128 bits in two's complement: as Arrow holds them."""
    found = np.empty((2, len(low)), np.int64)
    total = low + high  # of a low word without sign and a high one with sign: beyond 64 bits by c * 2**64
    less = (total ^ NULL) < (low ^ NULL)
    c = np.where(high >= 0, less.astype(np.int64), -((total ^ NULL) > (low ^ NULL)).astype(np.int64))
    found[0] = high + c
    rest = total + c
    last = rest == -1  # 2**64 - 1, which is one more of the first word
    found[0] += last
    found[1] = np.where(last, 0, rest) + (NULL + 1)
    return found


def halves(words: Words) -> tuple[Words, Words]:
    """(low, high) of 128 bits in two's complement, of int64[2, n] of words; of a null, anything."""
    first, rest = words[0], words[1] - NULL - 1
    low = rest - first
    # rest without sign, less the first: beyond 64 bits by a borrow or a carry
    borrow = ((first > 0) & ((rest ^ NULL) < (first ^ NULL))).astype(np.int64)
    carry = ((first < 0) & ((low ^ NULL) < (rest ^ NULL))).astype(np.int64)
    return low, first - borrow + carry


# ---- one number, in kernels


@inline
def to_words(high, low):
    """needs: a number of at most 38 digits, in 128 bits.  leaves: its two words."""
    total = low + high
    c = low * 0
    if high >= 0:
        c += 1 if below(total, low) else 0
    else:
        c -= 1 if below(low, total) else 0
    first = high + c
    rest = total + c
    if rest == -1:
        first += 1
        rest = rest + 1
    return first, rest + (NULL + 1)


@inline
def from_words(first, second):
    """needs: two words that are not null.  leaves: the number, (high, low) of 128 bits."""
    rest = second - NULL - 1
    low = rest - first
    high = first
    if first > 0:
        high -= 1 if below(rest, first) else 0
    elif first < 0:
        high += 1 if below(low, rest) else 0
    return high, low


@inline
def negative(high, low):
    """The number less than zero by as much as it is more, in 128 bits."""
    low = -low
    return ~high + (1 if low == 0 else 0), low


@inline
def is_below(high, low, high2, low2):
    """Whether one number of 128 bits without sign is less than another."""
    return below(high, high2) or (high == high2 and below(low, low2))


@inline
def fits(high, low):
    """Whether a number without sign has at most 38 digits."""
    return not is_below(MOST_HIGH, MOST_LOW, high, low)


@inline
def unsigned_product(a, b):
    """needs: two words without sign.  leaves: their product, (high, low)."""
    low, high = product(a, b)
    if a < 0:
        high += b
    if b < 0:
        high += a
    return high, low


@inline
def ten_to(n):
    """needs: 0 <= n <= 38.  leaves: 10**n in 128 bits."""
    some = min(n, 19)
    p = np.int64(1)
    for _ in range(some):
        p *= 10
    q = np.int64(1)
    for _ in range(n - some):
        q *= 10
    return unsigned_product(p, q)


@inline
def add_carry(a, b):
    """needs: two words without sign.  leaves: their sum, and what it has beyond a word."""
    s = a + b
    return s, 1 if below(s, a) else 0


@inline
def wide_product(high, low, high2, low2):
    """needs: two numbers of 128 bits without sign.  leaves: their product, four words, the highest first."""
    h00, l00 = unsigned_product(low, low2)
    h01, l01 = unsigned_product(low, high2)
    h10, l10 = unsigned_product(high, low2)
    h11, l11 = unsigned_product(high, high2)
    s1, c1 = add_carry(h00, l01)
    s1, c2 = add_carry(s1, l10)
    s2, c3 = add_carry(h01, h10)
    s2, c4 = add_carry(s2, l11)
    s2, c5 = add_carry(s2, low * 0 + c1 + c2)
    return h11 + c3 + c4 + c5, s2, s1, l00


TRUNCATED, HALF_UP, ROUNDED_UP, REST = 0, 1, 2, 3
"""What becomes of the rest of a division: nothing, a half or more counts one, any counts one, or it is the answer."""


@inline
def quotient_of(n3, n2, n1, n0, d1, d0, how):
    """A number of 256 bits over one of 128, both without sign.

    needs:  the divisor is not zero, and has at most 127 bits.
    leaves: whether the quotient has at most 127; then it, or the rest, as (high, low).
    """
    q1 = n0 * 0
    q0 = n0 * 0
    r1 = n0 * 0
    r0 = n0 * 0
    inside = True
    if n3 == 0 and n2 == 0 and n1 == 0 and d1 == 0 and n0 >= 0 and d0 > 0:
        q0 = n0 // d0
        r0 = n0 - q0 * d0
    else:
        word = 3 if n3 != 0 else 2 if n2 != 0 else 1 if n1 != 0 else 0
        while word >= 0 and inside:
            n = n3 if word == 3 else n2 if word == 2 else n1 if word == 1 else n0
            for k in range(63, -1, -1):
                if q1 >> 62 != 0:
                    if how != REST:
                        inside = False
                        break
                    q1 = q1 & ((1 << 62) - 1)
                r1 = (r1 << 1) | ((r0 >> 63) & 1)
                r0 = (r0 << 1) | ((n >> k) & 1)
                q1 = (q1 << 1) | ((q0 >> 63) & 1)
                q0 = q0 << 1
                if not is_below(r1, r0, d1, d0):
                    borrow = 1 if below(r0, d0) else 0
                    r0 = r0 - d0
                    r1 = r1 - d1 - borrow
                    q0 = q0 | 1
            word -= 1
    if how == REST:
        return inside, r1, r0
    if how == ROUNDED_UP:
        more = (r1 | r0) != 0
    else:
        more = how == HALF_UP and not is_below((r1 << 1) | ((r0 >> 63) & 1), r0 << 1, d1, d0)
    if more:
        q0 = q0 + 1
        if q0 == 0:
            q1 = q1 + 1
    return inside, q1, q0


@kernel
def divide(n3, n2, n1, n0, d1, d0, how, at_high, at_low):  # wide: four words by two, and where two go
    """The same; leaves the result at two addresses, and whether there is one."""
    inside, high, low = quotient_of(n3, n2, n1, n0, d1, d0, how)
    H[at_high] = high
    H[at_low] = low
    return inside
