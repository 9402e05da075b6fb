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
from ebbflow.columns.text_intern import RECENT, Met, intern, take_entries
from ebbflow.columns.text_kernels import copy_out, measure
from ebbflow.columns.text_table import ENTRY, Slot, TextPool, refill
from ebbflow.errors import TypeMismatch
from ebbflow.native.kernel import address_of, memory
from ebbflow.native.structs import Words

KNOWN_TEXTS = 1 << 12  # texts that are remembered as Python has them
FIRST_TABLE, FIRST_CHUNK, LARGEST_CHUNK = 1 << 8, 1 << 10, 1 << 20
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
        self._header = np.zeros(TextPool.SIZE, np.int64)
        self.address = address_of(self._header)  # what kernels take as `pool`
        self._words = TextPool(self.address)
        self._words.key0, self._words.key1, self._words.bits = *key, bits
        self._kept: list[np.ndarray] = [self._header]
        self._recent = np.zeros(RECENT * Met.SIZE, np.int64)  # short texts
        self._words.recent = address_of(self._recent)
        self._letters = np.zeros(256, np.int64)  # texts of one byte: the id, 0 where none was met yet
        self._words.letters = Words(address_of(self._letters))
        self._texts: dict[int, str] = {}  # some that were asked for
        self._chunk = FIRST_CHUNK // 2
        self._chunks: list[tuple[int, np.ndarray]] = []  # after how many words each begins
        self._grow_table()
        self._grow_arena(0)

    def __len__(self) -> int:
        return int(self._words.count)

    @property
    def size(self) -> int:
        """The bytes it occupies."""
        return sum(array.nbytes for array in self._kept)

    @property
    def is_all_utf8(self) -> bool:
        return not self._words.odd

    @property
    def key(self) -> list[int]:
        """What the ids depend on beside the text."""
        return [int(self._words.key0), int(self._words.key1), int(self._words.bits)]

    def ids(self) -> np.ndarray:
        """All ids, in order."""
        table = int(self._words.table)
        slots = memory()[table + 1 : table + 1 + (int(memory()[table]) + 1) * Slot.SIZE]
        ids = slots.reshape(-1, Slot.SIZE)[:, Slot.FIELDS["id"].offset]
        return np.sort(ids[ids != 0])

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
            place = self._words, bits, ends, int(wide), data, start, n, Words(address_of(ids))
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
        total = measure(self._words, ids, offsets)
        assert total >= 0, "an id that this pool did not give"
        text = np.empty(total, np.uint8)
        copy_out(self._words, ids, offsets, text)
        return offsets, text

    @property
    def length(self) -> int:
        """How many words of entries there are, in the order in which text was added."""
        start, chunk = self._chunks[-1]
        return start + int(self._words.fill) - address_of(chunk)

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
                at = int(take_entries(self._words, words, at))
                if at < 0:
                    return False
                if at < len(words):
                    self.make_room(int(words[at + 1]))
        return True

    def make_room(self, length: int) -> None:
        """Room for one more text of so many bytes, where there may be none."""
        if (self._words.count + 1) * 2 > memory()[self._words.table]:
            self._grow_table()
        needed = ENTRY + (length + 7) // 8
        if self._words.fill + needed > self._words.end:
            self._grow_arena(needed)

    def _grow_table(self) -> None:
        old = int(self._words.table)
        slots = (int(memory()[old]) + 1) * 2 if old else FIRST_TABLE
        table = np.zeros(1 + slots * Slot.SIZE, np.int64)
        table[0] = slots - 1
        self._kept.append(table)  # and the old one stays: a kernel may be reading it
        if old:
            refill(old, address_of(table))
        self._words.table = address_of(table)

    def _grow_arena(self, needed: int) -> None:
        self._chunk = min(self._chunk * 2, LARGEST_CHUNK)
        chunk = np.empty(max(self._chunk, needed), np.int64)
        self._kept.append(chunk)
        self._chunks.append((self.length if self._chunks else 0, chunk))
        self._words.fill = Words(address_of(chunk))
        self._words.end = address_of(chunk) + len(chunk)
