"""Limits of diffs: how large a count may be, and whether a sum is still a word.

Rule: it is asked before it is computed, as compiled sums are taken to fit.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline

LAST = (1 << 62) + ((1 << 62) - 1)
WIDE_DIFF = (1 << 31) - 1  # more entries of at most such diffs than memory holds would be needed to leave 62 bits
MANY_ENTRIES = 1 << 18  # so many of the widest diffs sum up to 61 bits; fewer need not be looked at


@inline
def sum_fits(a: int, b: int) -> bool:
    """Whether a + b is a word: asked before it is computed, as compiled sums are taken to fit."""
    return a <= LAST - b if b >= 0 else a >= -LAST - b


@inline
def size_bits(word: int) -> int:
    """The bits of a number's magnitude, whatever its sign: they can be gathered by |."""
    return word ^ (word >> 63)


@inline
def is_large(bits: int) -> bool:
    """Whether a number of these bits, or one of several, is beyond what is counted: 62 bits."""
    return bits >> 62 != 0
