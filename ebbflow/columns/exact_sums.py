"""Exact sums: totals of integers and floats without rounding, as words.

A sum that is kept under insertions and retractions must return to zero when everything added is removed, in any order.
An integer total is one number of 128 bits. A float total is a fixed-point number wide enough for every double times
every diff, plus counts of the values that have no fixed-point form: nan and the infinities.

Rule: equal totals have equal words, and zero is all zero words, so memory filled with zeros is an empty sum.
"""

from __future__ import annotations

import numpy as np

from ebbflow.columns.float_words import NAN
from ebbflow.columns.schema import DIGITS, NULL
from ebbflow.limits import LARGEST_WORD
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H

INT_WORDS = 2
"""Low word, high word; together a two's complement number of 128 bits."""

SUM_DIGITS = 35
NANS, INFINITIES, MINUS_INFINITIES = SUM_DIGITS, SUM_DIGITS + 1, SUM_DIGITS + 2
FLOAT_WORDS = SUM_DIGITS + 3
"""35 * 64 bits in units of the least double, 2**-1074: 2098 for any double, 31 for its diff, 110 for how many come."""

LARGEST_DECIMAL = 10**DIGITS - 1
INFINITY = 0x7FF0_0000_0000_0000
MINUS_INFINITY = ~INFINITY
FRACTION = (1 << 52) - 1
LOW_HALF = 0xFFFF_FFFF


@inline
def below(a, b):
    """Whether word a is less than word b, both read without sign."""
    return (a ^ NULL) < (b ^ NULL)


@inline
def product(a, b):
    """needs: two words.  leaves: their exact product as (low word, high word)."""
    a0 = a & LOW_HALF
    b0 = b & LOW_HALF
    a1 = a >> 32
    b1 = b >> 32
    p00 = a0 * b0
    p01 = a0 * b1
    p10 = a1 * b0
    middle = ((p00 >> 32) & LOW_HALF) + (p01 & LOW_HALF) + (p10 & LOW_HALF)
    low = (p00 & LOW_HALF) | (middle << 32)
    return low, a1 * b1 + (p01 >> 32) + (p10 >> 32) + (middle >> 32)


@inline
def add_word(p, word, carry):
    """needs: carry 0 or 1.  leaves: H[p] with both added; the carry out of it."""
    s = H[p] + word
    out = 1 if below(s, word) else 0
    t = s + carry
    if carry == 1 and t == 0:
        out = 1
    H[p] = t
    return out


# ---- integers


@kernel
def int_add(acc, value, diff):
    """needs: a total at acc; value is not NULL.  leaves: value added diff times."""
    low, high = product(np.int64(value), np.int64(diff))
    carry = add_word(acc, low, 0)
    H[acc + 1] += high + carry
    return 0


@kernel
def int_merge(acc, other):
    """needs: two totals.  leaves: their sum at acc."""
    carry = add_word(acc, H[other], 0)
    H[acc + 1] += H[other + 1] + carry
    return 0


@inline
def int_fits(acc):
    """Whether the total is a value of a lane: 64 bits, and not the word kept for null."""
    return H[acc + 1] == (H[acc] >> 63) and H[acc] != NULL


@inline
def int_read(acc):
    """needs: int_fits.  leaves: the total as a lane."""
    return H[acc]


@inline
def nearest_double(quotient, exponent, sticky, negative):
    """needs: a quotient of at least 53 bits, or an exact one, that counts 2**exponent; sticky: whether a rest is left.
    leaves: the lane of the double nearest to it, ties to even.
    """
    top = quotient * 0
    while (quotient >> top) > 1:
        top += 1
    # value = quotient * 2**exponent, and 53 bits of it stay; quotients here are never subnormal
    drop = top - 52
    mantissa = quotient
    if drop > 0:
        mantissa = quotient >> drop
        dropped = quotient & ((1 << drop) - 1)
        half = quotient * 0 + (1 << (drop - 1))
        if dropped > half or (dropped == half and (sticky or mantissa & 1 == 1)):
            mantissa += 1
    else:
        mantissa = quotient << -drop
    bits = ((exponent + drop + 52 + 1023) << 52) + (mantissa - (1 << 52))
    return ~bits if negative else bits


