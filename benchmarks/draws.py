"""Numbers that leave no pattern, from which every benchmark's data is drawn.

A draw follows from its number and the seed alone.  With a skew, some nodes are drawn far more often than others: half
of the draws fall anywhere, a quarter among the first nodes >> skew, an eighth among the first nodes >> 2 skew, and so
on, so that the number of edges of a node follows a power law.

Rule: arithmetic is modulo 2**64, and peers/rust/src/lib.rs draws the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SEED = 42
WORD = 1 << 64

Words = NDArray[np.uint64]
Whole = NDArray[np.int64]

_GOLDEN, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def words(numbers: object) -> Words:
    return np.asarray(numbers).astype(np.uint64)


def splitmix64(x: Words) -> Words:
    """A bijection of words that leaves no pattern."""
    with np.errstate(over="ignore"):
        z = x + _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
        return z ^ (z >> np.uint64(31))


def mix2(a: Words, b: Words) -> Words:
    with np.errstate(over="ignore"):
        return splitmix64(splitmix64(a) + b)


def narrow(x: Words, below: int, skew: int) -> Whole:
    """Words as numbers less than `below`, the small ones more often the larger the skew; 0 draws all alike."""
    if not skew:
        return (x % np.uint64(below)).astype(np.int64)
    z = splitmix64(x)
    zeros = np.bitwise_count(~z & (z - np.uint64(1))).astype(np.int64)  # at the low end of the word
    shift = np.minimum(skew * zeros, 63).astype(np.uint64)
    return (x % np.maximum(np.uint64(below) >> shift, np.uint64(1))).astype(np.int64)


def draws(start: int, count: int, below: int, seed: int = SEED) -> tuple[Whole, Whole]:
    """Pairs number `start` and on, each half less than `below` (0: any word that fits an int64)."""
    numbers = np.arange(start, start + count, dtype=np.uint64) * np.uint64(2) + np.uint64(seed)
    limit = np.uint64(below or 2**63 - 1)
    return (
        (splitmix64(numbers) % limit).astype(np.int64),
        (splitmix64(numbers + np.uint64(1)) % limit).astype(np.int64),
    )
