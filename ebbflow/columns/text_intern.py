"""Interning: the id of a text, which is added to its pool if it is new.

Texts come as Arrow has them. Most columns of short texts repeat a few: texts of one byte and those of up to eight that
were met lately are known without a look at the table.

Rule: one thread adds text at a time, under the pool's lock; where there is no room, nothing is added and the caller,
who can make some, is told at which text.
"""

from __future__ import annotations

from ebbflow.columns.arrow_text import are_single, byte_word, is_there, raw_word, text_begins
from ebbflow.columns.row_sums import HASH_FACTOR
from ebbflow.columns.schema import NULL
from ebbflow.columns.text_table import ENTRY, Slot, TextPool, byte_of, hash_words, next_id, slot_of
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H
from ebbflow.native.structs import Struct, Words

RECENT = 64  # short texts that are known without a look at the table, a power of two


class Met(Struct):
    """A short text that was met lately: it is one word."""

    word: int
    length: int
    id: int


@kernel
def is_utf8(p, length):
    """Whether the text that lies at p is what it should be: no byte out of place, no half of a character."""
    beyond = 0
    for i in range((length + 7) >> 3):
        beyond |= H[p + i] & -0x7F7F7F7F7F7F7F80
    if beyond == 0:
        return True
    i = 0
    while i < length:
        first = byte_of(p, i)
        i += 1
        if first < 0x80:
            continue
        if first < 0xC2 or first > 0xF4:
            return False
        more = 1 if first < 0xE0 else 2 if first < 0xF0 else 3
        if i + more > length:
            return False
        low = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80
        high = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF
        for k in range(more):
            byte = byte_of(p, i + k)
            if byte < low or byte > high:
                return False
            low = 0x80
            high = 0xBF
        i += more
    return True


@inline
def has_room(pool: TextPool, p: Words, n: int) -> bool:
    """Whether one more text of n words can go to p: in the table, which is at most half full, and in the arena."""
    return (pool.count + 1) * 2 <= H[pool.table] and p + n <= pool.end


@inline
def add_text(pool: TextPool, s: Slot, id_: int, p: Words, length: int) -> None:
    """A text that lies at p is known by its slot."""
    s.text = p
    s.length = length
    s.id = id_
    pool.fill = p + ((length + 7) >> 3)
    pool.count += 1
    pool.odd += not is_utf8(p, length)


@kernel
def intern_text(pool: TextPool, at: int, length: int) -> int:
    """The id of a text, which is added if it is new.

    needs:  at: the address of its first byte; the pool's lock is held.
    leaves: 0 if the table (more than half full) or the arena (too little left) must grow first.
    """
    n = (length + 7) >> 3
    p = pool.fill + ENTRY
    if not has_room(pool, p, n):
        return 0
    for i in range(length >> 3):
        p[i] = byte_word(at + 8 * i, 8)
    if length & 7:
        p[n - 1] = byte_word(at + (length & -8), length & 7)
    id_ = hash_words(p, n, length, pool.key0, pool.key1)
    if pool.bits < 64:
        id_ = id_ & ((1 << pool.bits) - 1)
    while True:
        while id_ == 0 or id_ == NULL:
            id_ = next_id(id_)
        s = slot_of(pool.table, id_)
        if s.id == 0:
            p[-2] = id_
            p[-1] = length
            add_text(pool, s, id_, p, length)
            break
        if s.length == length:
            q = s.text
            i = 0
            while i < n and p[i] == q[i]:
                i += 1
            if i == n:
                break
        id_ = next_id(id_)
    return id_


@kernel
def intern_letters(pool: TextPool, data: int, n: int, to: Words) -> int:
    """Give texts of one byte each, one behind the other from `data` on, their ids, eight at a time.

    leaves: how many were given, none if one of them was never met; at most seven are left.
    """
    letters = pool.letters
    unmet = 0
    for r in range(0, n - 7, 8):
        w = raw_word(data + r, 8)
        for k in range(8):
            id_ = letters[(w >> (8 * k)) & 0xFF]
            unmet |= id_ == 0
            to[r + k] = id_
    return 0 if unmet else n & -8


@inline
def intern_short(pool: TextPool, lately: Met, at: int, length: int) -> int:
    """A text of at most eight bytes, which is likely to have been met a moment ago; 0 if the pool must grow first."""
    w = raw_word(at, length)
    met = lately[(((w ^ length) * HASH_FACTOR) >> 58) & (RECENT - 1)]
    if met.word != w or met.length != length:
        id_ = intern_text(pool, at, length)
        if id_ == 0:
            return 0
        met.word = w
        met.length = length
        met.id = id_
    return met.id


@inline
def intern_letter(pool: TextPool, letters: Words, at: int) -> int:
    """A text of one byte, as flags and grades are; 0 if the pool must grow first."""
    letter = letters + raw_word(at, 1)
    if letter[0] == 0:
        letter[0] = intern_text(pool, at, 1)
    return letter[0]


@kernel
def intern(  # wide: what Arrow has of a column of texts, and where the ids go
    pool: TextPool, bits: int, ends: int, wide: int, data: int, start: int, n: int, to: Words, row: int
) -> int:
    """Give the texts of an Arrow column, from `row` on, their ids.

    needs:  bits, ends, data: the addresses of Arrow's buffers, of which n texts from `start` on are meant; ends whole
            words or halves; to: room for n ids; the pool's lock is held.
    leaves: the ids, NULL where there is no text; n, or the row for which the pool must grow first.
    """
    lately = Met(pool.recent)
    letters = pool.letters
    if row == 0 and bits == 0 and not wide and are_single(ends, start, n):
        row = intern_letters(pool, data + text_begins(ends, wide, start), n, to)
    end = text_begins(ends, wide, start + row)
    for r in range(row, n):
        begin = end
        end = text_begins(ends, wide, start + r + 1)
        if bits and not is_there(bits, start + r):
            to[r] = NULL
            continue
        length = end - begin
        if length == 1:
            id_ = intern_letter(pool, letters, data + begin)
        elif length < 1 or length > 8:
            id_ = intern_text(pool, data + begin, length)
        else:
            id_ = intern_short(pool, lately, data + begin, length)
        if id_ == 0:
            return r
        to[r] = id_
    return n


@kernel
def take_entries(pool: TextPool, words, at: int) -> int:
    """needs:  entries from `at` on, one after the other; the pool's lock is held.
    leaves: those before the returned place taken in; there is no room for the one there.  -1: an id has another text.
    """
    while at < len(words):
        length = words[at + 1]
        n = (length + 7) >> 3
        s = slot_of(pool.table, words[at])
        if s.id == 0:
            p = pool.fill + ENTRY
            if not has_room(pool, p, n):
                return at
            for i in range(-ENTRY, n):
                p[i] = words[at + ENTRY + i]
            add_text(pool, s, words[at], p, length)
        elif s.length != length:
            return -1
        else:
            for i in range(n):
                if s.text[i] != words[at + ENTRY + i]:
                    return -1
        at += ENTRY + n
    return at