@kernel
def quotient(low, high, divisor):
    """The double nearest to a number of 128 bits / divisor, ties to even, as a lane.

    needs:  divisor is neither 0 nor -2**63.
    leaves: a lane of a double.
    """
    d = np.int64(divisor)
    negative = (high < 0) != (d < 0)
    if high < 0:
        low = -low
        high = ~high + (1 if low == 0 else 0)
    if d < 0:
        d = -d
    if low == 0 and high == 0:
        return np.int64(0)
    if high == 0 and 0 <= low < (1 << 53) and d < (1 << 53):  # both are doubles: one division rounds once
        bits = np.float64(np.float64(low) / np.float64(d)).view(np.int64)
        return ~bits if negative else bits
    # Long division, bit by bit: 55 leading bits of the quotient, and whether anything remains.
    bit = 127
    while bit >= 64 and (high >> (bit - 64)) & 1 == 0:
        bit -= 1
    if bit == 63:
        while (low >> bit) & 1 == 0:
            bit -= 1
    rest = low * 0
    quotient = low * 0
    exponent = bit + 1  # the quotient's last bit is worth 2**exponent
    while quotient < (1 << 54) and (exponent > 0 or rest != 0):
        exponent -= 1
        next_bit = low * 0
        if exponent >= 64:
            next_bit = (high >> (exponent - 64)) & 1
        elif exponent >= 0:
            next_bit = (low >> exponent) & 1
        # rest < d < 2**63, so twice the rest may reach the sign: compare without sign
        rest = rest * 2 + next_bit
        quotient = quotient * 2
        if not below(rest, d):
            rest = rest - d
            quotient += 1
    sticky = rest != 0
    if exponent > 0:
        below_high = high & ((1 << max(exponent - 64, 0)) - 1) if exponent > 64 else low * 0
        below_low = low if exponent >= 64 else low & ((1 << exponent) - 1)
        sticky = sticky or below_high != 0 or below_low != 0
    return nearest_double(quotient, exponent, sticky, negative)


@kernel
def int_quotient(acc, divisor):
    """needs: a total; divisor is neither 0 nor -2**63.  leaves: the double nearest to total / divisor, as a lane."""
    return quotient(H[acc], H[acc + 1], divisor)


@inline
def int_fits_decimal(acc):
    """Whether the total is a decimal that a lane holds."""
    return H[acc + 1] == (H[acc] >> 63) and -LARGEST_DECIMAL <= H[acc] <= LARGEST_DECIMAL


@kernel
def rounded_quotient(low, high, divisor, digits):
    """A number of 128 bits / divisor with so many decimal digits more, halves away from zero.

    needs:  divisor is neither 0 nor -2**63; digits >= 0.
    leaves: the quotient in units of its last digit; where it has more than 18 digits, some number that has more.
    """
    d = np.int64(divisor)
    negative = (high < 0) != (d < 0)
    if high < 0:
        low = -low
        high = ~high + (1 if low == 0 else 0)
    if d < 0:
        d = -d
    found = low * 0
    rest = low * 0
    if high == 0 and low >= 0:
        found = low // d
        rest = low - found * d
    else:  # long division, bit by bit
        for i in range(127, -1, -1):
            bit = (high >> (i - 64)) & 1 if i >= 64 else (low >> i) & 1
            if found > LARGEST_DECIMAL:
                return found
            found = found * 2
            rest = rest * 2 + bit  # rest < d < 2**63: compare without sign
            if not below(rest, d):
                rest = rest - d
                found += 1
    for _ in range(digits):
        if found > LARGEST_DECIMAL // 10:
            return found * 0 + LARGEST_DECIMAL + 1
        digit = low * 0
        if d <= LARGEST_WORD // 10:
            digit = rest * 10 // d
            rest = rest * 10 - digit * d
        else:  # ten times the rest has no place in a word
            more = rest
            rest = low * 0
            for _ in range(10):
                rest = rest + more
                if not below(rest, d):
                    rest = rest - d
                    digit += 1
        found = found * 10 + digit
    if not below(rest * 2, d):
        found += 1
    return -found if negative else found


# ---- floats


