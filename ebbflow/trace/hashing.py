"""Hashing: words mixed to a hash of 63 bits.

Rule: a hash is the same on every machine, and in every version that reads the checkpoints of this one.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline
from ebbflow.native.structs import Words


@inline
def mix_in(h: int, word: int) -> int:
    """One word more in a hash that is not finished."""
    h = (h ^ word) * -7046029254386353131
    return h ^ ((h >> 29) & 0x7FFFFFFFF)


@inline
def mixed(h: int) -> int:
    """A hash with all its words in it, finished."""
    h *= -4658895280553007687
    return h ^ ((h >> 32) & 0xFFFFFFFF)


@inline
def hash_lanes(p: Words, n: int) -> int:
    """A mix of n words: the same on every machine; 63 bits."""
    h = 0
    for i in range(n):
        h = mix_in(h, p[i])
    return mixed(h) & 0x7FFFFFFFFFFFFFFF


@inline
def hash_word(word: int) -> int:
    """The same of one word."""
    return mixed(mix_in(0, word)) & 0x7FFFFFFFFFFFFFFF
