"""Texts of a pool compared, measured, hashed and copied out, by their ids.

Rule: an id is one that the pool gave; texts order as their UTF-8 bytes do, which is the order of their characters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ebbflow.columns.schema import NULL
from ebbflow.columns.text_table import TextPool, byte_of, slot_of
from ebbflow.native.kernel import inline, kernel

MIXER = -2960836687051489901  # of words that are to look random


@kernel
def text_compare(pool: TextPool, a: int, b: int) -> int:
    """The order of two texts by their UTF-8 bytes, null first.

    needs:  a, b: ids of this pool, or NULL.
    leaves: -1, 0 or 1.
    """
    if a == b:
        return 0
    if a == NULL:
        return -1
    if b == NULL:
        return 1
    table = pool.table
    s = slot_of(table, a)
    t = slot_of(table, b)
    p = s.text
    q = t.text
    shorter = min(s.length, t.length)
    for i in range((shorter + 7) >> 3):
        v = p[i] ^ NULL  # so that words order as unsigned
        w = q[i] ^ NULL
        if v != w:
            return -1 if v < w else 1
    return -1 if s.length < t.length else 1


@inline
def text_size(pool: TextPool, a: int) -> int:
    """needs: a: an id of this pool.  leaves: the number of its bytes."""
    return slot_of(pool.table, a).length


@kernel
def text_length(pool: TextPool, a: int) -> int:
    """The number of characters (not bytes) of a text.

    needs:  a: an id of this pool.
    leaves: the count of bytes that do not continue a UTF-8 sequence.
    """
    s = slot_of(pool.table, a)
    length = s.length
    p = s.text
    n = 0
    for i in range(length):
        if (byte_of(p, i) & 0xC0) != 0x80:
            n += 1
    return n


@inline
def mixed_word(word):
    """A word that looks random; words that differ have results that differ.  The same as `reference.mixed` has."""
    word = (word ^ ((word >> 32) & 0xFFFFFFFF)) * MIXER
    word = (word ^ ((word >> 29) & 0x7FFFFFFFF)) * MIXER
    return word ^ ((word >> 32) & 0xFFFFFFFF)


@inline
def mixed_long(word):
    """needs: not NULL.  leaves: the same, but never NULL: what NULL would be is free."""
    found = mixed_word(word)
    return found if found != NULL else mixed_word(np.int64(NULL))


@kernel
def mixed_text(pool: TextPool, a: int) -> Any:
    """needs: a: an id of this pool.  leaves: a word that looks random and depends on the bytes alone; never NULL."""
    s = slot_of(pool.table, a)
    found: Any = np.int64(0)
    for i in range((s.length + 7) >> 3):
        found = mixed_word(found ^ s.text[i])
    return mixed_long(found ^ s.length)


@kernel
def measure(pool: TextPool, ids, offsets):
    """needs: one offset more than ids.  leaves: where each text will begin; all bytes, or -1: an unknown id."""
    table = pool.table
    total = np.int64(0)
    for i in range(len(ids)):
        offsets[i] = total
        if ids[i] != NULL:
            s = slot_of(table, ids[i])
            if s.id == 0 or ids[i] == 0:
                return -1
            total += s.length
    offsets[len(ids)] = total
    return total


@kernel
def copy_out(pool: TextPool, ids, offsets, text):
    """needs: offsets as `measure` left them.  leaves: every text in its place, one after the other."""
    table = pool.table
    for r in range(len(ids)):
        at = offsets[r]
        length = offsets[r + 1] - at
        if length:
            p = slot_of(table, ids[r]).text
            for i in range(length >> 3):
                w = p[i]
                to = at + 8 * i
                text[to] = (w >> 56) & 0xFF
                text[to + 1] = (w >> 48) & 0xFF
                text[to + 2] = (w >> 40) & 0xFF
                text[to + 3] = (w >> 32) & 0xFF
                text[to + 4] = (w >> 24) & 0xFF
                text[to + 5] = (w >> 16) & 0xFF
                text[to + 6] = (w >> 8) & 0xFF
                text[to + 7] = w & 0xFF
            for i in range(length & -8, length):
                text[at + i] = byte_of(p, i)
    return 0