@kernel
def float_add(acc, lane, diff):
    """needs: a total at acc; lane is a float's and not NULL.  leaves: that float added diff times."""
    lane = np.int64(lane)
    diff = np.int64(diff)
    bits = lane if lane >= 0 else ~lane
    exponent = bits >> 52
    mantissa = bits & FRACTION
    if exponent == 0x7FF:
        if mantissa != 0:
            H[acc + NANS] += diff
        elif lane >= 0:
            H[acc + INFINITIES] += diff
        else:
            H[acc + MINUS_INFINITIES] += diff
        return 0
    if exponent > 0:
        mantissa += FRACTION + 1
        exponent -= 1
    if lane < 0:
        mantissa = -mantissa
    low, high = product(mantissa, diff)
    if low == 0 and high == 0:
        return 0
    sign = high >> 63
    shift = exponent & 63
    p = acc + (exponent >> 6)
    if shift == 0:
        carry = add_word(p, low, 0)
        carry = add_word(p + 1, high, carry)
        p += 2
    else:
        back = 64 - shift
        mask = (1 << shift) - 1
        carry = add_word(p, low << shift, 0)
        carry = add_word(p + 1, (high << shift) | ((low >> back) & mask), carry)
        carry = add_word(p + 2, high >> back, carry)
        p += 3
    while p < acc + SUM_DIGITS and sign + carry != 0:
        carry = add_word(p, sign, carry)
        p += 1
    return 0


@kernel
def float_merge(acc, other):
    """needs: two totals.  leaves: their sum at acc."""
    carry = 0
    for i in range(SUM_DIGITS):
        carry = add_word(acc + i, H[other + i], carry)
    for i in range(SUM_DIGITS, FLOAT_WORDS):
        H[acc + i] += H[other + i]
    return 0


@inline
def magnitude(acc, i, lowest, negative):
    """Word i of the total without its sign; `lowest` is the first word that is not zero."""
    w = H[acc + i]
    if not negative or i < lowest:
        return w
    return -w if i == lowest else ~w


@kernel
def float_read(acc):
    """The double nearest to the total, ties to even, as a lane; beyond the largest double it is infinite.

    needs:  a total.
    leaves: a lane of a double; nothing changed.
    """
    up = H[acc + INFINITIES] > 0 or H[acc + MINUS_INFINITIES] < 0
    down = H[acc + INFINITIES] < 0 or H[acc + MINUS_INFINITIES] > 0
    if H[acc + NANS] != 0 or (up and down):
        return np.int64(NAN)
    if up:
        return np.int64(INFINITY)
    if down:
        return np.int64(MINUS_INFINITY)
    lowest = 0
    while lowest < SUM_DIGITS and H[acc + lowest] == 0:
        lowest += 1
    if lowest == SUM_DIGITS:
        return np.int64(0)
    negative = H[acc + SUM_DIGITS - 1] < 0
    i = SUM_DIGITS - 1
    while magnitude(acc, i, lowest, negative) == 0:
        i -= 1
    w = magnitude(acc, i, lowest, negative)
    top = 63
    while (w >> top) & 1 == 0:
        top -= 1
    if i == 0 and top <= 52:  # a double's bits are its count of least doubles, as far as the first binade
        return ~w if negative else w
    shift = i * 64 + top - 52  # bits that go
    if shift >= 2046:
        return np.int64(MINUS_INFINITY if negative else INFINITY)
    j = shift >> 6
    s = shift & 63
    mantissa = (magnitude(acc, j, lowest, negative) >> s) & ((1 << (64 - s)) - 1 if s > 0 else -1)
    if j < i:
        mantissa |= magnitude(acc, j + 1, lowest, negative) << (64 - s)
    mantissa &= (FRACTION << 1) | 1
    half_at = shift - 1
    half = (magnitude(acc, half_at >> 6, lowest, negative) >> (half_at & 63)) & 1
    if half == 1:
        rest = lowest < (half_at >> 6)
        if not rest:
            rest = magnitude(acc, half_at >> 6, lowest, negative) & ((1 << (half_at & 63)) - 1) != 0
        if rest or mantissa & 1 == 1:
            mantissa += 1
    bits = ((shift + 1) << 52) + (mantissa - (FRACTION + 1))
    return ~bits if negative else bits


@inline
def lower_half(a):
    """The lower half of a word, as a number."""
    return (a << 32) >> 32
