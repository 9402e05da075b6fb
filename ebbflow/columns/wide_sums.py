"""Wide sums: totals of decimals that may have more than 18 digits, exactly, as words.

The total of decimals of two words is a number of 192 bits: 127 for any of them, 62 for how often they come. The total
of decimals of one word is that of `exact_sums`, of 128 bits. Either is read as a decimal of up to 38 digits, one of its
two words at a time, since a lane holds one; so is the mean of so many values.

Rule: equal totals have equal words, zero is all zero words, and what has more digits than its type is read as NULL.
"""

from __future__ import annotations

import numpy as np

from ebbflow.columns.exact_sums import add_word
from ebbflow.columns.schema import NULL
from ebbflow.columns.wide_words import (
    HALF_UP,
    add_carry,
    from_words,
    is_below,
    negative,
    quotient_of,
    ten_to,
    to_words,
    unsigned_product,
)
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H

WIDE_WORDS = 3
"""Low word, middle word, high word; together a two's complement number of 192 bits."""


@kernel
def wide_add(acc, first, second, diff):
    """needs: a total at acc; the two words of a value that is not null.  leaves: the value added diff times."""
    high, low = from_words(np.int64(first), np.int64(second))
    minus = (high < 0) != (diff < 0)
    if high < 0:
        high, low = negative(high, low)
    times = -np.int64(diff) if diff < 0 else np.int64(diff)
    w1, w0 = unsigned_product(low, times)
    w2, l1 = unsigned_product(high, times)
    w1, c = add_carry(w1, l1)
    w2 = w2 + c
    if minus:
        w0 = -w0
        w1 = ~w1 + (1 if w0 == 0 else 0)
        w2 = ~w2 + (1 if w0 == 0 and w1 == 0 else 0)
    carry = add_word(acc, w0, 0)
    carry = add_word(acc + 1, w1, carry)
    H[acc + 2] += w2 + carry
    return 0


@kernel
def wide_merge(acc, other):
    """needs: two totals.  leaves: their sum at acc."""
    carry = add_word(acc, H[other], 0)
    carry = add_word(acc + 1, H[other + 1], carry)
    H[acc + 2] += H[other + 2] + carry
    return 0


@inline
def word_of(inside, high, low, minus, most, second):
    """needs: a number without sign.  leaves: one of its two words with the sign; NULL beyond `most` digits."""
    found = high * 0 + NULL
    t1, t0 = ten_to(most)
    if inside and is_below(high, low, t1, t0):
        if minus:
            high, low = negative(high, low)
        one, two = to_words(high, low)
        found = two if second else one
    return found


@kernel
def total_word(w2, w1, w0, most, second):
    """A total of 192 bits as one of its two words; NULL if it has more than so many digits."""
    minus = w2 < 0
    if minus:
        w0 = -w0
        w1 = ~w1 + (1 if w0 == 0 else 0)
        w2 = ~w2 + (1 if w0 == 0 and w1 == 0 else 0)
    return word_of(w2 == 0, w1, w0, minus, most, second)


@kernel
def mean_word(w2, w1, w0, count, digits, most, second):
    """A total of 192 bits over a count, with so many digits more, halves away from zero, as one of its two words.

    needs:  count is neither 0 nor -2**63; 0 <= digits <= 4.
    leaves: the word; NULL if the mean has more than `most` digits.
    """
    minus = (w2 < 0) != (count < 0)
    if w2 < 0:
        w0 = -w0
        w1 = ~w1 + (1 if w0 == 0 else 0)
        w2 = ~w2 + (1 if w0 == 0 and w1 == 0 else 0)
    unit = np.int64(1)
    for _ in range(digits):
        unit *= 10
    n1, n0 = unsigned_product(w0, unit)
    n2, l1 = unsigned_product(w1, unit)
    n1, c = add_carry(n1, l1)
    n2 = n2 + c
    n3, l2 = unsigned_product(w2, unit)
    n2, c = add_carry(n2, l2)
    n3 = n3 + c
    inside, high, low = quotient_of(n3, n2, n1, n0, w0 * 0, -count if count < 0 else count, HALF_UP)
    return word_of(inside, high, low, minus, most, second)
