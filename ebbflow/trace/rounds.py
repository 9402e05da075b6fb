"""Rounds: those of all loops around a row in one word, the outermost loop in the high bits.

Rule: a guard bit stands above each field, so that all of them are compared by one subtraction.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline


@inline
def rounds_precede(a: int, b: int, guard: int) -> bool:
    """Every round of a is at or before its partner in b."""
    return (((b | guard) - a) & guard) == guard


@inline
def join_rounds(a: int, b: int, guard: int, bits: int) -> int:
    """The later round of each pair."""
    g = ((b | guard) - a) & guard
    m = g - (g >> bits)
    return (b & m) | (a & ~m)
