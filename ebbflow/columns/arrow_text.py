"""Arrow's texts as they lie in its buffers: bytes read as words, offsets, and what holds of many texts at once.

A column of texts is a bitmap of what is there, offsets, and bytes, each at a machine address; a word of ours is eight
bytes at an address that is a multiple of eight, so bytes are shifted out of the words that hold them.

Rule: no word is read that holds none of the bytes, bits or offsets that are meant.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H, load_lane


@inline
def raw_word(at, n):
    """Some bytes as a word, as they lie.

    needs:  at: the address of a byte; 0 < n <= 8.
    leaves: the n bytes from there on, the first one lowest, and zeros; no word was looked at that holds none of them.
    """
    p = (at >> 3) - 1
    shift = (at & 7) << 3
    w = H[p]
    if shift:
        w = (w >> shift) & ((1 << (64 - shift)) - 1)
        if (at & 7) + n > 8:
            w |= H[p + 1] << (64 - shift)
    return w if n == 8 else w & ((1 << (8 * n)) - 1)


@inline
def byte_word(at, n):
    """The same with the first byte highest, so that words order as texts do."""
    w = raw_word(at, n)
    w = ((w & 0x00FF00FF00FF00FF) << 8) | ((w >> 8) & 0x00FF00FF00FF00FF)
    w = ((w & 0x0000FFFF0000FFFF) << 16) | ((w >> 16) & 0x0000FFFF0000FFFF)
    return (w << 32) | ((w >> 32) & 0xFFFFFFFF)


@inline
def is_there(bits, i):
    """Whether bit i is set; bits: the address of its first byte, or 0: they all are."""
    at = bits + (i >> 3)
    return bits == 0 or (H[(at >> 3) - 1] >> (((at & 7) << 3) + (i & 7))) & 1 == 1


@inline
def text_begins(ends, wide, i):
    """Where text i begins; ends: the address of the first offset, of 64 bits if they are wide, else of 32."""
    if wide:
        return H[(ends >> 3) - 1 + i]
    at = ends + 4 * i
    return ((H[(at >> 3) - 1] >> ((at & 4) << 3)) << 32) >> 32


@kernel
def are_rising(ends, wide, start, n):
    """Whether the offsets of n texts from `start` on begin at 0 or later and never fall: then no text lies before the
    first or behind the last.
    """
    last = text_begins(ends, wide, start)
    falls = last < 0
    if wide:
        p = (ends >> 3) - 1 + start
        for i in range(n):
            falls |= load_lane(p + i + 1) < load_lane(p + i)
        return not falls
    at = ends + 4 * start
    odd = (at >> 2) & 1  # the first offset is the upper half of a word
    p = ((at + 7) >> 3) - 1
    before = last
    for i in range((n + 1 - odd) >> 1):  # offsets in pairs; a lone one is the first or the last
        w = load_lane(p + i)
        one = (w << 32) >> 32
        two = w >> 32
        falls |= (one < before) | (two < one)
        before = two
    return not (falls | (text_begins(ends, wide, start + n) < before))


@kernel
def are_ascii(begin, end):
    """Whether no byte from one address up to another is beyond ASCII; whole words are looked at."""
    first = begin >> 3
    last = (end - 1) >> 3  # the words that hold the first byte and the last one
    if end <= begin:
        return True
    down = (begin & 7) << 3
    up = (7 - ((end - 1) & 7)) << 3
    if first == last:
        return ((H[first - 1] << up) >> (up + down)) & -0x7F7F7F7F7F7F7F80 == 0
    beyond = ((H[first - 1] >> down) | (H[last - 1] << up)) & -0x7F7F7F7F7F7F7F80
    for i in range(first, last - 1):
        beyond |= load_lane(i) & -0x7F7F7F7F7F7F7F80
    return beyond == 0


@inline
def are_single(ends, start, n):
    """needs: offsets of 32 bits.  leaves: whether each of n texts from `start` on is one byte long."""
    first = text_begins(ends, False, start)
    at = ends + 4 * start
    odd = (at >> 2) & 1  # the first offset is the upper half of a word
    p = ((at + 7) >> 3) - 1
    pair = (first + odd) | ((first + odd + 1) << 32)
    other = text_begins(ends, False, start + n) ^ (first + n)
    for i in range((n + 1 - odd) >> 1):
        other |= load_lane(p + i) ^ (pair + i * 0x0000000200000002)
    return other == 0
