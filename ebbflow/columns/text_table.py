"""The table of a text pool: where the texts lie, and how the id of a text is found.

An id is a keyed hash of the bytes. A table of slots says for each id where its text is: the slot is the first one from
the id's own place on that holds the id, or nothing.

Rule: a slot is filled before its id is written, and a larger table is published by one word, which carries its mask;
so a kernel in another thread finds every id that it holds, without a lock.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H
from ebbflow.native.structs import Struct, Words


class TextPool(Struct):
    """The words of a pool that kernels read; `table` is the one that publishes a larger table."""

    table: int
    count: int  # of texts
    fill: Words  # where the next entry goes
    end: int  # behind the last word that there is room for
    key0: int
    key1: int
    bits: int  # of the hash that are used
    recent: int  # where short texts are that were met lately
    letters: Words  # the ids of texts of one byte
    odd: int  # how many are not UTF-8, as only bytes may be


class Slot(Struct):
    """A slot of a table; in front of the first one stands the table's mask."""

    id: int  # 0: empty
    text: Words
    length: int  # in bytes


ENTRY = 2  # words in front of a text where it lies: its id and its length


@inline
def rotate(v, by):
    """needs: 0 < by < 64.  leaves: v with its bits rotated left."""
    return (v << by) | ((v >> (64 - by)) & ((1 << by) - 1))


@kernel
def hash_words(p, n, last, key0, key1):
    """SipHash-1-3 of n words and one more, `last`, under a key of two words."""
    v0 = key0 ^ 0x736F6D6570736575
    v1 = key1 ^ 0x646F72616E646F6D
    v2 = key0 ^ 0x6C7967656E657261
    v3 = key1 ^ 0x7465646279746573
    for i in range(n + 4):
        m = last
        if i < n:
            m = H[p + i]
        elif i > n:  # the three rounds that finish
            m = last * 0
            v2 ^= 0xFF if i == n + 1 else 0
        v3 ^= m
        v0 += v1
        v1 = rotate(v1, 13) ^ v0
        v0 = rotate(v0, 32)
        v2 += v3
        v3 = rotate(v3, 16) ^ v2
        v0 += v3
        v3 = rotate(v3, 21) ^ v0
        v2 += v1
        v1 = rotate(v1, 17) ^ v2
        v2 = rotate(v2, 32)
        v0 ^= m
    return v0 ^ v1 ^ v2 ^ v3


@inline
def next_id(id_):
    """The id after this one in the chain of ids that texts with one hash share."""
    h = (id_ ^ ((id_ >> 31) & 0x1FFFFFFFF)) * 0x7FB5D329728EA185
    h = h ^ ((h >> 27) & 0x1FFFFFFFFF)
    return h * -7046029254386353131 + 1


@inline
def slot_of(table: int, id_: int) -> Slot:
    """needs: a table with an empty slot.  leaves: where the id's slot is, or the empty one where it belongs."""
    mask = H[table]
    i = id_ & mask
    slots = Slot(table + 1)
    while slots[i].id != id_ and slots[i].id != 0:
        i = (i + 1) & mask
    return slots[i]


@kernel
def refill(old: int, new: int) -> int:
    """needs: two tables, the new one empty and larger.  leaves: every slot of the old one in the new."""
    for i in range(H[old] + 1):
        s = Slot(old + 1)[i]
        if s.id != 0:
            to = slot_of(new, s.id)
            to.text = s.text
            to.length = s.length
            to.id = s.id
    return 0


@inline
def byte_of(p, i):
    """Byte i of a text that lies at p."""
    return (H[p + (i >> 3)] >> (56 - 8 * (i & 7))) & 0xFF
