"""Text patterns: `like`, `contains`, `starts_with` and `ends_with`, matched on the bytes of a text.

A pattern is a list of pieces of text with arbitrary text between them. A piece is searched for eight bytes at a time;
texts are neither converted to Python objects nor added to the text pool.

Rule: the result is that of `operations.evaluate`: 1 or 0, and NULL for a null. One character is one match for `_`,
however many bytes it has.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from ebbflow.columns.arrow_text import is_there, text_begins
from ebbflow.columns.like_patterns import ANY_LETTER, ANY_TEXT, like, read_pattern
from ebbflow.columns.schema import NULL
from ebbflow.columns.text_pool import Pool
from ebbflow.native.kernel import address_of, inline, kernel
from ebbflow.native.memory import H

# A pattern as words: whether anything may stand in front of its first piece and behind its last, how many pieces there
# are, then each: how many items it has, which of them is sought, and the items: a byte, or ANY_ONE for any character.
FREE_START, FREE_END, PIECES, FIRST_PIECE = 0, 1, 2, 3
ITEMS, SOUGHT, FIRST_ITEM = 0, 1, 2
ANY_ONE = 256
COMMON = b" etaoinsrhldcumfpgwybvkxjqz"  # bytes of text, those that are found most often first
ONES = 0x0101010101010101
HIGH_BITS = -0x7F7F7F7F7F7F7F80  # the highest bit of every byte
MATCHES = {"like": like, "contains": str.__contains__, "starts_with": str.startswith, "ends_with": str.endswith}


@inline
def byte_at(at):
    return (H[(at >> 3) - 1] >> ((at & 7) << 3)) & 0xFF


@inline
def next_character(at, end):
    """needs: at < end.  leaves: where the character after that at `at` begins."""
    at += 1
    while at < end and byte_at(at) & 0xC0 == 0x80:
        at += 1
    return at


@kernel
def match_piece(piece, at, end):
    """Where a piece ends that begins at an address; 0 if it does not stand there."""
    for i in range(piece + FIRST_ITEM, piece + FIRST_ITEM + H[piece + ITEMS]):
        if at >= end:
            return 0
        if H[i] == ANY_ONE:
            at = next_character(at, end)
        elif byte_at(at) == H[i]:
            at += 1
        else:
            return 0
    return at


@kernel
def match_backwards(piece, begin, end):
    """Where a piece begins that ends at `end`; 0 if it does not stand there, or would begin before `begin`."""
    i = piece + FIRST_ITEM + H[piece + ITEMS] - 1
    while i >= piece + FIRST_ITEM:
        if end <= begin:
            return 0
        end -= 1
        if H[i] == ANY_ONE:
            while end > begin and byte_at(end) & 0xC0 == 0x80:
                end -= 1
        elif byte_at(end) != H[i]:
            return 0
        i -= 1
    return end


@inline
def find_byte(byte, at, end):
    """needs: at <= end.  leaves: where the byte is next, or `end`, or an address behind it."""
    p = (at >> 3) - 1
    last = ((end - 1) >> 3) - 1
    seen = -1 << ((at & 7) << 3)  # bytes of the first word that lie in front are not meant
    while p <= last:
        x = H[p] ^ (byte * ONES)
        found = (x - ONES) & ~x & HIGH_BITS & seen
        if found:
            at = (p + 1) << 3
            while found & 0x80 == 0:
                found >>= 8
                at += 1
            return at
        seen = -1
        p += 1
    return end


@kernel
def find_piece(piece, at, end):
    """Where a piece ends that begins at an address or behind it, as early as it can; 0 if there is none."""
    sought = H[piece + SOUGHT]
    byte = H[piece + FIRST_ITEM + sought]
    while True:
        if byte != ANY_ONE:
            at = find_byte(byte, min(at + sought, end), end) - sought
        if at + sought >= end:
            return 0
        past = match_piece(piece, at, end)
        if past:
            return past
        at = at + 1 if byte != ANY_ONE else next_character(at, end)


@kernel
def is_like(pattern, begin, end):
    """Whether the text between two addresses is like a pattern."""
    n = H[pattern + PIECES]
    piece = pattern + FIRST_PIECE
    at = begin
    for k in range(n):
        if k == 0 and H[pattern + FREE_START] == 0:
            past = match_piece(piece, at, end)
            if past == 0 or (n == 1 and H[pattern + FREE_END] == 0 and past != end):
                return False
        elif k == n - 1 and H[pattern + FREE_END] == 0:
            past = end if match_backwards(piece, at, end) else 0
        else:
            past = find_piece(piece, at, end)
        if past == 0:
            return False
        at = past
        piece += FIRST_ITEM + H[piece + ITEMS]
    return n > 0 or begin == end or H[pattern + FREE_START] == 1


@kernel
def match_texts(looked, bits, ends, wide, data, start, n, to):
    """Ask every text of an Arrow column what it is like.

    needs:  looked: how many patterns, and their addresses; the other arguments are those of `pool.intern`.
    leaves: for every text a bit for each of the patterns, NULL where there is no text.
    """
    end = text_begins(ends, wide, start)
    for r in range(n):
        begin = end
        end = text_begins(ends, wide, start + r + 1)
        if bits and not is_there(bits, start + r):
            H[to + r] = NULL
            continue
        answer = 0
        for k in range(H[looked]):
            if is_like(H[looked + 1 + k], data + begin, data + end):
                answer |= 1 << k
        H[to + r] = answer


# ---- from Python -------------------------------------------------------------------------------------------


class TextMatcher:
    """What is asked of a text, by calls of `like`, `contains`, `starts_with` and `ends_with`: a bit for each.

    >>> from ebbflow.columns.schema import BOOLEAN, STRING
    >>> from ebbflow.expressions.typed import Call, Column, Literal
    >>> asked = [Call(op, (Column("t", STRING), Literal("b", STRING)), BOOLEAN) for op in ("contains", "starts_with")]
    >>> look = TextMatcher(asked)
    >>> look.at_column(pa.array(["ebb", "bay", None, "flow"])).tolist() == [1, 3, NULL, 0]
    True
    >>> look.at("bay")
    3
    """

    def __init__(self, calls: Iterable[Any]):
        self._asked = [(call.op, str(call.args[1].value)) for call in calls]
        self._patterns = [pattern_words(*asked) for asked in self._asked]
        self._words = np.array([len(self._patterns), *map(address_of, self._patterns)], np.int64)
        self.address = address_of(self._words)

    def at(self, text: str) -> int:
        """The answers for one text."""
        answers = (MATCHES[op](text, constant) for op, constant in self._asked)
        return sum(bool(answer) << k for k, answer in enumerate(answers))

    def at_column(self, texts: pa.Array) -> np.ndarray:
        """The answers for a column of strings, as a lane."""
        n, wide = len(texts), pa.types.is_large_string(texts.type)
        if n == texts.null_count:
            return np.full(n, NULL, np.int64)
        bits, ends, data = (0 if buffer is None else buffer.address for buffer in texts.buffers())
        lane = np.empty(n, np.int64)
        match_texts(self.address, bits, ends, int(wide), data, texts.offset, n, address_of(lane))
        return lane

    def at_ids(self, ids: np.ndarray, pool: Pool) -> np.ndarray:
        """The answers for texts of a pool."""
        return self.at_column(pool.decode(ids))


@lru_cache(1000)
def pattern_words(op: str, text: str) -> np.ndarray:
    """The pattern that an operation with a constant text asks for."""
    if op == "like":
        parts = read_pattern(text)
        assert parts is not None, "the plan has looked at it"
    else:
        parts = [*([] if op == "starts_with" else [ANY_TEXT]), *text, *([] if op == "ends_with" else [ANY_TEXT])]
    pieces: list[list[int]] = [[]]
    for part in parts:
        if part is ANY_TEXT:
            pieces.append([])
        else:
            pieces[-1] += [ANY_ONE] if part is ANY_LETTER else part.encode()
    full = [piece for piece in pieces if piece]
    words = [int(not pieces[0]) if len(pieces) > 1 else 0, int(not pieces[-1]) if len(pieces) > 1 else 0, len(full)]
    for piece in full:
        words += [len(piece), _sought(piece), *piece]
    return np.array(words, np.int64)


def _sought(piece: list[int]) -> int:
    """The item by which a piece is looked for: the rarest of the bytes that it begins with."""
    bytes_ = piece[: piece.index(ANY_ONE)] if ANY_ONE in piece else piece
    return max(range(len(bytes_)), key=lambda i: COMMON.find(bytes_[i]) % 256, default=0)
