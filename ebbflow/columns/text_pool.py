"""Text pool: every distinct text stored once and identified by an int64 id.

A column of text is a lane of ids, so text is compared for equality, joined and grouped like numbers. The id is a keyed
hash of the bytes. If two texts have the same hash, the later one gets the next free id of a sequence that starts at the
hash, so equal ids always mean equal text.

Rule: an entry never moves and never changes. One thread appends at a time; kernels in other threads read the ids they
hold at any moment, without a lock.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from ebbflow import limits
from ebbflow.columns.schema import NULL
from ebbflow.errors import TypeMismatch
from ebbflow.native.kernel import address_of, inline, kernel, memory
from ebbflow.native.memory import H, load_lane

# The header's words.  SLOTS is the one word that publishes a larger table: the table carries its own mask.
SLOTS, COUNT, FILL, END, KEY0, KEY1, BITS, RECENT_AT, LETTERS_AT, ODD = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
HEADER = 10  # ODD: how many are not UTF-8, as only bytes may be
# A table of slots: its mask, then for each slot an id (0: empty), where its words lie, and its length in bytes.
ID, TEXT_AT, LENGTH = 0, 1, 2
SLOT = 3
ENTRY = 2  # words in front of a text where it lies: its id and its length
RECENT = 64  # short texts that are known without a look at the table, a power of two
KNOWN_TEXTS = 1 << 12  # texts that are remembered as Python has them
FIRST_TABLE, FIRST_CHUNK, LARGEST_CHUNK = 1 << 8, 1 << 10, 1 << 20
MIXER = -2960836687051489901  # of words that are to look random
# The same in every process, so that two workers give one text one id.
KEY = (0x2D62_6265_666C_6F77, 0x1F0E_57A1_9B83_C64D)


def tuples(rows, known, texts):
    """Changes of one time as sorted tuples: whole numbers, and of lanes whose bit is set in `texts` what is `known`.

    leaves: a list; None where a word is null or its text is not known, or there are several times.
    """
    lanes = rows.tolist()
    if any(NULL in lane for lane in lanes) or lanes[-2].count(lanes[-2][0]) < len(lanes[-2]):
        return None
    for i, lane in enumerate(lanes):
        if texts >> i & 1:
            lanes[i] = [known.get(id_) for id_ in lane]
            if None in lanes[i]:
                return None
    return sorted(zip(*lanes))


class Pool:
    """All the text of a dataflow.

    >>> pool = Pool()
    >>> ids = pool.encode(pa.array(["ebb", "flow", None, "ebb"]))
    >>> bool(ids[0] == ids[3]), len(pool)
    (True, 2)
    >>> pool.decode(ids).to_pylist()
    ['ebb', 'flow', None, 'ebb']
    """

    def __init__(self, key: tuple[int, int] = KEY, bits: int = 64):
        """`bits`: how much of the hash is used; fewer make collisions likely, which is for tests."""
        self.lock = threading.Lock()  # of whoever adds text
        self._header = np.zeros(HEADER, np.int64)
        self.address = address_of(self._header)  # what kernels take as `pool`
        self._header[[KEY0, KEY1, BITS]] = *key, bits
        self._kept: list[np.ndarray] = [self._header]
        self._recent = np.zeros((RECENT, 3), np.int64)  # short texts: the word, the length, the id
        self._header[RECENT_AT] = address_of(self._recent)
        self._letters = np.zeros(256, np.int64)  # texts of one byte: the id, 0 where none was met yet
        self._header[LETTERS_AT] = address_of(self._letters)
        self._texts: dict[int, str] = {}  # some that were asked for
        self._chunk = FIRST_CHUNK // 2
        self._chunks: list[tuple[int, np.ndarray]] = []  # after how many words each begins
        self._grow_table()
        self._grow_arena(0)

    def __len__(self) -> int:
        return int(self._header[COUNT])

    @property
    def size(self) -> int:
        """The bytes it occupies."""
        return sum(array.nbytes for array in self._kept)

    @property
    def is_all_utf8(self) -> bool:
        return not self._header[ODD]

    def encode(self, texts: pa.Array | pa.ChunkedArray) -> np.ndarray:
        """The ids of an Arrow column of strings or binaries; new text is added."""
        if isinstance(texts, pa.ChunkedArray):
            parts = [self.encode(chunk) for chunk in texts.chunks]
            return np.concatenate(parts) if parts else np.empty(0, np.int64)
        if pa.types.is_dictionary(texts.type):
            return self._encode_dictionary(texts)
        n, start = len(texts), texts.offset
        wide = pa.types.is_large_string(texts.type) or pa.types.is_large_binary(texts.type)
        if not wide and not pa.types.is_string(texts.type) and not pa.types.is_binary(texts.type):
            return self.encode(texts.cast(pa.large_binary()))
        if n == texts.null_count:
            return np.full(n, NULL, np.int64)
        bits, ends, data = (0 if buffer is None else buffer.address for buffer in texts.buffers())
        if wide:
            self._refuse_long(texts)
        ids, row = np.empty(n, np.int64), 0
        with self.lock:
            place = self.address, bits, ends, int(wide), data, start, n, address_of(ids)
            while (row := int(intern(*place, row))) < n:
                self.make_room(texts[row].as_buffer().size)
        return ids

    def _refuse_long(self, texts: pa.Array) -> None:
        """Refuse a text that is longer than any offset of 32 bits, or a pool's word for its length, can tell."""
        ends = np.frombuffer(texts.buffers()[1], np.int64, len(texts) + 1, 8 * texts.offset)
        if ends[-1] - ends[0] > limits.TEXT_BYTES and (longest := int(np.diff(ends).max())) > limits.TEXT_BYTES:
            raise TypeMismatch(
                f"a text has {longest:,} bytes; it can have {limits.TEXT_BYTES:,}.",
                hint="Keep it in a file, and its name in the row.",
            )

    def _encode_dictionary(self, texts: pa.DictionaryArray) -> np.ndarray:
        known = np.append(self.encode(texts.dictionary), NULL)
        indices = texts.indices.fill_null(len(known) - 1) if texts.indices.null_count else texts.indices
        return known[np.asarray(indices)]

    def encode_texts(self, texts: Iterable[str | bytes | None]) -> np.ndarray:
        """The ids of Python strings or bytes."""
        encoded = [text.encode() if isinstance(text, str) else text for text in texts]
        return self.encode(pa.array(encoded, pa.large_binary()))

    def decode(self, ids: np.ndarray, binary: bool = False) -> pa.Array:
        """The text of ids as an Arrow array: `string` or `binary`, or its large kind beyond two gigabytes."""
        ids = np.ascontiguousarray(ids, np.int64)
        offsets, text = self._copied(ids)
        wide = len(text) >= 2**31
        kind = (pa.large_binary() if wide else pa.binary()) if binary else (pa.large_string() if wide else pa.string())
        nulls = ids == NULL
        bitmap = pa.py_buffer(np.packbits(~nulls, bitorder="little")) if nulls.any() else None
        ends = pa.py_buffer(offsets if wide else offsets.astype(np.int32))
        return pa.Array.from_buffers(kind, len(ids), [bitmap, ends, pa.py_buffer(text)])

    def texts(self, ids: list[int]) -> list[str | None]:
        """The text of a few ids, of which most were asked for lately."""
        found: list[str | None]
        try:
            found = list(map(self._texts.__getitem__, ids))
        except KeyError:  # not asked for lately, or null
            offsets, text = self._copied(np.array(ids, np.int64))
            ends, whole = offsets.tolist(), text.tobytes()
            found = [None if id_ == NULL else whole[begin:end].decode() for id_, begin, end in zip(ids, ends, ends[1:])]
            if len(self._texts) > KNOWN_TEXTS:
                self._texts = {}
            self._texts.update((id_, text) for id_, text in zip(ids, found) if text is not None)
        return found

    def rows(self, words: np.ndarray, texts: int) -> list[tuple[Any, ...]] | None:
        """A few changes of one time, `lanes, time, diff`, as sorted tuples; `texts`: the lanes of text, a bit each.

        None where there is a null, or there are several times.
        """
        found: list[tuple[Any, ...]] | None = tuples(words, self._texts, texts)
        if found is None and texts:
            for i in range(texts.bit_length()):
                if texts >> i & 1:
                    self.texts(words[i].tolist())  # from here on they are known
            found = tuples(words, self._texts, texts)
        return found

    def _copied(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the texts of ids begin, and their bytes one after the other."""
        offsets = np.empty(len(ids) + 1, np.int64)
        total = measure(self.address, ids, offsets)
        assert total >= 0, "an id that this pool did not give"
        text = np.empty(total, np.uint8)
        copy_out(self.address, ids, offsets, text)
        return offsets, text

    @property
    def length(self) -> int:
        """How many words of entries there are, in the order in which text was added."""
        start, chunk = self._chunks[-1]
        return start + int(self._header[FILL]) - address_of(chunk)

    def entries(self, since: int = 0) -> np.ndarray:
        """The entries that were added after so many words: id, length in bytes, and the text's words."""
        with self.lock:
            found, end = [], self.length
            for start, chunk in reversed(self._chunks):
                found.append(chunk[max(0, since - start) : end - start])
                end = start
                if start <= since:
                    break
        return np.concatenate(found[::-1])

    def add_entries(self, words: np.ndarray) -> bool:
        """Take in what another pool of the same key gave as `entries`; whether no id of theirs is another text here."""
        words, at = np.ascontiguousarray(words, np.int64), 0
        with self.lock:
            while at < len(words):
                at = int(take_entries(self.address, words, at))
                if at < 0:
                    return False
                if at < len(words):
                    self.make_room(int(words[at + 1]))
        return True

    def make_room(self, length: int) -> None:
        """Room for one more text of so many bytes, where there may be none."""
        if (self._header[COUNT] + 1) * 2 > memory()[self._header[SLOTS]]:
            self._grow_table()
        needed = ENTRY + (length + 7) // 8
        if self._header[FILL] + needed > self._header[END]:
            self._grow_arena(needed)

    def _grow_table(self) -> None:
        old = int(self._header[SLOTS])
        slots = (int(memory()[old]) + 1) * 2 if old else FIRST_TABLE
        table = np.zeros(1 + slots * SLOT, np.int64)
        table[0] = slots - 1
        self._kept.append(table)  # and the old one stays: a kernel may be reading it
        if old:
            refill(old, address_of(table))
        self._header[SLOTS] = address_of(table)

    def _grow_arena(self, needed: int) -> None:
        self._chunk = min(self._chunk * 2, LARGEST_CHUNK)
        chunk = np.empty(max(self._chunk, needed), np.int64)
        self._kept.append(chunk)
        self._chunks.append((self.length if self._chunks else 0, chunk))
        self._header[FILL] = address_of(chunk)
        self._header[END] = address_of(chunk) + len(chunk)


# ---- kernels


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
def slot_of(table, id_):
    """needs: a table with an empty slot.  leaves: where the id's slot is, or the empty one where it belongs."""
    mask = H[table]
    i = id_ & mask
    s = table + 1 + i * SLOT
    while H[s + ID] != id_ and H[s + ID] != 0:
        i = (i + 1) & mask
        s = table + 1 + i * SLOT
    return s


@kernel
def refill(old, new):
    """needs: two tables, the new one empty and larger.  leaves: every slot of the old one in the new."""
    for i in range(H[old] + 1):
        s = old + 1 + i * SLOT
        if H[s + ID] != 0:
            d = slot_of(new, H[s + ID])
            H[d + TEXT_AT] = H[s + TEXT_AT]
            H[d + LENGTH] = H[s + LENGTH]
            H[d + ID] = H[s + ID]
    return 0


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
def byte_of(p, i):
    """Byte i of a text that lies at p."""
    return (H[p + (i >> 3)] >> (56 - 8 * (i & 7))) & 0xFF


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


@kernel
def intern_text(pool, at, length):
    """The id of a text, which is added if it is new.

    needs:  at: the address of its first byte; the pool's lock is held.
    leaves: 0 if the table (more than half full) or the arena (too little left) must grow first.
    """
    table = H[pool + SLOTS]
    n = (length + 7) >> 3
    p = H[pool + FILL] + ENTRY
    if (H[pool + COUNT] + 1) * 2 > H[table] or p + n > H[pool + END]:
        return 0
    for i in range(length >> 3):
        H[p + i] = byte_word(at + 8 * i, 8)
    if length & 7:
        H[p + n - 1] = byte_word(at + (length & -8), length & 7)
    id_ = hash_words(p, n, length, H[pool + KEY0], H[pool + KEY1])
    if H[pool + BITS] < 64:
        id_ = id_ & ((1 << H[pool + BITS]) - 1)
    while True:
        while id_ == 0 or id_ == NULL:
            id_ = next_id(id_)
        s = slot_of(table, id_)
        if H[s + ID] == 0:
            H[s + TEXT_AT] = p
            H[s + LENGTH] = length
            H[s + ID] = id_
            H[p - 2] = id_
            H[p - 1] = length
            H[pool + FILL] = p + n
            H[pool + COUNT] += 1
            H[pool + ODD] += not is_utf8(p, length)
            break
        if H[s + LENGTH] == length:
            q = H[s + TEXT_AT]
            i = 0
            while i < n and H[p + i] == H[q + i]:
                i += 1
            if i == n:
                break
        id_ = next_id(id_)
    return id_


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


@kernel
def intern_letters(pool, data, n, to):
    """Give texts of one byte each, one behind the other from `data` on, their ids, eight at a time.

    leaves: how many were given, none if one of them was never met; at most seven are left.
    """
    letters = H[pool + LETTERS_AT]
    unmet = 0
    for r in range(0, n - 7, 8):
        w = raw_word(data + r, 8)
        for k in range(8):
            id_ = H[letters + ((w >> (8 * k)) & 0xFF)]
            unmet |= id_ == 0
            H[to + r + k] = id_
    return 0 if unmet else n & -8


@kernel
def intern(pool, bits, ends, wide, data, start, n, to, row):
    """Give the texts of an Arrow column, from `row` on, their ids.

    needs:  bits, ends, data: the addresses of Arrow's buffers, of which n texts from `start` on are meant; ends whole
            words or halves; to: room for n ids; the pool's lock is held.
    leaves: the ids, NULL where there is no text; n, or the row for which the pool must grow first.
    """
    lately = H[pool + RECENT_AT]
    letters = H[pool + LETTERS_AT]
    if row == 0 and bits == 0 and not wide and are_single(ends, start, n):
        row = intern_letters(pool, data + text_begins(ends, wide, start), n, to)
    end = text_begins(ends, wide, start + row)
    for r in range(row, n):
        begin = end
        end = text_begins(ends, wide, start + r + 1)
        if bits and not is_there(bits, start + r):
            H[to + r] = NULL
            continue
        length = end - begin
        if length == 1:  # flags and grades
            letter = letters + raw_word(data + begin, 1)
            if H[letter] == 0:
                H[letter] = intern_text(pool, data + begin, 1)
                if H[letter] == 0:
                    return r
            H[to + r] = H[letter]
            continue
        if length < 1 or length > 8:
            id_ = intern_text(pool, data + begin, length)
            if id_ == 0:
                return r
            H[to + r] = id_
            continue
        # a short text is likely to have been met a moment ago
        w = raw_word(data + begin, length)
        met = lately + 3 * ((((w ^ length) * -7046029254386353131) >> 58) & (RECENT - 1))
        if H[met] != w or H[met + 1] != length:
            id_ = intern_text(pool, data + begin, length)
            if id_ == 0:
                return r
            H[met] = w
            H[met + 1] = length
            H[met + 2] = id_
        H[to + r] = H[met + 2]
    return n


@kernel
def take_entries(pool, words, at):
    """needs:  entries from `at` on, one after the other; the pool's lock is held.
    leaves: those before the returned place taken in; there is no room for the one there.  -1: an id has another text.
    """
    table = H[pool + SLOTS]
    while at < len(words):
        length = words[at + 1]
        n = (length + 7) >> 3
        s = slot_of(table, words[at])
        if H[s + ID] == 0:
            p = H[pool + FILL] + ENTRY
            if (H[pool + COUNT] + 1) * 2 > H[table] or p + n > H[pool + END]:
                return at
            for i in range(-ENTRY, n):
                H[p + i] = words[at + ENTRY + i]
            H[s + TEXT_AT] = p
            H[s + LENGTH] = length
            H[s + ID] = words[at]
            H[pool + FILL] = p + n
            H[pool + COUNT] += 1
            H[pool + ODD] += not is_utf8(p, length)
        elif H[s + LENGTH] != length:
            return -1
        else:
            for i in range(n):
                if H[H[s + TEXT_AT] + i] != words[at + ENTRY + i]:
                    return -1
        at += ENTRY + n
    return at


@kernel
def text_compare(pool, a, b):
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
    table = H[pool + SLOTS]
    s = slot_of(table, a)
    t = slot_of(table, b)
    p = H[s + TEXT_AT]
    q = H[t + TEXT_AT]
    shorter = min(H[s + LENGTH], H[t + LENGTH])
    for i in range((shorter + 7) >> 3):
        v = H[p + i] ^ NULL  # so that words order as unsigned
        w = H[q + i] ^ NULL
        if v != w:
            return -1 if v < w else 1
    return -1 if H[s + LENGTH] < H[t + LENGTH] else 1


@inline
def text_size(pool, a):
    """needs: a: an id of this pool.  leaves: the number of its bytes."""
    return H[slot_of(H[pool + SLOTS], a) + LENGTH]


@inline
def mixed_word(word):
    """A word that looks random; words that differ have results that differ.  The same as `meaning.mixed` has."""
    word = (word ^ ((word >> 32) & 0xFFFFFFFF)) * MIXER
    word = (word ^ ((word >> 29) & 0x7FFFFFFFF)) * MIXER
    return word ^ ((word >> 32) & 0xFFFFFFFF)


@inline
def mixed_long(word):
    """needs: not NULL.  leaves: the same, but never NULL: what NULL would be is free."""
    found = mixed_word(word)
    return found if found != NULL else mixed_word(np.int64(NULL))


@kernel
def mixed_text(pool, a):
    """needs: a: an id of this pool.  leaves: a word that looks random and depends on the bytes alone; never NULL."""
    s = slot_of(H[pool + SLOTS], a)
    p = H[s + TEXT_AT]
    found = np.int64(0)
    for i in range((H[s + LENGTH] + 7) >> 3):
        found = mixed_word(found ^ H[p + i])
    return mixed_long(found ^ H[s + LENGTH])


@kernel
def text_length(pool, a):
    """The number of characters (not bytes) of a text.

    needs:  a: an id of this pool.
    leaves: the count of bytes that do not continue a UTF-8 sequence.
    """
    s = slot_of(H[pool + SLOTS], a)
    length = H[s + LENGTH]
    p = H[s + TEXT_AT]
    n = 0
    for i in range(length):
        if (byte_of(p, i) & 0xC0) != 0x80:
            n += 1
    return n


@kernel
def measure(pool, ids, offsets):
    """needs: one offset more than ids.  leaves: where each text will begin; all bytes, or -1: an unknown id."""
    table = H[pool + SLOTS]
    total = np.int64(0)
    for i in range(len(ids)):
        offsets[i] = total
        if ids[i] != NULL:
            s = slot_of(table, ids[i])
            if H[s + ID] == 0 or ids[i] == 0:
                return -1
            total += H[s + LENGTH]
    offsets[len(ids)] = total
    return total


@kernel
def copy_out(pool, ids, offsets, text):
    """needs: offsets as `measure` left them.  leaves: every text in its place, one after the other."""
    table = H[pool + SLOTS]
    for r in range(len(ids)):
        at = offsets[r]
        length = offsets[r + 1] - at
        if length:
            p = H[slot_of(table, ids[r]) + TEXT_AT]
            for i in range(length >> 3):
                w = H[p + i]
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
